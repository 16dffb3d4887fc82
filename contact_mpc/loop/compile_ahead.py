"""Compile the cores of the nodes in a process of its own, once per version of the sources.

A function that numba has just compiled and the same function loaded from its cache on disk may round differently in the
last bit. So that a first run is like every later one, whatever computes commands only ever loads: before a run this
module lets a short loop, in a subprocess, compile everything, with another process beside it that begins at the other
end, and leaves a mark beside the cache. Trees through contact are another part, for commands that grow them.
Subprocesses say what they have compiled, and in which time. The program over a horizon, which all of them need, is
compiled by one process at a time: `make` begins with it while it installs the rest, and a command waits for that.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Queue
from threading import Thread

import contact_mpc
from contact_mpc.errors import StackError
from contact_mpc.plants.registry import PLANTS

LOOP, TREE = "loop", "tree"
TASK, PROBLEM = "allegro_ball", "planar_hand_ball"
TREE_NODES = 60
PARTS = {LOOP: ("_run_shortly", "_compile_horizon"), TREE: ("_grow_shortly", "_compile_growth")}  # side by side
COMPILED = ("drake", "mujoco")  # plants that know a hand
STEPS = 130  # of 1 ms: enough for two solves of a tracker at 20 Hz
SAID = "compiled"
PACKAGE = Path(contact_mpc.__file__).resolve().parent
Compiled = tuple[str, float]  # a function, and seconds of the processor for it without those that it calls


def compile_ahead(engine: str, part: str = LOOP, report: Callable[[str, float], None] | None = None) -> None:
    """Compile what all tasks share, with a plant in the loop, or what trees need, unless that has been done.

    Parameters
    ----------
    engine : str
        The plant, if it is one of `COMPILED`; any other has nothing to compile, and one of these stands in.
    part : str
        "loop" or "tree".
    report : callable, optional
        Called with each function that was compiled, and the seconds that it took.

    Raises
    ------
    StackError
        The subprocess failed; the message ends with what it said.
    """
    mark = _mark(part)
    if mark.exists() or not os.access(PACKAGE, os.W_OK):
        return
    for name, seconds in compile_part(engine, part):
        if report is not None:
            report(name, seconds)
    mark.parent.mkdir(exist_ok=True)
    mark.touch()


def compile_part(engine: str, part: str, cache: Path | None = None) -> Iterator[Compiled]:
    """Compile in subprocesses, into numba's cache or into `cache`, and yield each function when it is done.

    Raises
    ------
    StackError
        As `compile_ahead`.
    """
    if engine not in COMPILED:
        engine = next((name for name in COMPILED if PLANTS.is_available(name)), engine)
    environment = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    base = [sys.executable, "-m", "contact_mpc.loop.compile_ahead", engine]
    with ExitStack() as stack:
        done: Queue[Compiled | None] = Queue()
        errors = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in PARTS[part]]
        processes = [
            stack.enter_context(
                subprocess.Popen([*base, program], stdout=subprocess.PIPE, stderr=file, text=True, env=environment)
            )
            for program, file in zip(PARTS[part], errors, strict=True)
        ]
        for process in processes:
            Thread(target=_read, args=(process, done), daemon=True).start()
        for _ in processes:
            yield from iter(done.get, None)
        for process, file in zip(processes, errors, strict=True):
            if process.wait() != 0:
                file.seek(0)
                last = file.read().strip().splitlines()[-1:] or ["it said nothing"]
                raise StackError(f"compiling ahead of the run failed with exit code {process.returncode}: {last[0]}")


def _read(process: "subprocess.Popen[str]", done: "Queue[Compiled | None]") -> None:
    """Put what a process says that it has compiled, and None at its end."""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.split()
        if words and words[0] == SAID:
            done.put((words[1], float(words[2])))
    done.put(None)


def _mark(part: str) -> Path:
    """Return the file that stands for a compiled part of the present sources."""
    return PACKAGE / "__pycache__" / f"compiled-{part}-{source_digest()}"


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


def _grow_shortly(_engine: str) -> None:
    from contact_mpc.planning.tree.plan import plan_globally
    from contact_mpc.planning.tree.planner import TreePlanner
    from contact_mpc.planning.tree.problem import load_problem

    plan_globally(TreePlanner(load_problem(PROBLEM)), 0, TREE_NODES)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process that shares the cache is within."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or PACKAGE / "__pycache__")
    with ExitStack() as stack:
        with suppress(OSError):  # where no file can be written nothing is shared
            folder.mkdir(exist_ok=True)
            fcntl.flock(stack.enter_context((folder / "compiling.lock").open("w")), fcntl.LOCK_EX)
        yield


def _compile_horizon(_engine: str) -> None:
    """Compile what comes late in the others, beside them: the program over a horizon."""
    from numba import typeof

    from contact_mpc.dynamics.contact_dynamics import lay_out
    from contact_mpc.optimisation.horizon import build_limits, build_weights, improve, make_horizon
    from contact_mpc.task.task import load_task

    system = load_task(TASK).system
    model = lay_out(system)
    hz, weights = make_horizon(model, system.n_q, 2), build_weights(system, 1.0, 1.0, 1.0, 1.0, 1.0)
    limits = build_limits(system, 0.0, 1.0, 1.0)
    with _alone():
        improve.compile(tuple(typeof(item) for item in (model, hz, weights, limits, 1.0, 1.0)))


def _compile_growth(engine: str) -> None:
    """Compile what comes late in `_grow_shortly`, beside it: the program over a horizon, then growth from its end."""
    from contact_mpc.planning.tree.planner import compile_growth
    from contact_mpc.planning.tree.problem import load_problem

    _compile_horizon(engine)
    compile_growth(load_problem(PROBLEM))


def _say_what_is_compiled() -> None:
    """Print every function that numba has compiled, when it has, with the seconds without those that it calls."""
    from numba.core import event

    class Listener(event.Listener):
        def __init__(self) -> None:
            self.open: list[list[float]] = []

        def on_start(self, _event: event.Event) -> None:
            self.open.append([time.process_time(), 0.0])

        def on_end(self, ended: event.Event) -> None:
            started, inner = self.open.pop()
            whole = time.process_time() - started
            if self.open:
                self.open[-1][1] += whole
            function = ended.data["dispatcher"].py_func
            print(SAID, f"{function.__module__}.{function.__name__}", f"{whole - inner:.4f}", flush=True)

    event.register("numba:compile", Listener())


if __name__ == "__main__":
    _say_what_is_compiled()
    globals()[sys.argv[2]](sys.argv[1])
