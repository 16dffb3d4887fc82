"""Many trials at the same time: joblib's processes, outcomes as they come, interrupts that keep what is done.

The default backend `loky` starts processes on this machine. `dask` sends the trials to the scheduler that
DASK_SCHEDULER_ADDRESS names (a local cluster without), `ray` to the cluster that RAY_ADDRESS names; both need their
package, which is no dependency, and this package in the same version on every machine. The outcome of a trial depends
on its spec and seed alone, so not on the backend, apart from the wall times of its solves.
"""

import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from contact_mpc.errors import ConfigError

T = TypeVar("T")
BACKENDS = {"loky": "joblib", "dask": "distributed", "ray": "ray"}


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
    """
    if jobs <= 1 or len(tasks) <= 1:
        for index, arguments in enumerate(tasks):
            yield index, work(*arguments)
        return
    with parallel_config(n_jobs=min(jobs, len(tasks)), **_settings(backend)):
        with _deferred_interrupts():
            results = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2 * n_jobs")(
                delayed(_numbered)(work, index, arguments) for index, arguments in enumerate(tasks)
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


def _settings(backend: str) -> dict[str, Any]:
    """Return joblib's settings of a backend, after connecting to its cluster."""
    check_backend(backend)
    if backend == "loky":
        return {"backend": "loky", "idle_worker_timeout": 3600, "inner_max_num_threads": 1}
    if backend == "dask":
        from distributed import Client  # registers itself as joblib's default

        Client()
    else:
        from ray.util.joblib import register_ray

        register_ray()
    return {"backend": backend}


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C; processes started meanwhile never see it, though it reaches the whole process group."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(work: Callable[..., T], index: int, arguments: tuple[Any, ...]) -> tuple[int, T]:
    return index, work(*arguments)
