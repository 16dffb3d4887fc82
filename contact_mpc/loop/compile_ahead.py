"""Compile the cores of the nodes in a process of its own, once per version of the sources.

A function that numba has just compiled and the same function loaded from its cache on disk may round differently in the
last bit. So that a first run is like every later one, whatever computes commands only ever loads: before a run this
module lets a short loop in one process, in a subprocess, compile everything, and leaves a mark beside the cache.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import contact_mpc
from contact_mpc.errors import StackError
from contact_mpc.plants.registry import PLANTS

TASK = "allegro_ball"
COMPILED = ("drake", "mujoco")  # plants that know a hand
STEPS = 130  # of 1 ms: enough for two solves of a tracker at 20 Hz
PACKAGE = Path(contact_mpc.__file__).resolve().parent


def compile_ahead(engine: str) -> None:
    """Compile what all tasks share, with a plant in the loop, unless that has been done.

    The plant is `engine`, if it is one of `COMPILED`; any other has nothing to compile, and one of these stands in.

    Raises
    ------
    StackError
        The subprocess failed; the message ends with what it said.
    """
    mark = _mark()
    if mark.exists() or not os.access(PACKAGE, os.W_OK):
        return
    if engine not in COMPILED:
        engine = next((name for name in COMPILED if PLANTS.is_available(name)), engine)
    command = [sys.executable, "-m", "contact_mpc.loop.compile_ahead", engine]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise StackError(f"compiling ahead of the run failed with exit code {done.returncode}: {last[0]}")
    mark.parent.mkdir(exist_ok=True)
    mark.touch()


def _mark() -> Path:
    """Return the file that stands for a compiled state of the present sources."""
    return PACKAGE / "__pycache__" / f"compiled-{source_digest()}"


def source_digest() -> str:
    """Return a digest of Python and of the package's sources, by names, sizes and times of change."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        status = path.stat()
        digest.update(f"{path.relative_to(PACKAGE)} {status.st_mtime_ns} {status.st_size}\n".encode())
    return digest.hexdigest()[:16]


def _run_shortly(engine: str) -> None:
    from contact_mpc.loop.closed_loop import ClosedLoop
    from contact_mpc.loop.config import load_loop_config
    from contact_mpc.planning.trajopt.task import plan_task
    from contact_mpc.task.task import load_task

    task = load_task(TASK)
    loop = ClosedLoop(task.system, task, plan_task(task).plan, load_loop_config(TASK, engine))
    for _ in range(STEPS):
        loop.step()


if __name__ == "__main__":
    _run_shortly(sys.argv[1])
