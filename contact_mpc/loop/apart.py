"""Work in a process of its own, so that roundings do not depend on what else a process has computed.

Libraries that numba loads share symbols, and the first one loaded provides them to all: where planning comes first, the
tracker's solves round differently than in a process that only runs the loop, such as a node or a worker of an
evaluation (seen: 6e-15 rad in the first plan, 1e-11 N m after 0.6 s). The order of summation of linear algebra depends
on the number of threads, which is one here. The processes import no main module, so a script needs no guard.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import cache
from typing import Literal, ParamSpec, TypeVar

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import get_context

from contact_mpc.errors import StackError
from contact_mpc.settings.threads import SINGLE_THREADED

ORPHAN_POLL_S = 1.0
P = ParamSpec("P")
T = TypeVar("T")
Work = Literal["plan", "loop"]
_processes: dict[Work, ProcessPoolExecutor] = {}


@cache
def end_with(parent: int) -> None:
    """Let this process end when its parent has: nobody else would end a worker whose parent was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_POLL_S)
        os._exit(1)

    if os.getpid() != parent:
        threading.Thread(target=watch, daemon=True).start()


def _begin(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with(parent)


def start_process() -> ProcessPoolExecutor:
    """Return an executor of one fresh process, which Ctrl-C ends without a word, and the death of this one, too."""
    return ProcessPoolExecutor(
        1,
        context=get_context("loky"),
        initializer=_begin,
        initargs=(os.getpid(),),
        env=dict.fromkeys(SINGLE_THREADED, "1"),
    )


@contextmanager
def fresh_process() -> Iterator[ProcessPoolExecutor]:
    """Yield an executor of one fresh process, which ends with the block."""
    pool = start_process()
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, kill_workers=True)


def run_apart(kind: Work, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return work(...) from the process that does all work of this kind, started at the first call.

    Raises
    ------
    StackError
        The process died; the next call starts another one.
    """
    if kind not in _processes:
        _processes[kind] = start_process()
    pool = _processes[kind]
    try:
        return pool.submit(work, *args, **kwargs).result()
    except BrokenExecutor as error:
        del _processes[kind]
        raise StackError(f"the process for '{kind}' died ({error}); was it interrupted, or memory short?") from error
    except KeyboardInterrupt:
        _processes.pop(kind).shutdown(wait=False, kill_workers=True)
        raise
