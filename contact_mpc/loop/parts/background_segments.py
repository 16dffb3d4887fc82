"""Parts of a long way that another process searches, so that a controller's tick never waits for a tree.

What it searches with stays in that process. A search belongs to the command that it was asked under: where another is
in force when it ends, it is asked again.
"""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future

import numpy as np

from contact_mpc.control.controller import Patience
from contact_mpc.loop.apart import start_process
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import SEARCHING, Segment, SegmentPlanner

_planners: dict[str, SegmentPlanner] = {}  # of the process that searches; one
PLANNER = "planner"


class BackgroundSegments:
    """A `SegmentPlanner` whose work another process does.

    Parameters
    ----------
    make : callable
        Makes the planner, there; it can be pickled.
    patience : Patience
        Whether `next_segment` waits.

    Raises
    ------
    ContactMpcError
        Of `make`.
    """

    def __init__(self, make: Callable[[], SegmentPlanner], patience: Patience) -> None:
        self._make, self._patience = make, patience
        self._plan: Plan | None = None
        self._search: Future[Segment | None] | None = None
        self._asked_u = np.zeros(0)
        self._process = start_process()
        self._process.submit(_prepare, make).result()

    def begin(self, plan: Plan) -> None:
        """Take the reference; a search that runs is ended."""
        self._plan = plan
        if self._search is not None and not self._search.done():
            self._start_anew()
            return
        self._search = None
        try:
            self._process.submit(_begin, plan)
        except BrokenExecutor:
            self._start_anew()

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """Return what was found from the state q (n_q,) under the command u (n_a,), or `SEARCHING`."""
        try:
            return self._answer(q, u)
        except BrokenExecutor as error:
            self._start_anew()
            return Segment(None, reason=f"the process that searches parts died ({error}); start the motion again")

    def _answer(self, q: FloatArray, u: FloatArray) -> Segment | None:
        mode = self._patience.mode
        if self._search is not None and not np.array_equal(u, self._asked_u):
            if mode == "wait" or self._search.done():  # of a command that is no longer in force
                self._search.exception()
                self._search = None
        if self._search is None:
            self._search, self._asked_u = self._process.submit(_next, q, u), u.copy()
        if mode == "leave" or (mode == "look" and not self._search.done()):
            return SEARCHING
        search, self._search = self._search, None
        return search.result()

    def _start_anew(self) -> None:
        """Put another process in the place of one that died, or that searches in vain; it begins with the reference."""
        self.close()
        self._search, self._process = None, start_process()
        self._process.submit(_prepare, self._make)
        if self._plan is not None:
            self._process.submit(_begin, self._plan)

    def close(self) -> None:
        """End the process."""
        self._process.shutdown(wait=False, kill_workers=True)


def _prepare(make: Callable[[], SegmentPlanner]) -> None:
    _planners[PLANNER] = make()


def _begin(plan: Plan) -> None:
    _planners[PLANNER].begin(plan)


def _next(q: FloatArray, u: FloatArray) -> Segment | None:
    return _planners[PLANNER].next_segment(q, u)
