"""Starting processes of nodes: an interrupt never separates a process from its owner."""

import signal
from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy")

from contact_mpc.ros.stack.processes import interrupts_deferred


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
