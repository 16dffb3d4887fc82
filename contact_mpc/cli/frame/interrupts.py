"""Ctrl-C where it can be taken: never within compiling, loading compiled code, an import or making a ROS message.

A KeyboardInterrupt that is raised while numba is called by its own C code or by LLVM is lost, becomes a SystemError or
ends the process by SIGSEGV; one within the import system's callbacks is lost; one in the constructor of a message that
rclpy calls from C++ becomes a RuntimeError. A first Ctrl-C waits for that as long as it takes, which on a busy machine
is minutes; who presses again `PATIENCE_S` later is taken at once, at that risk.
"""

import _thread
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

RETRY_S = 0.02
PATIENCE_S = 10.0
UNINTERRUPTIBLE = ("numba", "llvmlite", "importlib")
MESSAGES = ("msg", "srv")  # where packages of ROS interfaces have their classes


@contextmanager
def interruptible(*numbers: signal.Signals, only_first: bool = False) -> Iterator[None]:
    """Raise KeyboardInterrupt in the block on signals `numbers`, as soon as the main thread is where it may be raised.

    Parameters
    ----------
    *numbers : signal.Signals
        Signals that mean Ctrl-C.
    only_first : bool
        Ignore further ones from the first on, also after the block: nothing may interrupt the way down.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    since_s: float | None = None
    is_retry = False

    def retry(number: int) -> None:
        nonlocal is_retry
        is_retry = True
        _thread.interrupt_main(signal.Signals(number))

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal since_s, is_retry
        is_first, is_again, is_retry = since_s is None, is_retry, False
        now_s = time.monotonic()
        since_s = now_s if since_s is None else since_s
        insists = not is_first and not is_again and now_s - since_s >= PATIENCE_S
        if _is_uninterruptible(frame) and not insists:
            if is_first or is_again:
                timer = threading.Timer(RETRY_S, retry, (number,))
                timer.daemon = True
                timer.start()
            return
        since_s = None
        if only_first:
            for ignored in numbers:
                signal.signal(ignored, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is interrupt:
                signal.signal(number, handler)


def _is_uninterruptible(frame: FrameType | None) -> bool:
    """Return whether any function being called from `frame` outwards is of `UNINTERRUPTIBLE` or a message's class."""
    while frame is not None:
        package, _, inner = frame.f_globals.get("__name__", "").partition(".")
        if package in UNINTERRUPTIBLE or inner.partition(".")[0] in MESSAGES:
            return True
        frame = frame.f_back
    return False
