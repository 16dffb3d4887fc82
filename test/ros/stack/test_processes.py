"""Starting processes of nodes: an interrupt never separates a process from its owner."""

import os
import signal
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from contact_mpc.errors import StackError
from contact_mpc.ros.stack import processes
from contact_mpc.ros.stack.processes import NodeProcess, interrupts_deferred


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_the_end_of_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # and again, out of impatience
        done.append("started")
    assert done == ["started"]


def test_the_handlers_are_those_of_before_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(OSError, match="no such node"), interrupts_deferred():
        raise OSError("no such node")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_node_that_ends_on_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log was on that disk, too: "(empty)" was all that a run told."""
    usage = namedtuple("usage", "total used free")
    node = NodeProcess("no_such_node", [], tmp_path / "node.log", dict(os.environ))
    node.wait()
    node.log.write_text("")
    with pytest.raises(StackError, match=r"\(empty\)$"):
        node.check()
    monkeypatch.setattr(processes.shutil, "disk_usage", lambda _: usage(3_000_000, 2_990_000, 10_000))
    with pytest.raises(
        StackError, match=r"no space left on the disk of .* \(10 kB\): free some, or give another --record"
    ):
        node.check()
