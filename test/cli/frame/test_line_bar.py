"""Where there is no terminal, a bar says a plain line now and then: work is never silent for long."""

import pytest
from rich.progress import TextColumn

from contact_mpc.cli.frame import line_bar
from contact_mpc.cli.frame.line_bar import LineBar


def test_without_a_terminal_progress_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(line_bar.time, "monotonic", lambda: now[0])
    with LineBar(TextColumn("searching"), TextColumn("{task.completed} of {task.total}")) as bar:
        row = bar.add_task("", total=20)
        bar.update(row, completed=3)
        bar.advance(row)  # at once: not said
        now[0] += line_bar.LINE_EVERY_S
        bar.advance(row, 2)
    assert capsys.readouterr().err.split("\n")[:2] == ["searching 3 of 20", "searching 6 of 20"]
