"""A silent command says on a terminal what it does; its own output takes that line away."""

import io
import os
import pty
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from patience import HANG_S

from contact_mpc.cli.frame.heartbeat import ERASE, heartbeat

SILENT = """
import sys, time
from contact_mpc.cli.frame import heartbeat as module
with module.heartbeat("plan: loading", silent_s=0.05):
    while not sys.stdin.readline():
        time.sleep(0.01)
    print("result")
"""


def test_a_silent_command_says_so_until_it_has_something_to_say() -> None:
    terminal, end = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", SILENT], stdin=subprocess.PIPE, stdout=end, stderr=end, text=True)
    os.close(end)
    shown, deadline = "", time.monotonic() + HANG_S
    while "plan: loading, 0 s" not in shown and time.monotonic() < deadline:
        shown += os.read(terminal, 1000).decode()
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.close()
    shown += read_to_the_end(terminal)
    os.close(terminal)
    assert process.wait(timeout=HANG_S) == 0
    assert f"{ERASE}result" in shown


def read_to_the_end(terminal: int) -> str:
    """Return what is written until the last process has closed its side, which Linux reports as EIO."""
    shown = b""
    with suppress(OSError):
        while more := os.read(terminal, 1000):
            shown += more
    return shown.decode()


def test_a_command_goes_on_where_its_terminal_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, end = pty.openpty()
    with open(end, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with heartbeat("plan: loading", silent_s=0.05) as beat:
            assert beat is not None
            while "plan: loading, 0 s" not in os.read(terminal, 1000).decode():
                pass
            os.close(terminal)
            beat.clear()
        assert sys.stderr is stream
        with suppress(OSError):  # what could not be written stands in the buffer
            stream.close()


def test_nothing_is_written_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with heartbeat("plan: loading") as beat:
        assert beat is None and sys.stderr is stream
