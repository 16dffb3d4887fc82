"""Takes goals for the object one after the other: searches, hands over, watches how the object fares. Without ROS.

A goal that comes while the object moves is searched from where the running plan will be `lead_s` later, and takes its
place there, without a stop; a search that takes longer is repeated with more time. Too near to the plan's end, or after
`MOST_TRIES`, the end is waited for; at rest a goal is searched from the measured state. What is refused changes
nothing: the object goes on to the goal before, or is held. What was followed since the task's start goes with each
search (`footsteps`), so that a grasp that loops would use up is brought back to what it was. Where the controller
itself plans from the measured state, letting go and gripping anew (planner regrasp), a goal is handed over as it is, at
any time. Newer goals replace those that wait, so however fast they come, one is searched at a time. An object that
nobody sees has arrived nowhere, and no way begins at it. What the tracker has lost is lost; a controller that plans by
itself goes on after that, and has dropped an object that stays further from its way than the task's drop_distance_m:
nothing is followed any more.

All times are stamps of estimates, ns.
"""

from typing import Protocol

import numpy as np

from contact_mpc.planning.methods import REGRASP, planner_of
from contact_mpc.ros.goals.footsteps import Footsteps
from contact_mpc.ros.goals.goal import HandOver, ObjectGoal, is_same
from contact_mpc.ros.goals.ledger import Ledger
from contact_mpc.ros.goals.running import STOP_S, Running
from contact_mpc.ros.goals.search import SearchRequest, SearchResult
from contact_mpc.ros.goals.way import Way
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

LOST = ("object_lost", "not_following", "model_failed")  # of the tracker: it holds until there is another reference
LOST_ALONE = ("no_segment",)  # who grips anew goes on after the others by itself
START_DELAY_NS = 100_000_000  # from the hand-over at rest to the motion
SETTLE_NS = 300_000_000  # within the tolerances for so long: reached
SETTLE_ALONE_NS = NS_PER_S  # the same where nobody knows when the way ends
LEAD_S, LONGEST_LEAD_S, LEAD_SHARE, LEAD_SPARE_S = 1.0, 60.0, 1.3, 0.2
MOST_TRIES = 2  # to take over in motion, before the end of the running plan is waited for


class Search(Protocol):
    """What searches plans in the background."""

    @property
    def is_busy(self) -> bool:
        """Whether a search is under way."""

    def ask(self, request: SearchRequest) -> None:
        """Begin a search."""

    def poll(self) -> SearchResult | None:
        """Return its result once it is there."""


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
    ledger : Ledger
        What became of the goals.
    way : Way
        Goal that is gone to, and the error to it.
    speed_share : float
        Share of the task's speed that ways searched from now on have.
    """

    def __init__(self, task: TaskConfig, search: Search) -> None:
        self._task, self._search = task, search
        self._goes_alone = planner_of(task) == REGRASP
        self._lost = LOST_ALONE if self._goes_alone else LOST
        self.ledger = Ledger()
        self.way = Way(task, SETTLE_ALONE_NS if self._goes_alone else SETTLE_NS)
        self.speed_share = 1.0
        self._running = Running(task.system)
        self._footsteps = Footsteps(task)
        self._number, self._lead_s, self._tries = 0, LEAD_S, 0
        self._next: ObjectGoal | None = None
        self._searched: ObjectGoal | None = None
        self._switch_s: float | None = None
        self._asked_ns = self._t_ns = 0
        self._q: FloatArray | None = None
        self._u = task.start_u.copy()
        self._unseen = "no estimate of the object yet: see the state estimator and the camera"

    # What is asked for.

    def take_goal(self, goal: ObjectGoal) -> None:
        """Take a goal; the one before is replaced, whatever became of it."""
        self.ledger.take(goal.stamp_ns)
        if self._is_gone_to(goal):
            self.way.goal = goal
            if self.ledger.state == "reached":
                self.ledger.end("reached", str(self.way))
            return
        self._next = goal
        self.ledger.tell("searching", "a plan is searched; the object is held or goes on meanwhile")
        self._begin_search()

    def _is_gone_to(self, goal: ObjectGoal) -> bool:
        """Whether the object is on its way to this goal, and nothing else is asked for, or rests at it."""
        if self._next is not None or self.way.goal is None or not is_same(goal, self.way.goal):
            return False
        return self.ledger.state == "moving" or (self.ledger.state == "reached" and self.way.is_within)

    def cancel(self) -> HandOver | None:
        """Give up the goal: the object comes to rest on its way and is held there."""
        was_following = self._running.end_s > 0.0
        self._forget_goals()
        self.ledger.end("cancelled", "cancelled: the object is held where it is")
        if self._goes_alone:
            return self._stay() if was_following else None
        return self._running.stop(self._t_ns)

    def hold(self) -> HandOver:
        """Follow nothing any more: the bridge holds by its own policy until the next goal."""
        self._forget_goals()
        self._footsteps.forget()
        self.ledger.end("holding", "nothing is followed; the bridge holds")
        return self._running.follow(None, self._t_ns)

    # What happens.

    def update(self, t_ns: int, q: FloatArray, u: FloatArray, tracker_status: str, unseen: str = "") -> HandOver | None:
        """Take the newest state q (n_q,), commands u (n_a,) and status of the tracker; returns what to follow now.

        `unseen` says why q is no measured state of the object, if it is none.
        """
        self._t_ns, self._q, self._u, self._unseen = t_ns, q, u, unseen
        if unseen:
            self.way.lose_sight()
        else:
            self.way.measure(t_ns, q)
            self._footsteps.begin(q)
        self._footsteps.follow(self._running, t_ns)
        handed = self._take_result()
        stay = self._watch(tracker_status)
        self._begin_search()
        return handed or stay

    def wait(self, start_ns: int, waited_ns: int) -> None:
        """Take note that the reference that starts at start_ns has stood still for waited_ns: the bridge held."""
        self._running.wait(start_ns, waited_ns)

    def lose(self, reason: str) -> None:
        """Give up what is open: nothing is heard of the object any more."""
        self._unseen = reason
        is_open = self.ledger.is_open
        self._forget_goals()
        self._footsteps.forget()
        self._running.forget()
        if is_open:
            self.ledger.end("lost", reason)

    def _take_result(self) -> HandOver | None:
        result = self._search.poll()
        if result is None:
            return None
        goal, self._searched = self._searched, None
        took_s = (self._t_ns - self._asked_ns) / NS_PER_S
        self._lead_s = min(LEAD_SHARE * took_s + LEAD_SPARE_S, LONGEST_LEAD_S)
        if goal is None or result.number != self._number:
            return None  # cancelled meanwhile
        reason = self._unseen if self._switch_s is None else ""
        if result.plan is None or reason:
            if self._next is None:
                self.ledger.end("refused", f"refused: {reason or result.reason}")
            return None
        return self._follow(goal, result.plan)

    def _follow(self, goal: ObjectGoal, plan: Plan) -> HandOver | None:
        """Hand a plan over: at the switch in motion, at once at rest; too late for its switch it is searched again."""
        if self._switch_s is None:
            handed = self._running.follow(plan, self._t_ns + START_DELAY_NS)
        elif self._running.time_s(self._t_ns) > self._switch_s:
            self._tries += 1
            self._next = self._next or goal
            return None
        else:
            handed = self._running.switch(self._t_ns, self._switch_s, plan)
        self._tries = 0
        assert self._q is not None
        self.way.set_off(goal, self._q)
        if self._next is None:
            self.ledger.tell("moving", "on its way")
        return handed

    def _begin_search(self) -> None:
        """Search for the goal that waits, if nothing is being searched and the object need not come to rest first."""
        if self._next is None or self._search.is_busy:
            return
        if self._unseen or self._q is None:
            self._next = None
            self.ledger.end("refused", f"refused: {self._unseen}")
            return
        q, u, self._switch_s = self._q.copy(), self._u.copy(), None
        if not self._running.is_over(self._t_ns) and not self._goes_alone:
            switch_s = max(self._running.time_s(self._t_ns), 0.0) + self._lead_s * 2.0**self._tries
            if self._tries >= MOST_TRIES or switch_s >= self._running.end_s:
                return
            self._switch_s = switch_s
            q, u = self._running.sample(switch_s)
        goal, self._next = self._next, None
        self._number += 1
        self._searched, self._asked_ns = goal, self._t_ns
        trail = None if self._goes_alone else self._footsteps.trail(self._running, self._switch_s)
        self._search.ask(SearchRequest(self._number, q, u, goal.R, goal.p, self.speed_share, trail))

    def _watch(self, tracker_status: str) -> HandOver | None:
        """See how the object fares on its way; who goes alone is told to stay where it has arrived."""
        if self.way.goal is None or self.ledger.state != "moving":
            return None
        if self._goes_alone and self.way.has_dropped(self._t_ns):
            return self._give_up_dropped()
        has_ended = self._goes_alone or self._running.is_over(self._t_ns)
        if has_ended and self.way.has_arrived(self._t_ns):
            self.way.progress = 1.0
            self.ledger.end("reached", str(self.way))
            return self._stay() if self._goes_alone else None
        if tracker_status in self._lost and self._running.time_s(self._t_ns) > 0.0:
            self.ledger.end("lost", f"the tracker holds: {tracker_status}, {self.way}")
            self._footsteps.forget()
            self._running.forget()
        elif self._running.is_over(self._t_ns, self._task.hold_s):
            angle_deg, distance_mm = self.way.tolerances
            self.ledger.end("missed", self._unseen or f"{self.way} (allowed {angle_deg:g} deg, {distance_mm:g} mm)")
        return None

    def _give_up_dropped(self) -> HandOver:
        """End what is open as lost: the bridge holds by its own policy until the next goal."""
        off_mm, allowed_mm = 1e3 * self.way.off_m, 1e3 * self._task.drop_distance_m
        reason = f"dropped: {off_mm:.0f} mm off its way (allowed {allowed_mm:g} mm), {self.way}"
        self._forget_goals()
        self.ledger.end("lost", reason)
        return self._running.follow(None, self._t_ns)

    def _stay(self) -> HandOver:
        """Hand over the pose that the object has: the controller that goes alone then holds what it commands."""
        assert self._q is not None
        q, u = np.array([self._q, self._q]), np.array([self._u, self._u])
        plan = Plan(np.array([0.0, STOP_S]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)))
        return self._running.follow(plan, self._t_ns + START_DELAY_NS)

    def _forget_goals(self) -> None:
        self._number += 1  # what is being searched is not wanted any more
        self._next = None
        self._tries = 0
        self.way.forget()
