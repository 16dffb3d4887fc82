"""Calls on a cluster of Dask or Ray, outcomes as they come; this package must be there in the same version.

Not by joblib's backends of these: that of Ray gives outcomes only when all are done, that of Dask waits for ever for a
call whose workers died. Without an address they start a cluster on this machine that nobody else can reach.
"""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stdout
from typing import Any, TypeVar

from contact_mpc.errors import StackError

T = TypeVar("T")
Calls = Generator[tuple[int, T], None, None]
LOOPBACK = "127.0.0.1"
RAY_STARTS = 5  # tries to start a node, which has 30 s each for it
RAY_SLOW = "timed out during startup"


def run_on_dask(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int, deaths: int) -> Calls[T]:
    """Yield (index, work(*tasks[index])) as they are done; closing the iterator cancels the rest.

    The scheduler is the one that DASK_SCHEDULER_ADDRESS names: its workers decide how many run at the same time, and
    its own `allowed-failures` how many of them may die under one call.

    Raises
    ------
    StackError
        So many workers died under one call.
    """
    import dask
    from distributed import Client, KilledWorker, as_completed

    is_elsewhere = dask.config.get("scheduler-address", None) is not None
    own: dict[str, Any] = (
        {} if is_elsewhere else {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    )
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": deaths - 1}),
        Client(**own) as client,
    ):
        calls = {client.submit(work, *arguments, pure=False): index for index, arguments in enumerate(tasks)}
        try:
            for call in as_completed(list(calls)):
                index = calls.pop(call)  # and with it what the cluster keeps
                try:
                    outcome = call.result()
                except KilledWorker as error:
                    raise _died(deaths, index) from error
                yield index, outcome
        finally:
            client.cancel(list(calls))


def run_on_ray(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int, deaths: int) -> Calls[T]:
    """Yield (index, work(*tasks[index])) as they are done, `jobs` at a time, on the cluster that RAY_ADDRESS names.

    Raises
    ------
    StackError
        So many workers died under one call.
    """
    import ray

    own = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs, "_node_ip_address": LOOPBACK}
    with redirect_stdout(sys.stderr):  # where a thread of Ray says which worker died
        _start_ray(own)
        task = ray.remote(num_cpus=1, max_retries=deaths - 1)(work)
        waiting = list(enumerate(tasks))[::-1]
        running: dict[Any, int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    index, arguments = waiting.pop()
                    running[task.remote(*arguments)] = index
                (done, *_), _ = ray.wait(list(running))
                index = running.pop(done)
                try:
                    outcome = ray.get(done)
                except ray.exceptions.WorkerCrashedError as error:
                    raise _died(deaths, index) from error
                yield index, outcome
        finally:
            for call in running:
                ray.cancel(call, force=True)
            ray.shutdown()


def _start_ray(options: dict[str, Any]) -> None:
    """Connect to Ray or start it, again where a busy machine was too slow for its limit of 30 s."""
    import ray

    for left in reversed(range(RAY_STARTS)):
        try:
            ray.init(include_dashboard=False, log_to_driver=False, **options)
            return
        except Exception as error:  # Ray has no class of its own for this
            if RAY_SLOW not in str(error) or left == 0:
                raise
            ray.shutdown()


def _died(deaths: int, index: int) -> StackError:
    return StackError(f"worker processes died {deaths} times in a row under trial {index}: is memory short?")
