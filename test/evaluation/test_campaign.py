"""Kills: a dead worker costs another run of its trials alone; a dead parent leaves nobody behind."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import HANG_S

from contact_mpc.evaluation.campaign import BACKENDS
from contact_mpc.evaluation.cluster import RAY_STARTS, run_on_ray

KILLED_WORKER = """
    import os, signal, sys, time
    from pathlib import Path
    from contact_mpc.evaluation.campaign import run_parallel

    def work(number, folder, always):
        mark = Path(folder) / "killed"
        if number == 2 and (always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    if __name__ == "__main__":
        always = sys.argv[2] == "always"
        try:
            print(sorted(run_parallel(work, [(number, sys.argv[1], always) for number in range(5)], 2, sys.argv[3])))
        except Exception as error:
            print(type(error).__name__, error)
"""
SLEEPERS = """
    import os, sys, time
    from pathlib import Path
    from contact_mpc.evaluation.campaign import run_parallel

    def work(folder):
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(1000)

    if __name__ == "__main__":
        list(run_parallel(work, [(sys.argv[1],)] * 2, 2))
"""


def script(folder: Path, text: str) -> Path:
    """Return a program: workers import what they run from it, which they could not from a test."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


@pytest.mark.parametrize(
    ("message", "starts"),
    [("The current node timed out during startup. This could happen", RAY_STARTS), ("no such address", 1)],
)
def test_ray_is_started_again_where_the_machine_was_too_slow_for_it(
    monkeypatch: pytest.MonkeyPatch, message: str, starts: int
) -> None:
    ray = pytest.importorskip("ray")
    tried = []

    def init(**options: object) -> None:
        tried.append(options)
        raise RuntimeError(message)

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(RuntimeError, match=message[:20]):
        list(run_on_ray(abs, [(1,)], 1, 1))
    assert len(tried) == starts


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("loky", "once"), ("loky", "always"), ("dask", "once"), ("dask", "always"), ("ray", "once")],
)
def test_a_killed_worker_costs_another_run_of_its_trials(tmp_path: Path, backend: str, kind: str) -> None:
    pytest.importorskip(BACKENDS[backend])
    # What stands on stdout is the outcome alone, for --json.
    command = [sys.executable, str(script(tmp_path, KILLED_WORKER)), str(tmp_path), kind, backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True)
    if kind == "once":
        assert done.stdout.strip() == str([(number, number * number) for number in range(5)])
    else:
        assert done.stdout.startswith("StackError worker processes died 3 times")
    if backend == "loky":
        assert ("a worker process died" in done.stderr) and "Traceback" not in done.stderr


@contextmanager
def dask_cluster(folder: Path) -> Iterator[str]:
    """Start a scheduler with two workers, as processes of their own; yields its address."""
    file, tool = folder / "scheduler.json", Path(sys.executable).parent / "dask"
    scheduler = [tool, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file]
    worker = [
        tool,
        "worker",
        "--scheduler-file",
        file,
        "--nthreads",
        "1",
        "--no-dashboard",
        "--local-directory",
        folder,
    ]
    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for command in (scheduler, worker, worker)]
    try:
        end_s = time.monotonic() + HANG_S
        while not file.exists() and time.monotonic() < end_s:
            time.sleep(0.1)
        yield str(json.loads(file.read_text())["address"])
    finally:
        for process in started[::-1]:
            process.terminate()
            process.wait(HANG_S)


def test_trials_run_on_a_scheduler_of_ones_own_and_outlive_a_killed_worker(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with dask_cluster(tmp_path) as address:
        command = [sys.executable, str(script(tmp_path, KILLED_WORKER)), str(tmp_path), "once", "dask"]
        environment = os.environ | {"DASK_SCHEDULER_ADDRESS": address}
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True, env=environment)
    assert done.stdout.strip() == str([(number, number * number) for number in range(5)])


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def shared_files(pids: set[int]) -> set[str]:
    """Return the names in /dev/shm of what these processes made: semaphores of loky, folders of joblib's arrays."""
    kinds = ("sem.loky-{}-", "joblib_memmapping_folder_{}_", "sem.mp-{}-")
    begins = tuple(kind.format(pid) for kind in kinds for pid in pids)
    return {name for name in os.listdir("/dev/shm") if name.startswith(begins)}


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "pids"
    folder.mkdir()
    process = subprocess.Popen([sys.executable, str(script(tmp_path, SLEEPERS)), str(folder)])
    workers: list[int] = []
    end_s = time.monotonic() + HANG_S
    while len(workers) < 2 and time.monotonic() < end_s:
        workers = [int(name) for name in os.listdir(folder)]
        time.sleep(0.1)
    assert len(workers) == 2
    family = {process.pid, *workers}
    assert shared_files(family), "loky names its semaphores by the process that makes them"
    process.send_signal(signal.SIGKILL)
    process.wait()
    while any(is_running(pid) for pid in workers) and time.monotonic() < end_s:
        time.sleep(0.1)
    assert not any(is_running(pid) for pid in workers)
    while shared_files(family) and time.monotonic() < end_s:  # loky's tracker of them ends last
        time.sleep(0.1)
    assert not shared_files(family)
