"""Ctrl-C is taken, once, where Python can take it, and not within calls of compiled code into Python."""

import signal
import time
from collections.abc import Callable, Iterator

import numba
import pytest
from numba.extending import overload

from contact_mpc.cli.frame import interrupts
from contact_mpc.cli.frame.interrupts import interruptible

LONGER_S = 0.2  # than its patience


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _answer() -> int:
    raise NotImplementedError("only within compiled code")


@overload(_answer)
def _compile_answer() -> Callable[[], int]:
    signal.raise_signal(signal.SIGINT)  # Ctrl-C while numba compiles
    time.sleep(LONGER_S)
    return lambda: 42


@numba.njit
def _ask() -> int:
    return _answer()


def _wait() -> None:
    for _ in range(10_000):
        time.sleep(0.001)


def test_an_interrupt_waits_for_the_compiler_however_slow_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "PATIENCE_S", 0.5 * LONGER_S)
    answers = []
    with pytest.raises(KeyboardInterrupt), interruptible(signal.SIGINT):
        answers.append(_ask())
        _wait()
    assert answers == [42]


@pytest.mark.parametrize("module", ["nav_msgs.msg._odometry", "std_srvs.srv._trigger"])
def test_an_interrupt_waits_until_a_message_is_made(module: str) -> None:
    made: list[bool] = []
    message = {"__name__": module, "signal": signal, "made": made}  # rclpy calls its constructor from C++
    exec("def make():\n    signal.raise_signal(signal.SIGINT)\n    made.append(True)\n", message)
    with pytest.raises(KeyboardInterrupt), interruptible(signal.SIGINT):
        message["make"]()
        _wait()
    assert made == [True]


def test_an_interrupt_elsewhere_is_taken_at_once() -> None:
    passed = []
    with pytest.raises(KeyboardInterrupt), interruptible(signal.SIGINT):
        signal.raise_signal(signal.SIGINT)
        passed.append(True)
    assert passed == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_only_the_first_is_taken_where_that_is_asked() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible(signal.SIGINT, signal.SIGTERM, only_first=True):
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)
