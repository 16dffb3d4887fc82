"""Libraries of the program: compiled once, again where damaged, interpreted where there is no compiler."""

from pathlib import Path

import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.compiled import load_library

# A compiler that notes each call and writes the word "whole" to the file after -o.
COMPILER = """#!/bin/sh
echo called >> "$(dirname "$0")/calls"
while [ "$1" != -o ]; do shift; done
printf whole > "$2"
"""


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the compiler of $CC; libraries are kept beside it."""
    path = tmp_path / "my_cc"
    path.write_text(COMPILER)
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return path


def test_without_a_compiler_the_functions_are_interpreted(
    planner: ContactImplicitPlanner,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    library = load_library(planner.program)
    assert not library.is_compiled and not isinstance(library.problem, str)
    assert "no C compiler" in caplog.text


@pytest.mark.parametrize("damage", ["cut", "altered", "without its checksum"])
def test_a_damaged_library_is_compiled_again(planner: ContactImplicitPlanner, compiler: Path, damage: str) -> None:
    """Loading a library that was cut ended the process with SIGBUS."""
    path = Path(str(load_library(planner.program).problem))
    if damage == "without its checksum":
        path.with_suffix(".sha256").unlink()
    else:
        path.write_bytes({"cut": b"who", "altered": b"whale"}[damage])
    assert load_library(planner.program).is_compiled
    assert path.read_bytes() == b"whole"
    load_library(planner.program)
    assert (compiler.parent / "calls").read_text().split() == ["called"] * 2  # it is whole: not a third time


def test_a_compiler_that_fails_leaves_the_functions_interpreted(
    planner: ContactImplicitPlanner, compiler: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compiler.write_text("#!/bin/sh\nexit 1\n")
    assert not load_library(planner.program).is_compiled
    assert f"{compiler} could not compile" in caplog.text
