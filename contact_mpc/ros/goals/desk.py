"""Takes goals for the object one after the other: searches, hands over, watches how the object fares. Without ROS.

A goal that comes while the object moves is searched from where the running plan will be `lead_s` later, and takes its
place there, without a stop; a search that takes longer is repeated with more time. Too near to the plan's end, or after
`MOST_TRIES`, the end is waited for; at rest a goal is searched from the measured state. What is refused changes
nothing: the object goes on to the goal before, or is held. Where the controller itself plans from the measured state,
letting go and gripping anew (planner regrasp), a goal is handed over as it is, at any time. Newer goals replace those
that wait, so however fast they come, one is searched at a time.

All times are stamps of estimates, ns.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.planning.methods import REGRASP, planner_of
from contact_mpc.ros.goals.search import SearchRequest, SearchResult
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.plan import Plan
from contact_mpc.task.spliced_plan import drop_past, splice_plans, stop_plan
from contact_mpc.task.task import TaskConfig

State = Literal[
    "idle", "searching", "moving", "reached", "missed", "refused", "cancelled", "replaced", "holding", "lost"
]
ENDED: tuple[State, ...] = ("reached", "missed", "refused", "cancelled", "replaced", "holding", "lost")
LOST = ("object_lost", "not_following", "model_failed")  # of the tracker: it holds until there is another reference
LOST_ALONE = ("no_segment",)  # who grips anew goes on after the others by itself
START_DELAY_NS = 100_000_000  # from the hand-over at rest to the motion
STOP_S = 0.4  # in which a cancelled motion comes to rest
SETTLE_NS = 300_000_000  # within the tolerances for so long: reached
SETTLE_ALONE_NS = 1_000_000_000  # the same where nobody knows when the way ends
LEAD_S, LONGEST_LEAD_S, LEAD_SHARE, LEAD_SPARE_S = 1.0, 60.0, 1.3, 0.2
MOST_TRIES = 2  # to take over in motion, before the end of the running plan is waited for
SAME_RAD, SAME_M = 2e-3, 2e-4  # goals closer than this are the same


class Search(Protocol):
    """What searches plans in the background."""

    @property
    def is_busy(self) -> bool:
        """Whether a search is under way."""

    def ask(self, request: SearchRequest) -> None:
        """Begin a search."""

    def poll(self) -> SearchResult | None:
        """Return its result once it is there."""


@dataclass(frozen=True)
class ObjectGoal:
    """Where the object shall go, and the stamp by which who asked knows it."""

    stamp_ns: int
    R: FloatArray
    p: FloatArray


@dataclass(frozen=True)
class HandOver:
    """What the tracker shall follow: a plan from start_ns on; None: nothing, the bridge holds."""

    start_ns: int
    plan: Plan | None


class GoalDesk:
    """State machine of the goals.

    Parameters
    ----------
    task : TaskConfig
        Planner, tolerances and speed.
    search : Search
        Searches plans.

    Attributes
    ----------
    state, message : str
        What became of the newest goal, and why.
    goal : ObjectGoal or None
        The newest goal.
    angle_deg, distance_mm, progress : float
        Error to the goal that is gone to, and the share of the way done, 0 to 1.
    counts : dict
        How many goals ended how.
    """

    def __init__(self, task: TaskConfig, search: Search) -> None:
        self._task, self._search = task, search
        self._system: System = task.system
        self._goes_alone = planner_of(task) == REGRASP
        self._lost = LOST_ALONE if self._goes_alone else LOST
        self._settle_ns = SETTLE_ALONE_NS if self._goes_alone else SETTLE_NS
        self._number, self._lead_s, self._tries = 0, LEAD_S, 0
        self._next: ObjectGoal | None = None
        self._searched: ObjectGoal | None = None
        self._switch_s: float | None = None
        self._asked_ns = self._t_ns = 0
        self._q: FloatArray | None = None
        self._u = task.start_u.copy()
        self._reference: HandOver | None = None
        self._under_way: ObjectGoal | None = None
        self._whole = (1.0, 1.0)
        self._within_ns: int | None = None
        self.state: State = "idle"
        self.message = "no goal yet"
        self.goal: ObjectGoal | None = None
        self.angle_deg = self.distance_mm = self.progress = float("nan")
        self.counts: dict[str, int] = {"goals": 0} | dict.fromkeys(ENDED, 0)

    # What is asked for.

    def take_goal(self, goal: ObjectGoal) -> None:
        """Take a goal; the one before is replaced, whatever became of it."""
        self.counts["goals"] += 1
        if self._q is None:
            self._replace(goal)
            self._end("refused", "no estimate of the object yet: see the state estimator and the camera")
            return
        if self._under_way is not None and self._next is None and is_same(goal, self._under_way):
            if self.state in ("moving", "reached"):
                self.goal = self._under_way = goal
                return
        self._replace(goal)
        self._next = goal
        self._tell("searching", "a plan is searched; the object is held or goes on meanwhile")
        self._begin_search()

    def refuse(self, stamp_ns: int, reason: str) -> None:
        """Refuse what is no goal; a goal that is gone to stays."""
        self.counts["goals"] += 1
        self.counts["refused"] += 1
        if self.state not in ("searching", "moving"):
            self.goal = ObjectGoal(stamp_ns, np.eye(3), np.zeros(3))
            self.state = "refused"
        self.message = f"refused: {reason}"

    def cancel(self) -> HandOver | None:
        """Give up the goal: the object comes to rest on its way and is held there."""
        self._forget_goals()
        self._end("cancelled", "cancelled: the object is held where it is")
        reference, t_s = self._reference, max(self._motion_s(), 0.0)
        if self._goes_alone:
            return None if reference is None else self._stay()
        if reference is None or reference.plan is None or t_s >= self._end_s():
            return None
        return self._go_on_with(stop_plan(reference.plan, t_s, STOP_S, self._system))

    def hold(self) -> HandOver:
        """Follow nothing any more: the bridge holds by its own policy until the next goal."""
        self._forget_goals()
        self._end("holding", "nothing is followed; the bridge holds")
        return self._hand_over(None, self._t_ns)

    # What happens.

    def update(self, t_ns: int, q: FloatArray, u: FloatArray, tracker_status: str) -> HandOver | None:
        """Take the newest state q (n_q,), commands u (n_a,) and status of the tracker; returns what to follow now."""
        self._t_ns, self._q, self._u = t_ns, q, u
        handed = self._take_result()
        stay = self._watch(tracker_status)
        self._begin_search()
        return handed or stay

    def _take_result(self) -> HandOver | None:
        result = self._search.poll()
        if result is None:
            return None
        goal, self._searched = self._searched, None
        took_s = (self._t_ns - self._asked_ns) / NS_PER_S
        self._lead_s = min(LEAD_SHARE * took_s + LEAD_SPARE_S, LONGEST_LEAD_S)
        if goal is None or result.number != self._number:
            return None  # cancelled meanwhile
        if result.plan is None:
            if self._next is None:
                self._end("refused", f"refused: {result.reason}")
            return None
        return self._follow(goal, result.plan)

    def _follow(self, goal: ObjectGoal, plan: Plan) -> HandOver | None:
        """Hand a plan over: at the switch in motion, at once at rest; too late for its switch it is searched again."""
        reference, switch_s = self._reference, self._switch_s
        if switch_s is not None:
            assert reference is not None and reference.plan is not None
            if self._motion_s() > switch_s:
                self._tries += 1
                self._next = self._next or goal
                return None
            handed = self._go_on_with(splice_plans(reference.plan, switch_s, plan, self._system))
        else:
            handed = self._hand_over(plan, self._t_ns + START_DELAY_NS)
        self._set_off(goal)
        return handed

    def _set_off(self, goal: ObjectGoal) -> None:
        self._under_way, self._within_ns, self._tries = goal, None, 0
        self._whole = tuple(max(value, 1e-6) for value in self._errors())  # type: ignore[assignment]
        if self._next is None:
            self._tell("moving", "on its way")

    def _begin_search(self) -> None:
        """Search for the goal that waits, if nothing is being searched and the object need not come to rest first."""
        if self._next is None or self._search.is_busy or self._q is None:
            return
        q, u, self._switch_s = self._q.copy(), self._u.copy(), None
        t_s = self._motion_s()
        if t_s < self._end_s() and not self._goes_alone:
            assert self._reference is not None and self._reference.plan is not None
            switch_s = max(t_s, 0.0) + self._lead_s * 2.0**self._tries
            if self._tries >= MOST_TRIES or switch_s >= self._end_s():
                return
            plan, self._switch_s = self._reference.plan, switch_s
            q, u = plan.sample_q(self._system, switch_s), plan.sample_u(switch_s)
        goal, self._next = self._next, None
        self._number += 1
        self._searched, self._asked_ns = goal, self._t_ns
        self._search.ask(SearchRequest(self._number, q, u, goal.R, goal.p))

    def _watch(self, tracker_status: str) -> HandOver | None:
        """See how the object fares on its way; who goes alone is told to stay where it has arrived."""
        if self._under_way is None or self._q is None:
            return None
        self.angle_deg, self.distance_mm = self._errors()
        left = max(self.angle_deg / self._whole[0], self.distance_mm / self._whole[1])
        self.progress = float(np.clip(1.0 - left, 0.0, 1.0))
        if self.state != "moving":
            return None
        is_within = self.angle_deg <= self._task.tolerance_deg and self.distance_mm <= self._task.tolerance_mm
        self._within_ns = (self._within_ns or self._t_ns) if is_within else None
        is_over = self._goes_alone or self._motion_s() >= self._end_s()
        errors = f"{self.angle_deg:.1f} deg and {self.distance_mm:.1f} mm from the goal"
        if self._within_ns is not None and is_over and self._t_ns - self._within_ns >= self._settle_ns:
            self.progress = 1.0
            self._end("reached", errors)
            return self._stay() if self._goes_alone else None
        elif tracker_status in self._lost and self._motion_s() > 0.0:
            self._end("lost", f"the tracker holds: {tracker_status}, {errors}")
            self._reference = None
        elif self._motion_s() >= self._end_s() + self._task.hold_s:
            self._end("missed", f"{errors} (allowed {self._task.tolerance_deg:g} deg, {self._task.tolerance_mm:g} mm)")
        return None

    # Small parts.

    def _stay(self) -> HandOver:
        """Hand over the pose that the object has: the controller that goes alone then holds what it commands."""
        assert self._q is not None
        q, u = np.array([self._q, self._q]), np.array([self._u, self._u])
        plan = Plan(np.array([0.0, STOP_S]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)))
        return self._hand_over(plan, self._t_ns + START_DELAY_NS)

    def _errors(self) -> tuple[float, float]:
        assert self._q is not None and self._under_way is not None
        R, p = self._system.object_pose(self._q)
        turn = rotation_log(np.ascontiguousarray(self._under_way.R @ R.T))
        return float(np.rad2deg(np.linalg.norm(turn))), 1e3 * float(np.linalg.norm(self._under_way.p - p))

    def _motion_s(self) -> float:
        """Return the time since the start of what is followed, s; infinite where nothing is."""
        if self._reference is None or self._reference.plan is None:
            return float("inf")
        return (self._t_ns - self._reference.start_ns) / NS_PER_S

    def _end_s(self) -> float:
        if self._reference is None or self._reference.plan is None:
            return 0.0
        return float(self._reference.plan.times_s[-1])

    def _hand_over(self, plan: Plan | None, start_ns: int) -> HandOver:
        self._reference = HandOver(start_ns, plan)
        return self._reference

    def _go_on_with(self, plan: Plan) -> HandOver:
        """Hand over a plan that begins as the one that runs; without its past, under a stamp that is new: halves of
        references are told apart by it.
        """
        assert self._reference is not None
        past_s = max(self._motion_s(), 0.0)
        start_ns = self._reference.start_ns + round(past_s * NS_PER_S) + 1
        return self._hand_over(drop_past(plan, past_s, self._system), start_ns)

    def _forget_goals(self) -> None:
        self._number += 1  # what is being searched is not wanted any more
        self._next = self._under_way = None
        self._tries = 0

    def _replace(self, goal: ObjectGoal) -> None:
        if self.goal is not None and self.state in ("searching", "moving"):
            self.counts["replaced"] += 1
        self.goal = goal

    def _end(self, state: State, message: str) -> None:
        self.counts[state] += 1
        self._tell(state, message)

    def _tell(self, state: State, message: str) -> None:
        self.state, self.message = state, message


def is_same(a: ObjectGoal, b: ObjectGoal) -> bool:
    """Whether two goals are the same but for what a float32 leaves."""
    turn = float(np.linalg.norm(rotation_log(np.ascontiguousarray(a.R @ b.R.T))))
    return turn < SAME_RAD and float(np.linalg.norm(a.p - b.p)) < SAME_M
