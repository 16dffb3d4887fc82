"""The parts of a tree's plan, one at a time, and a new plan from the measured state where one has missed its end.

A tree's plan is exact in its own model. In physics each grasp moves the object a little differently, and what follows
was planned about an object that is elsewhere. So the plan is handed out in parts, from one change of grasp to the
next. Before each part the object must be near where the plan has it; otherwise trees are grown anew from where it is.
Errors then do not add up along the way, and the last of them is what a short plan makes.

Where physics is given, several trees are grown each time, and their plans are rolled out in several draws of it: the
one that comes nearest to the goal on average is followed.

New plans start at the measured state and the command in force, so that what presses goes on pressing: at the state
to which the unsmoothed model comes to rest from there, which has no penetrations left that soft contacts or an
estimate that is off may show.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import InputError, PlanError
from contact_mpc.planning.tree.plan import plan_globally
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import Problem, with_goal, with_tolerances
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import Segment

ARRIVED = 0.7  # tolerances of the goal within which the object has arrived: estimates are noisy
PLANNED = 0.4  # tolerances within which new plans shall end
MOST_DEG, MOST_MM = 5.0, 10.0  # tolerances of arrival, or the problem's where tighter
OFF_RAD = 0.08  # error of the object, global metric, from which the rest of a plan is left
REST_S = 3.0  # longest wait for the object to come to rest after a part
ATTEMPTS = 4  # seeds tried from one state before there is said to be no plan
CANDIDATES = 3  # plans that physics chooses among
SEED_STEP = 7_919_000_000  # between the seeds of plans that follow one another
FREE_S = "free_s"  # of a plan's provenance: intervals between grasps, s


class Physics(Protocol):
    """Tells where commands lead in a physics engine."""

    def follow(self, q: FloatArray, plan: Plan) -> FloatArray:
        """Return where a plan's commands lead from rest at q (n_q,), in several draws of the world: (draws, n_q)."""
        ...


@dataclass(frozen=True)
class Part:
    """Rows of a plan between two changes of grasp; is_free: fingers move, the object rests."""

    plan: Plan
    is_free: bool


def object_distance(problem: Problem, q: FloatArray, q_ref: FloatArray) -> float:
    """Return the distance between the objects of two configurations (n_q,) in the global metric, rad."""
    e = problem.system.difference(q_ref, q)[: problem.system.n_v_u]
    weight = np.where(problem.turns, 1.0, 1.0 / problem.file.rrt.length_m**2)
    return float(np.sqrt(np.sum(weight * e**2)))


def split_plan(plan: Plan) -> list[Part]:
    """Return the parts of a plan, whose provenance tells when fingers are free; one part where it does not."""
    edges = [0.0, *np.ravel(plan.provenance.get(FREE_S, [])).tolist(), float(plan.times_s[-1])]
    parts = []
    for k, (first, last) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        rows = (plan.times_s >= first - 1e-6) & (plan.times_s <= last + 1e-6)
        if np.count_nonzero(rows) > 1:
            parts.append(Part(_cut(plan, rows), k % 2 == 1))
    return parts


def _cut(plan: Plan, rows: NDArray[np.bool_]) -> Plan:
    times_s = plan.times_s[rows]
    return Plan(
        times_s - times_s[0], plan.q[rows], plan.u[rows], plan.tau_ff[rows], plan.contact_impulses[rows],
        plan.provenance,
    )  # fmt: skip


class TreeSegments:
    """A `SegmentPlanner` of tree plans.

    Parameters
    ----------
    problem : Problem
        Goal, and how trees grow.
    is_tracked : bool
        Whether parts in a grasp are tracked by feedback, or played.
    physics : Physics, optional
        What chooses among plans.
    """

    def __init__(self, problem: Problem, is_tracked: bool = True, physics: Physics | None = None) -> None:
        self.problem, self._is_tracked, self._physics = problem, is_tracked, physics
        self._planner: TreePlanner | None = None
        self._tolerances = min(MOST_DEG, problem.file.tolerance_deg), min(MOST_MM, problem.file.tolerance_mm)
        self._parts: list[Part] = []
        self._seed = 0

    def begin(self, plan: Plan) -> None:
        """Follow a plan from its start to the goal that it was made for."""
        objects = plan.provenance.get("parameters", {}).get("objects", {})
        self.problem = with_goal(self.problem, {name: item["goal"] for name, item in objects.items()})
        self._planner = None
        self._parts, self._seed = split_plan(plan), int(plan.provenance.get("seed", 0))

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """Return the part that is due from the state q (n_q,) under the command u (n_a,); None at the goal."""
        angle, distance = self.problem.errors(q)
        if angle <= ARRIVED * self._tolerances[0] and distance <= ARRIVED * self._tolerances[1]:
            self._parts = []
            return None
        if not self._parts or object_distance(self.problem, q, self._parts[0].plan.q[0]) > OFF_RAD:
            reason = self._plan_again(q, u)
            if reason:
                return Segment(None, reason=reason)
        part = self._parts.pop(0)
        plan = replace(part.plan, u=np.vstack([u, part.plan.u[1:]]))
        return Segment(plan, self._is_tracked and not part.is_free, rest_s=REST_S)

    def _plan_again(self, q: FloatArray, u: FloatArray) -> str:
        """Put the parts of a plan from (q, u) in place of those left; return why there is none, "" where there is."""
        if self._planner is None:
            self._planner = TreePlanner(with_tolerances(self.problem, *(PLANNED * item for item in self._tolerances)))
        start, reason = (self._at_rest(q, u), u), ""
        goal = self._planner.goal
        left, best = object_distance(self.problem, q, goal), np.inf
        found = 0
        self._parts = []
        for _ in range(ATTEMPTS):
            self._seed += SEED_STEP
            try:
                plan = plan_globally(self._planner, self._seed, start=start).plan
            except (InputError, PlanError) as refusal:
                reason = str(refusal)
                continue
            error = object_distance(self.problem, plan.q[-1], goal)
            if len(plan.times_s) < 2 or error >= left:
                reason = reason or "no tree gets nearer to the goal"
                continue
            found += 1
            if self._physics is not None:
                error = self._error_in_physics(q, u, plan)
            if error < best:
                best, self._parts = error, split_plan(plan)
            if self._physics is None or found == CANDIDATES or best <= OFF_RAD:
                break
        return "" if self._parts else reason

    def _error_in_physics(self, q: FloatArray, u: FloatArray, plan: Plan) -> float:
        """Return the mean error to the goal at the end of a plan that is played from (q, u)."""
        assert self._physics is not None
        ends = self._physics.follow(q, replace(plan, u=np.vstack([u, plan.u[1:]])))
        goal = self.problem.configuration(self.problem.goal_u)
        return float(np.mean([object_distance(self.problem, end, goal) for end in ends]))

    def _at_rest(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """Return where the unsmoothed model comes to rest from (q, u); q where it has no next state."""
        file = self.problem.file
        result = ContactDynamics(self.problem.system, "socp", h_s=file.rrt.h_s, friction=file.friction).step(q, u)
        return np.array(result.q_next) if result.is_converged else q
