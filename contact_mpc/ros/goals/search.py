"""The search for plans in a process of its own, so that nothing waits for it; it ends with the process that asked."""

import multiprocessing
import os
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection

from contact_mpc.errors import ContactMpcError
from contact_mpc.planning.goal import plan_to, task_to
from contact_mpc.planning.way_back import Trail
from contact_mpc.ros.runtime.parent_process import PARENT_VARIABLE, die_with_parent
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig, load_task

NICENESS = 10  # bridge and tracker come first
STOP_PATIENCE_S = 2.0


@dataclass(frozen=True)
class SearchRequest:
    """From the state q (n_q,) under the commands u (n_a,) to the pose (R, p) of the object, by its number.

    speed_share is that of the task's speed; trail is what was followed since the task's start, None: not known.
    """

    number: int
    q: FloatArray
    u: FloatArray
    R: FloatArray
    p: FloatArray
    speed_share: float = 1.0
    trail: Trail | None = None


@dataclass(frozen=True)
class SearchResult:
    """A plan, or why there is none."""

    number: int
    plan: Plan | None
    reason: str = ""


class PlanSearch:
    """Searches plans for a task, one at a time.

    Parameters
    ----------
    task : str
        Path of the task file, whose planner is used.
    """

    def __init__(self, task: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_work, args=(other, task, os.getpid()), daemon=True)
        self._process.start()
        other.close()
        self._asked: SearchRequest | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a search is under way."""
        return self._asked is not None

    def ask(self, request: SearchRequest) -> None:
        """Begin a search; the one before must have ended."""
        assert not self.is_busy
        self._pipe.send(request)
        self._asked = request

    def poll(self) -> SearchResult | None:
        """Return the result of the search once it is there; the end of the process is one too."""
        if self._asked is None:
            return None
        number = self._asked.number
        try:
            if not self._pipe.poll():
                return None
            result: SearchResult = self._pipe.recv()
        except (EOFError, OSError) as error:
            result = SearchResult(number, None, f"the search ended ({error or 'process died'}); start the stack again")
        self._asked = None
        return result

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.terminate()
        self._process.join(STOP_PATIENCE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _work(pipe: Connection, task_file: str, parent: int) -> None:
    """Answer requests until the other end is closed."""
    os.environ[PARENT_VARIABLE] = str(parent)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    die_with_parent()
    os.nice(NICENESS)
    task = load_task(task_file)
    while True:
        try:
            request: SearchRequest = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_answer(request, task))


def _answer(request: SearchRequest, task: TaskConfig) -> SearchResult:
    try:
        goal = task_to(task, request.q, request.u, request.R, request.p, request.speed_share)
        plan = plan_to(task, goal, request.trail)
    except ContactMpcError as error:
        return SearchResult(request.number, None, str(error).removeprefix(f"{task.path}: "))
    return SearchResult(request.number, plan)
