"""The parts of a tree's plan, one at a time, and a new plan from the measured state where one has missed its end.

A tree's plan is exact in its own model. In physics each grasp moves the object a little differently, and what follows
was planned about an object that is elsewhere. So the plan is handed out in parts, from one change of grasp to the
next. Before each part the object must be near where the plan has it; otherwise trees are grown anew from where it is.
Errors then do not add up along the way, and the last of them is what a short plan makes.

Where physics is given, each part is corrected in it before it is handed out, until it ends where the plan has it
(`contact_mpc.loop.parts.correction`); long parts are cut in pieces, so that errors do not add up along them. Where the
object is elsewhere all the same, the grasp that it is in is asked first to bring it there, or on to the goal where the
object is nearer to that than the plan has it.

New plans start at the measured state and the command in force, so that what presses goes on pressing: at the state
to which the unsmoothed model comes to rest from there, which has no penetrations left that soft contacts or an
estimate that is off may show. Where that model, whose friction is the least of plants, moves the object away although
it rests, or no tree leads nearer to the goal from there, as from a hand that is wedged in, the plan starts from a
command that presses less, and the joints go there during its first part.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, repeat
from typing import Protocol

import numpy as np

from contact_mpc.dynamics.analysis.overlap import without_overlap
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import InputError, PlanError
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.planning.tree.plan import FREE_S, GlobalPlan, plan_due
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import Problem, lost_object, with_goal, with_tolerances
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import Segment

SEED_STEP = 7_919_000_000  # between the seeds of plans that follow one another


@dataclass(frozen=True)
class Corrected:
    """A part with corrected commands, and how far the object ends from its target, global metric, before and after."""

    plan: Plan
    error_before: float
    error: float


class Physics(Protocol):
    """A physics engine that parts are corrected in."""

    def corrected(
        self, problem: Problem, q: FloatArray, plan: Plan, target: FloatArray, enough_rad: float
    ) -> Corrected:
        """Return a plan whose object ends within enough_rad of that of `target` (n_q,), played from rest at q.

        The distance is that of the global metric; where it cannot be, the object ends as near as was found.
        """
        ...

    def arriving(self, plan: Plan) -> Plan:
        """Return a plan of free joints whose commands lead by as much as drives are known to hold joints back."""
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


def has_arrived(problem: Problem, q: FloatArray) -> bool:
    """Whether the object of q (n_q,) is within the share `parts.arrived` of the tolerances of its goal."""
    within, share = tolerances(problem), problem.file.parts.arrived
    return all(error <= share * most for error, most in zip(problem.errors(q), within, strict=True))


def tolerances(problem: Problem) -> tuple[float, float]:
    """Return the tolerances of arrival, deg and mm: the problem's, or those of `parts` where tighter."""
    file, parts = problem.file, problem.file.parts
    return min(parts.most_deg, file.tolerance_deg), min(parts.most_mm, file.tolerance_mm)


def standing_still(q: FloatArray, u: FloatArray, time_s: float, rows: int = 4) -> Plan:
    """Return a plan of so many rows that keeps the state q (n_q,) and the command u (n_a,)."""
    times_s = np.linspace(0.0, time_s, rows)
    nothing = np.zeros((rows, len(u)))
    return Plan(times_s, np.tile(q, (rows, 1)), np.tile(u, (rows, 1)), nothing, np.zeros((rows, 0, 3)), {})


def cut_long(problem: Problem, parts: list[Part]) -> list[Part]:
    """Return parts of which those in a grasp move the object by `piece_rad` at most, as far as their rows allow."""
    pieces = []
    for part in parts:
        q = part.plan.q
        steps = [0.0, *(object_distance(problem, b, a) for a, b in zip(q[:-1], q[1:], strict=True))]
        way = np.cumsum(steps)
        count = 1 if part.is_free else max(1, int(np.ceil(way[-1] / problem.file.parts.piece_rad)))
        edges = np.unique(np.searchsorted(way, way[-1] * np.arange(1, count) / count))
        rows = [0, *(int(k) for k in edges if 0 < k < len(q) - 1), len(q) - 1]
        for first, last in zip(rows[:-1], rows[1:], strict=True):
            pieces.append(Part(part.plan.rows(slice(first, last + 1)), part.is_free))
    return pieces


def split_plan(plan: Plan) -> list[Part]:
    """Return the parts of a plan, whose provenance tells when fingers are free; one part where it does not."""
    edges = [0.0, *np.ravel(plan.provenance.get(FREE_S, [])).tolist(), float(plan.times_s[-1])]
    parts = []
    for k, (first, last) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        rows = (plan.times_s >= first - 1e-6) & (plan.times_s <= last + 1e-6)
        if np.count_nonzero(rows) > 1:
            parts.append(Part(plan.rows(rows), k % 2 == 1))
    return parts


def shifted(part: Part, u: FloatArray, released: FloatArray | None = None) -> Plan:
    """Return a part whose commands begin at u (n_a,): in a grasp all are shifted alike, that it may press as it does.

    Free fingers end where the plan has them, for the next grasp is one of its own; and so much of the pressing as is
    `released` (n_a,), rad, is gone at the end.
    """
    times_s = part.plan.times_s
    goes = 1.0 - times_s / times_s[-1]
    share = goes if part.is_free else np.ones(len(times_s))
    less = np.zeros_like(u) if released is None else released
    shift = share[:, None] * (u - less - part.plan.u[0]) + goes[:, None] * less
    return replace(part.plan, u=part.plan.u + shift)


def _failure(failed: int, no_plan: str) -> str:
    """Return why no part is handed out: plans that fail in physics, and why there was no other to be tried."""
    plans = "1 plan fails" if failed == 1 else f"{failed} plans fail"
    return f"{plans} in physics" + (f"; no further plan: {no_plan}" if no_plan else "")


def _foretold(found: Corrected) -> str:
    """Return how far off a corrected part is expected to end."""
    return f"foretold {found.error:.3f} rad off"


class TreeSegments:
    """A `SegmentPlanner` of tree plans.

    Parameters
    ----------
    problem : Problem
        Goal, and how trees grow.
    is_tracked : bool
        Whether parts in a grasp are tracked by feedback, or played.
    physics : Physics, optional
        What parts are corrected in.
    plans_again : bool
        Whether what misses is mended and planned again; else the plan goes on, and ends where it ends.
    """

    def __init__(
        self, problem: Problem, is_tracked: bool = True, physics: Physics | None = None, plans_again: bool = True
    ) -> None:
        self.problem, self._is_tracked, self._physics, self._plans_again = problem, is_tracked, physics, plans_again
        self._planner: TreePlanner | None = None
        self._config = config = problem.file.parts
        self._tolerances = tolerances(problem)
        self._parts: list[Part] = []
        self._end = problem.configuration(problem.goal_u)  # where the last of them shall lead, n_q
        self._seed, self._mends_left = 0, self._config.mends
        self._plans = 1
        self._released: FloatArray | None = None  # of the command in force, by the first part of a new plan
        self._aim: FloatArray | None = None  # where the part that was handed out last should end
        self._nodes_left: int | None = None  # of trees from the present state; None: each has its own
        self._search_left = self._search_nodes = round(config.searches * problem.file.rrt.nodes)  # of all trees to come

    def begin(self, plan: Plan) -> None:
        """Follow a plan from its start to the goal that it was made for."""
        objects = plan.provenance.get("parameters", {}).get("objects", {})
        self.problem = with_goal(self.problem, {name: item["goal"] for name, item in objects.items()})
        self._planner, self._mends_left, self._plans = None, self._config.mends, 1
        self._aim = self._released = None
        self._search_left = self._search_nodes
        self._parts, self._seed = self._split(plan), int(plan.provenance.get("seed", 0))
        self._end = self.problem.configuration(self.problem.goal_u)

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """Return the part that is due from the state q (n_q,) under the command u (n_a,); None at the goal."""
        came = ""
        if self._aim is not None:
            came = f"; the one before ended {object_distance(self.problem, q, self._aim):.3f} rad off"
        segment = self._next(q, u)
        return segment if segment is None or segment.plan is None else replace(segment, note=segment.note + came)

    def _next(self, q: FloatArray, u: FloatArray) -> Segment | None:
        if has_arrived(self.problem, q):
            self._parts = []
            return None
        if reason := lost_object(self.problem, q):
            self._parts = []
            return Segment(None, reason=reason)
        if not self._plans_again and not self._parts:
            return Segment(None, reason="the plan has ended")
        goal = self.problem.configuration(self.problem.goal_u)
        is_near = object_distance(self.problem, q, goal) <= self._config.near_rad
        self._nodes_left = self._config.near_nodes if is_near else None
        target = self._parts[0].plan.q[0] if self._parts else goal
        if self._plans_again and (not self._parts or object_distance(self.problem, q, target) > self._config.off_rad):
            gain = object_distance(self.problem, target, goal) - object_distance(self.problem, q, goal)
            if gain > self._config.off_rad:
                target, self._parts = goal, []  # the object is beyond: nothing brings it back
            mended = self._mended(q, u, target)
            if mended is not None:
                self._aim = target
                return self._hand_out(mended.plan, False, f"mended, {_foretold(mended)}")
            reason = self._plan_again(q, u)
            if reason:
                return Segment(None, reason=reason)
        self._mends_left = self._config.mends
        if self._physics is None:
            part = self._parts.pop(0)
            self._aim = part.plan.q[-1]
            return self._hand_out(self._shifted(part, u), part.is_free, self._describe(part))
        return self._corrected(self._physics, q, u)

    def _corrected(self, physics: Physics, q: FloatArray, u: FloatArray) -> Segment:
        """Return the next part as corrected in physics; where it fails there, that of a new plan, or the least bad."""
        most = max(self._config.refusals, self._config.last_refusals)
        least, best = 1.0 if self._plans_again else np.inf, Segment(None)
        best_parts: list[Part] = []
        best_end = self._end
        failed, reason = 0, ""
        for count in range(most if self._plans_again else 1):
            if count >= self._config.refusals and best.plan is not None:
                break
            if count > 0 and (reason := self._plan_again(q, u)):
                break
            part = self._parts.pop(0)
            target = part.plan.q[-1] if self._parts else self._end
            enough = self._config.free_rad if part.is_free else self._enough()
            plan = self._shifted(part, u)
            plan = physics.arriving(plan) if part.is_free else plan
            found = physics.corrected(self.problem, q, plan, target, enough)
            left = found.error / max(self._config.off_rad / self._config.left, object_distance(self.problem, q, target))
            failed += 1
            if left < least:
                note = f"{self._describe(part)}, {_foretold(found)}"
                self._aim = target
                least, best = left, self._hand_out(found.plan, part.is_free, note)
                best_parts, best_end = self._parts, self._end
            if left <= self._config.left:
                break
        self._parts, self._end = best_parts, best_end
        return best if best.plan is not None else Segment(None, reason=_failure(failed, reason))

    def _enough(self) -> float:
        """Return the error of a part in a grasp that is left as it is."""
        goal = self.problem.configuration(self.problem.goal_u)
        is_last = not self._parts and object_distance(self.problem, self._end, goal) == 0.0
        return self._config.last_rad if is_last else self._config.held_rad

    def _hand_out(self, plan: Plan, is_free: bool, note: str) -> Segment:
        return Segment(plan, self._is_tracked and not is_free, rest_s=self._config.rest_s, note=note)

    def _shifted(self, part: Part, u: FloatArray) -> Plan:
        """Return a part that begins at u (n_a,), within the joint limits where its plan and u are."""
        released, self._released = self._released, None
        system, found = self.problem.system, shifted(part, u, released)
        lower = np.minimum(system.q_min, np.minimum(part.plan.u, u))
        upper = np.maximum(system.q_max, np.maximum(part.plan.u, u))
        return replace(found, u=np.clip(found.u, lower, upper))

    def _describe(self, part: Part) -> str:
        """Return which part it is; those after it are in `_parts`."""
        what = "fingers move freely" if part.is_free else "a grasp moves the object"
        return f"plan {self._plans}, {what}, {len(self._parts)} parts left"

    def _mended(self, q: FloatArray, u: FloatArray, target: FloatArray) -> Corrected | None:
        """Return commands by which the present grasp brings the object to that of a target; None where it cannot."""
        is_near = object_distance(self.problem, q, target) <= self._config.piece_rad
        if self._physics is None or self._mends_left == 0 or not is_near:
            return None
        self._mends_left -= 1
        still = standing_still(q, u, self._config.mend_s)
        found = self._physics.corrected(self.problem, q, still, target, self._enough())
        is_enough = found.error <= max(self._enough(), self._config.mended * found.error_before)
        return found if is_enough else None

    def _plan_again(self, q: FloatArray, u: FloatArray) -> str:
        """Put the parts of a plan from (q, u) in place of those left; return why there is none, "" where there is."""
        if self._planner is None:
            tolerances = (self._config.planned * item for item in self._tolerances)
            self._planner = TreePlanner(with_tolerances(self.problem, *tolerances))
        goal, reason = self._planner.goal, ""
        left = object_distance(self.problem, q, goal)
        self._parts, self._released = [], None
        for start in islice(self._starts(q, u), self._config.attempts):
            if self._nodes_left is not None and self._nodes_left <= 0:
                return reason or f"{self._config.near_nodes} nodes of trees lead no nearer to the goal"
            if self._search_left <= 0:
                return f"the {self._search_nodes} nodes that trees of one motion may have are used up"
            self._seed += SEED_STEP
            try:
                found = self._grow(start)
            except (InputError, PlanError) as refusal:
                reason = str(refusal)
                continue
            plan = found.plan
            error = object_distance(self.problem, plan.q[-1], goal)
            if len(plan.times_s) < 2 or error >= left:
                reason = reason or "no tree gets nearer to the goal"
                continue
            self._parts, self._released = self._split(plan), u - start[1]
            self._end = found.problem.configuration(found.problem.goal_u)
            self._plans += 1
            return ""
        return reason

    def _grow(self, start: tuple[FloatArray, FloatArray]) -> GlobalPlan:
        """Return the plan of trees from (q, u); near the goal they share the nodes that are left."""
        assert self._planner is not None
        rrt, least = self._planner.problem.file.rrt, self._planner.problem.file.search.least_charge
        self._search_left -= least  # where it is refused
        if self._nodes_left is None:
            found = plan_due(self._planner, self._seed, start=start)
        else:
            nodes = min(self._nodes_left, rrt.nodes)
            self._nodes_left -= least
            found = plan_due(self._planner, self._seed, nodes, start=start)
            self._nodes_left -= sum(len(grown.tree.q) for grown in found.trees)
        self._search_left -= sum(max(least, len(grown.tree.q)) for grown in found.trees)
        return found

    def _split(self, plan: Plan) -> list[Part]:
        """Return the parts of a plan; where physics corrects them, long ones in pieces."""
        parts = split_plan(plan)
        return parts if self._physics is None else cut_long(self.problem, parts)

    def _starts(self, q: FloatArray, u: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield where the unsmoothed model comes to rest from (q, u), out of overlaps, and under which command.

        The command is u, then ones that press less and less, the last of them for ever; those by which the object would
        leave its place are left out, but where all would: then the start is q. Overlaps that a tree may not begin in
        are those of nominal shapes with a measured state: the robot gives way. Contacts of the step are linearised, so
        that its end may overlap again (by 2.04 mm, the bimanual box).
        """
        assert self._planner is not None
        system, file = self.problem.system, self.problem.file
        ways = np.where(system.tree.dof_kind == REVOLUTE, 1.0, 1.0 / file.rrt.length_m**2)
        weight = np.where(np.arange(system.n_v) < system.n_v_u, file.parts.object_weight, 1.0) * ways
        deepest_m, model = file.parts.start_overlap * file.rrt.deepest_m, self._planner.model
        q = without_overlap(system, model, q, weight, deepest_m)
        dynamics = ContactDynamics(system, "socp", h_s=file.rrt.h_s, friction=file.friction)
        q_a = q[system.n_q_u :]
        commands = [u if share == 1.0 else q_a + share * (u - q_a) for share in file.parts.pressing]
        start: tuple[FloatArray, FloatArray] | None = None
        for command in commands:
            result = dynamics.step(q, command)
            if result.is_converged and object_distance(self.problem, result.q_next, q) <= file.parts.off_rad:
                start = (without_overlap(system, model, result.q_next.copy(), weight, deepest_m), command)
                yield start
        if start is None:
            yield from ((q, command) for command in commands)
            start = (q, commands[-1])
        yield from repeat(start)
