"""The C compiler: $CC where it is one, else the first on the path."""

from pathlib import Path

import pytest

from contact_mpc.planning.push.program.compiler import COMPILERS, find_compiler


def put(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_compiler_is_that_of_the_environment_else_the_first_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert find_compiler() is None
    last, first = put(tmp_path, COMPILERS[-1]), ""
    assert find_compiler() == last
    first = put(tmp_path, COMPILERS[0])
    assert find_compiler() == first
    monkeypatch.setenv("CC", put(tmp_path, "mine"))
    assert find_compiler() == str(tmp_path / "mine")
    monkeypatch.setenv("CC", "not there")
    assert find_compiler() == first
