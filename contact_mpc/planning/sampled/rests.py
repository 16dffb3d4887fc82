"""Motions in a row, from rest to rest, to an object's goal in a physics engine: a tree that grows where it is nearest.

A node is a state at rest. From the one that has least left, random motions are rolled out (`motion_search`), and where
the best leads nearer to the goal, in the median of the draws, its end is a new node. Where none does, fingers go
elsewhere by one that costs little. A node counts as further away by a share for each time that motions left one whose
object lies nearly the same, and by as much again where it was that one, so that the tree goes on from other postures
and from earlier nodes. Near the goal the commands in force are corrected by least squares first.

Some trees arrive after a few lucky motions, others hardly ever: where some rests in a row lead no nearer, a new one
begins at the start.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from contact_mpc.planning.sampled.motion_search import ALL, Base, MotionSearch, RolledPhysics
from contact_mpc.planning.sampled.random_motions import RandomMotions
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.sampled.way_left import WayLeft
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import has_arrived, object_distance, standing_still
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

Order = tuple[bool, float]  # whether the object has to turn first, and what is left, rad


@dataclass(frozen=True)
class Step:
    """A motion from rest to rest: its plan, what it does, and what is left after it in the median of the draws."""

    plan: Plan
    what: str
    order: Order


@dataclass
class Rest:
    """A node: the state q (n_q,) under the command u (n_a,), how it was come to, and how often motions left it."""

    q: FloatArray
    u: FloatArray
    order: Order
    step: Step | None = None
    parent: "Rest | None" = None
    visits: int = 0


class Rests:
    """Grows trees of rests for one problem.

    Parameters
    ----------
    problem : Problem
        Its goal.
    physics : RolledPhysics
        The engine.
    rng : numpy.random.Generator
        What motions are drawn by.
    """

    def __init__(self, problem: Problem, physics: RolledPhysics, rng: np.random.Generator) -> None:
        self._problem, self._physics = problem, physics
        self._config, self._motions = problem.file.sampled or SampledConfig(), RandomMotions(problem)
        self.left = WayLeft(problem, self._motions)
        self._rng = rng
        self._search = MotionSearch(problem, physics, self._motions, self.left, rng)
        self.has_slides = len(self._motions.slides) > 0
        self.searched = 0  # nodes that motions were drawn from, of the last tree

    def way(
        self,
        q: FloatArray,
        u: FloatArray,
        expansions: int,
        to_goal: bool = True,
        report: Callable[[str], None] | None = None,
    ) -> list[Step]:
        """Return the motions from rest at q (n_q,) under u (n_a,) that lead nearest to the goal; none where none does.

        Motions are drawn from `expansions` rests at most, until one is at the goal, or else nearer to it than q.
        """
        order = self.left.order(q)

        def is_enough(rest: Rest) -> bool:
            return has_arrived(self._problem, rest.q) or (not to_goal and rest.order < order)

        self.searched, best = 0, Rest(q, u, order)
        while self.searched < expansions and not is_enough(best):
            tree, failed = [Rest(q, u, order)], 0
            nearest = tree[0]
            while self.searched < expansions and failed < self._config.failed_rests and not is_enough(best):
                self.searched += 1
                found = min((*self._expand(tree), nearest), key=lambda rest: rest.order)
                gains = found.order <= self._gained(nearest.order)
                nearest, failed = (found, 0) if gains else (nearest, failed + 1)
                best = min(best, found, key=lambda rest: rest.order)
                if report is not None:
                    has_to_turn, rad = nearest.order
                    what = "to turn" if has_to_turn else "left"
                    report(f"{self.searched} of {expansions} rests, {rad:.2f} rad {what}")
        steps, rest = list[Step](), best
        while rest.step is not None and rest.parent is not None:
            steps.append(rest.step)
            rest = rest.parent
        return steps[::-1]

    def _expand(self, tree: list[Rest]) -> list[Rest]:
        """Return where motions lead from the rest of a tree that counts as nearest, after they were added to it."""
        rest = min(tree, key=lambda rest: self._counts_as(rest, tree))
        steps = self._leave(rest)
        rest.visits += 1
        ends = [Rest(step.plan.q[-1], step.plan.u[-1], step.order, step, rest) for step in steps]
        tree += ends
        return ends

    def _counts_as(self, rest: Rest, tree: list[Rest]) -> Order:
        """Return what is left from a rest, more for each time that motions left it or one that lies nearly the same."""
        near_rad, share = self._config.visit_rad, self._config.visit_share
        visited = (other for other in tree if other.visits > 0)
        near = sum(other.visits for other in visited if object_distance(self._problem, rest.q, other.q) <= near_rad)
        return rest.order[0], rest.order[1] * (1.0 + share * (near + rest.visits))

    def _gained(self, order: Order) -> Order:
        """Return what has to be left at most after a motion from where so much was left, for it to lead nearer."""
        return order[0], order[1] - max(self._config.least_gain_rad, self._config.least_gain * order[1])

    def followed(self, step: Step, q: FloatArray, u: FloatArray) -> Step | None:
        """Return a step of an earlier way from rest at q (n_q,) under u (n_a,), varied where it has to be.

        It is varied where the object ends further than `follow_rad` from where it was to end, towards there: the steps
        after it begin there. None where neither leaves at most `follow_rad` more of the way than it was to leave.
        """
        most, target = self._config.follow_rad, step.plan.q[-1]
        fades = 1.0 - step.plan.times_s[:, None] / step.plan.times_s[-1]
        base = Base(q, step.plan.times_s, step.plan.u + fades * (u - step.plan.u[0]))
        again = [self._played(base, step.what)]
        if object_distance(self._problem, again[0].plan.q[-1], target) > most:
            to_target = WayLeft(self._problem, self._motions, target)
            search = MotionSearch(self._problem, self._physics, self._motions, to_target, self._rng)
            found = search.vary(base, self.left.has_to_turn(q))
            again.append(self._moved(base, found.d, f"{step.what}, varied"))
        follows = [item for item in again if item.order <= (step.order[0], step.order[1] + most)]
        return follows[-1] if follows else None

    def _leave(self, rest: Rest) -> list[Step]:
        """Return motions from a node; none where each loses too much."""
        config = self._config
        if rest.order[1] <= config.near_rad and rest.visits == 0:
            step = self._corrected(rest)
            if step is not None:
                return [step]
        turns_first = self.left.has_to_turn(rest.q)
        base = Base(rest.q, self._motions.times_s, np.tile(rest.u, (len(self._motions.times_s), 1)))
        found, elsewhere = self._search.best(base, turns_first)
        steps = [self._moved(base, item.d, "turned" if turns_first else "brought") for item in found]
        if nearer := [step for step in steps if step.order <= self._gained(rest.order)]:
            return nearer
        steps = [self._moved(base, d, "fingers elsewhere") for d in elsewhere[: config.elsewhere]]
        return [step for step in steps if step.order <= (rest.order[0], rest.order[1] + config.most_loss_rad)][:1]

    def _corrected(self, rest: Rest) -> Step | None:
        """Return the command in force as least squares correct it; None where that leaves too much.

        An object that has to turn first keeps to its place.
        """
        problem, parts, system = self._problem, self._problem.file.parts, self._problem.system
        still = standing_still(rest.q, rest.u, parts.mend_s)
        way = np.zeros(system.n_v)
        way[: system.n_v_u] = system.difference(rest.q, problem.configuration(problem.goal_u))[: system.n_v_u]
        if rest.order[0]:
            way[: system.n_v_u][~problem.turns] = 0.0
        found = self._physics.corrected(problem, rest.q, still, system.integrate(rest.q, way), parts.last_rad)
        if found.error > self._config.corrected * found.error_before:
            return None
        step = self._played(Base(rest.q, found.plan.times_s, found.plan.u), "corrected")
        return step if step.order <= rest.order else None

    def _moved(self, base: Base, d: FloatArray, what: str) -> Step:
        return self._played(replace(base, u=self._motions.added(base.times_s, base.u, d[None])[0]), what)

    def _played(self, base: Base, what: str) -> Step:
        """Return the step that commands make, in the median of the draws where objects have come to rest.

        One that loses the object in any draw counts as lost.
        """
        ends = self._physics.ends(base.q, base.times_s, base.u[None], self._config.rested_s, ALL)[0]
        orders = [self.left.order(end) for end in ends]
        plan = standing_still(base.q, base.u[0], float(base.times_s[-1]), len(base.times_s))
        plan.q[-1] = np.where(np.isfinite(ends[0]), ends[0], base.q)
        worst, median = max(orders), sorted(orders)[len(orders) // 2]
        order = worst if np.isinf(worst[1]) else max(orders[0], median)
        return Step(replace(plan, times_s=base.times_s, u=base.u), what, order)
