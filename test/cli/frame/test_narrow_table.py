"""Tables at 80 characters: whole words, or lines of head and value."""

import pytest
from rich.console import Console, Group
from rich.table import Table

from contact_mpc.cli.frame.narrow_table import fitted
from contact_mpc.cli.frame.output import emit

HEADS = ("variant", *(f"{count} nodes" for count in range(100, 1000, 100)))


def wide() -> Table:
    table = Table(*HEADS, title="coverage", caption="mean and deviation")
    table.columns[0].no_wrap = True
    table.add_row("local_metric_with_contact_sampling", *(f"{k}1.25±0.{k}7" for k in range(1, 10)))
    table.add_row("global", *([""] * 9))
    return table


def printed(shown: Table | Group, width: int) -> str:
    console = Console(width=width, record=True)
    console.print(fitted(shown, console))
    return console.export_text()


@pytest.mark.parametrize("width", [80, 50])
def test_what_does_not_fit_becomes_lines_that_hold_every_word(width: int) -> None:
    for text in (printed(wide(), width), printed(Group("before", wide()), width)):
        assert "…" not in text and max(map(len, text.splitlines())) <= width
        words = ("coverage", "local_metric_with_contact_sampling", "900 nodes", "91.25±0.97", "global", "mean and")
        assert all(word in text for word in words)


def test_what_fits_stays_a_table() -> None:
    console, table = Console(width=200), wide()
    assert fitted(table, console) is table and fitted("words", console) == "words"


def test_results_of_commands_are_fitted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`study metric` printed cells such as "1…" at 80 characters."""
    monkeypatch.setenv("COLUMNS", "80")
    emit({}, False, wide())
    out = capsys.readouterr().out
    assert "…" not in out and "51.25±0.57" in out
