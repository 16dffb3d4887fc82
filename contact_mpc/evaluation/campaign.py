"""Many trials at the same time: joblib's processes, outcomes as they come, interrupts that keep what is done.

A worker that is killed costs the trials that were under way another run. Workers whose parent is killed end themselves.

The default backend `loky` starts processes on this machine. `dask` and `ray` send the trials to a `cluster`; both need
the extra of that name. The outcome of a trial depends on its spec and seed alone, so not on the backend, apart from the
wall times of its solves.
"""

import logging
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from contact_mpc.errors import ConfigError, StackError
from contact_mpc.evaluation.cluster import run_on_dask, run_on_ray
from contact_mpc.loop.apart import end_with

T = TypeVar("T")
DEATHS = 3  # of workers in a row, without an outcome in between, that end a campaign
logger = logging.getLogger(__name__)
BACKENDS = {"loky": "joblib", "dask": "distributed", "ray": "ray"}  # and the package of each
ON_CLUSTER = {"dask": run_on_dask, "ray": run_on_ray}


def run_parallel(
    work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int, backend: str = "loky"
) -> Generator[tuple[int, T], None, None]:
    """Yield (index, work(*tasks[index])) as they are done; closing the iterator ends the processes too.

    Parameters
    ----------
    work : callable
        A function of a module, so that another process can import it.
    tasks : sequence of tuple
        Its arguments, call by call.
    jobs : int
        Calls at the same time; 1 runs them in this process.
    backend : str
        One of `BACKENDS`; counts with more than one job.

    Raises
    ------
    ConfigError
        An unknown backend, or one whose package is not installed.
    StackError
        Workers die one after the other, and no call ends.
    """
    if jobs <= 1 or len(tasks) <= 1:
        for index, arguments in enumerate(tasks):
            yield index, work(*arguments)
        return
    jobs = min(jobs, len(tasks))
    check_backend(backend)
    if backend in ON_CLUSTER:
        yield from ON_CLUSTER[backend](work, tasks, jobs, DEATHS)
        return
    waiting, deaths = dict(enumerate(tasks)), 0
    with parallel_config(n_jobs=jobs, backend="loky", idle_worker_timeout=3600, inner_max_num_threads=1):
        while waiting:
            try:
                with closing(_run_once(work, waiting, os.getpid())) as results:
                    for index, outcome in results:
                        del waiting[index]
                        deaths = 0
                        yield index, outcome
            except BrokenExecutor as error:
                deaths += 1
                if deaths == DEATHS:
                    raise StackError(
                        f"worker processes died {DEATHS} times in a row ({' '.join(str(error).split())[:200]}); "
                        f"{len(waiting)} of {len(tasks)} trials are not done: is memory short? Try fewer --jobs"
                    ) from error
                logger.warning("a worker process died; the trials that it left undone run again")


def _run_once(
    work: Callable[..., T], waiting: dict[int, tuple[Any, ...]], parent: int
) -> Generator[tuple[int, T], None, None]:
    """Yield (index, outcome) of calls as they are done, until all are or a worker dies."""
    with _deferred_interrupts():
        results = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2 * n_jobs")(
            delayed(_numbered)(work, index, arguments, parent) for index, arguments in list(waiting.items())
        )
    try:
        yield from results
    finally:
        results.close()


def check_backend(backend: str) -> None:
    """Raise ConfigError for an unknown backend or one whose package is not installed."""
    if backend not in BACKENDS:
        raise ConfigError(f"--backend {backend} is unknown; allowed: {', '.join(BACKENDS)}")
    package = BACKENDS[backend]
    if find_spec(package) is None:
        raise ConfigError(f"--backend {backend} needs the package {package}; install it with: pip install {package}")


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C; processes started meanwhile never see it, though it reaches the whole process group."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(work: Callable[..., T], index: int, arguments: tuple[Any, ...], parent: int) -> tuple[int, T]:
    end_with(parent)
    return index, work(*arguments)
