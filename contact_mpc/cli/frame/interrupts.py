"""Ctrl-C where it can be taken: never within compiling, loading compiled code or an import.

A KeyboardInterrupt that is raised while numba is called by its own C code or by LLVM is lost, becomes a SystemError or
ends the process by SIGSEGV; one within the import system's callbacks is lost.
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

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal since_s
        now_s = time.monotonic()
        since_s = now_s if since_s is None else since_s
        if _is_uninterruptible(frame) and now_s - since_s < PATIENCE_S:
            retry = threading.Timer(RETRY_S, _thread.interrupt_main, (number,))
            retry.daemon = True
            retry.start()
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
    """Return whether any function that is being called from `frame` outwards belongs to `UNINTERRUPTIBLE`."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in UNINTERRUPTIBLE:
            return True
        frame = frame.f_back
    return False
