"""Where a start goes in a task file."""

from pathlib import Path

import pytest

from contact_mpc.evaluation.starts.start_file import replace_start

BLOCK = "start:   # found\n  joints_rad: {a: 1}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: a\ngoal: {}\n", f"name: a\ngoal: {{}}\n{BLOCK}"),
        ("name: a\nstart:  # old\n  x: {\n    b: 1,\n  }\n  y: 2\n\ngoal: {}\n", f"name: a\n{BLOCK}goal: {{}}\n"),
    ],
)
def test_start_takes_the_place_of_the_old_one(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "task.yaml").write_text(old)
    replace_start(tmp_path / "task.yaml", BLOCK)
    assert (tmp_path / "task.yaml").read_text() == new
