"""The bar of a first run: what is done and what is left, on a terminal and in a file."""

import io

from rich.console import Console

from contact_mpc.cli.frame import compiling
from contact_mpc.cli.frame.compiling import CompileBar, expected_seconds
from contact_mpc.loop.compile_ahead import PARTS


def test_every_part_has_functions_of_this_package() -> None:
    for part in PARTS:
        expected = expected_seconds(part)
        assert sum(name.startswith("contact_mpc.") for name in expected) > 20
        assert all(seconds >= 0.0 for seconds in expected.values())


def test_lines_in_a_file_count_functions_and_seconds(monkeypatch) -> None:
    now = iter(range(0, 1000, 10))
    monkeypatch.setattr(compiling.time, "monotonic", lambda: next(now))
    out = io.StringIO()
    with CompileBar(Console(file=out, width=120), {"a": 1.0, "b": 3.0}) as bar:
        bar.advance("a", 1.0)
        bar.advance("unknown", 1.0)
    lines = out.getvalue().splitlines()
    assert "1 of 2 functions" in lines[0] and "s left" in lines[0] and "2 of 3 functions" in lines[1]


def test_nothing_is_said_where_nothing_is_compiled() -> None:
    out = io.StringIO()
    with CompileBar(Console(file=out, force_terminal=True), {"a": 1.0}):
        pass
    assert out.getvalue() == ""
