"""Compiling ahead of a run: once per version of the sources, in a process of its own."""

import subprocess
from pathlib import Path

import pytest

from contact_mpc.errors import StackError
from contact_mpc.loop import compile_ahead as module


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Return the commands that are run; nothing is, and the mark lies in a folder of the test."""
    seen = []

    def run(command, **_):
        seen.append(command)
        return subprocess.CompletedProcess(command, 1 if "mujoco" in command else 0, "", "first\nthe reason\n")

    monkeypatch.setattr(module.subprocess, "run", run)
    monkeypatch.setattr(module, "_mark", lambda: Path(tmp_path) / "cache" / "mark")
    return seen


def test_second_run_of_a_version_compiles_nothing(commands):
    module.compile_ahead("drake")
    module.compile_ahead("drake")
    assert len(commands) == 1


def test_failure_is_named_and_leaves_no_mark(commands):
    for _ in range(2):
        with pytest.raises(StackError, match="the reason"):
            module.compile_ahead("mujoco")
    assert len(commands) == 2


def test_mark_changes_with_the_sources(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    before = module._mark()
    (tmp_path / "a.py").write_text("x = 12\n")
    assert module._mark() != before
