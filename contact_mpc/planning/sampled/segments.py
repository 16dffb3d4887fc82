"""Parts of a way by random motions in a physics engine: from where the object rests, the best of many leads on.

The model of trees finds where fingers could move an object; with many contacts that slide, roll and break at once
physics seldom follows. Here nothing is foretold by a model: random motions of fingers (`random_motions`) are rolled
out in the engine from the state at rest, the best are rolled out in draws of friction, mass and size, and the best of
those is varied. A part is handed out where it leads nearer to the goal in the median of the draws, at rest; then it
begins anew from where the object really is. Near the goal the commands in force are corrected by least squares before
motions are drawn.

Slides that carry the whole robot bring what it holds anywhere. There the object is turned first, and the slides go to
the goal with it then: a motion costs sum_i w_i |turn_i| + w max(|shift in the hand| - free, 0) / L until the turn is
within its tolerance, or within twice of it where the object is not at its place, and else the distance in the global
metric. Turns about horizontal axes, which gravity undoes, weigh more than those about the vertical.

Wrong where every way leads away from the goal first, by more than one motion: it goes to where nothing leads nearer.

Source: T. Howell, N. Gileadi, S. Tunyasuvunakool, K. Zakka, T. Erez, Y. Tassa, "Predictive sampling: real-time
behaviour synthesis with MuJoCo", 2022, section on predictive sampling; here from rest to rest, in several draws.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from contact_mpc.planning.sampled.random_motions import RandomMotions
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.problem import Problem, lost_object, with_goal
from contact_mpc.planning.tree.segments import Physics, has_arrived, object_distance, standing_still, tolerances
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import Segment

NOMINAL, OTHERS, ALL = slice(0, 1), slice(1, None), slice(None)


class RolledPhysics(Physics, Protocol):
    """An engine that rolls many commands out."""

    def ends(self, q: FloatArray, times_s: FloatArray, u: FloatArray, settle_s: float, draws: slice) -> FloatArray:
        """Return where commands u (m, n, n_a) at times_s (n,) lead from rest at q (n_q,) in draws: (m, draws, n_q)."""
        ...


@dataclass(frozen=True)
class Found:
    """The change d (2, n_a) of a motion, and what its draws are judged by, rad."""

    d: FloatArray
    score: float


class SampledSegments:
    """A `SegmentPlanner` by random motions.

    Parameters
    ----------
    problem : Problem
        Goal, and how motions are drawn (`sampled`).
    physics : RolledPhysics
        The engine.
    is_tracked : bool
        Whether parts are tracked by feedback, or played.
    """

    def __init__(self, problem: Problem, physics: RolledPhysics, is_tracked: bool = True) -> None:
        self._problem, self._physics, self._is_tracked = problem, physics, is_tracked
        self._config, self._motions = problem.file.sampled or SampledConfig(), RandomMotions(problem)
        self._rng, self._parts, self._mends_left = np.random.default_rng(0), 0, problem.file.parts.mends
        self._shakes_left, self._turns_first = self._config.shakes, False
        self._weight = _turn_weight(problem, self._config.tilt_weight)

    def begin(self, plan: Plan) -> None:
        """Go to the goal that a plan was made for."""
        objects = plan.provenance.get("parameters", {}).get("objects", {})
        self._problem = with_goal(self._problem, {name: item["goal"] for name, item in objects.items()})
        self._rng, self._parts = np.random.default_rng(int(plan.provenance.get("seed", 0))), 0
        self._mends_left, self._shakes_left = self._problem.file.parts.mends, self._config.shakes

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """Return the motion that is due from the state q (n_q,) under the command u (n_a,); None at the goal."""
        problem, config, parts = self._problem, self._config, self._problem.file.parts
        if has_arrived(problem, q):
            return None
        if reason := lost_object(problem, q):
            return Segment(None, reason=reason)
        before = self._distance(q)
        if before <= config.near_rad and self._mends_left > 0:
            self._mends_left -= 1
            goal = problem.configuration(problem.goal_u)
            still = standing_still(q, u, parts.mend_s)
            found = self._physics.corrected(problem, q, still, goal, parts.last_rad)
            if found.error <= config.corrected * found.error_before:
                return self._hand_out(found.plan, "corrected", before, found.error)
        self._turns_first = self._has_to_turn(q)
        before = self._cost(q)
        for _ in range(config.tries):
            plan, expected = self._rested(q, u, self._search(q, u))
            if expected <= before - max(config.least_gain_rad, config.least_gain * before):
                self._mends_left = parts.mends
                return self._hand_out(plan, "turned" if self._turns_first else "brought", before, expected)
        while self._shakes_left > 0:
            self._shakes_left -= 1
            plan, expected = self._rested(q, u, self._other_posture(q, u))
            if expected <= before + config.most_loss_rad:
                return self._hand_out(plan, "fingers elsewhere", before, expected)
        count = config.samples * config.tries
        return Segment(None, reason=f"none of {count} random motions leads nearer to the goal, {before:.2f} rad away")

    def _hand_out(self, plan: Plan, what: str, before: float, expected: float) -> Segment:
        self._parts += 1
        note = f"part {self._parts}, {what}, {before:.3f} rad off, foretold {expected:.3f}"
        rest_s, has_slides = self._problem.file.parts.rest_s, len(self._motions.slides) > 0
        return Segment(plan, self._is_tracked, rest_s=rest_s, note=note, has_free_slides=has_slides)

    def _has_to_turn(self, q: FloatArray) -> bool:
        """Whether slides may bring the object to its place later, because it has to turn first."""
        (angle, distance), (most_deg, most_mm) = self._problem.errors(q), tolerances(self._problem)
        share = self._problem.file.parts.arrived * (self._config.turned if distance > most_mm else 1.0)
        return bool(len(self._motions.slides)) and angle > share * most_deg

    def _other_posture(self, q: FloatArray, u: FloatArray) -> Found:
        """Return a motion in which fingers go to other postures: from there other things can be done.

        Of those that move the object in the nominal draw, and cost little, some are taken at random.
        """
        config, before = self._config, self._cost(q)
        d = self._motions.draw(self._rng, u, config.samples, postures=1.0)
        change = self._costs(q, u, d, NOMINAL)[:, 0] - before
        allowed = np.flatnonzero((change <= config.most_loss_rad) & (np.abs(change) > config.least_gain * before))
        if not len(allowed):
            return Found(d[0], np.inf)
        return self._decide(q, u, d[self._rng.permutation(allowed)[: config.elsewhere]])

    def _search(self, q: FloatArray, u: FloatArray) -> Found:
        """Return the best of many random motions, and of rounds that vary it."""
        config, rng = self._config, self._rng
        if self._turns_first or not len(self._motions.slides):
            scale = float(np.clip(self._cost(q) / config.full_rad, config.least_scale, 1.0))
            d = self._motions.draw(rng, u, config.samples, scale)
        else:
            carried = self._motions.carried(self._way_m(q))
            d = np.vstack([carried[None], self._motions.vary(rng, carried, config.variation_rad, config.variations)])
        best = self._decide(q, u, d)
        spread_rad = config.variation_rad
        for _ in range(config.rounds):
            found = self._decide(q, u, self._motions.vary(rng, best.d, spread_rad, config.variations))
            if found.score < best.score:
                best = found
            else:
                spread_rad *= 0.5
        return best

    def _decide(self, q: FloatArray, u: FloatArray, d: FloatArray) -> Found:
        """Return the best of motions d (m, 2, n_a): the nominal draw names finalists, all draws decide."""
        config = self._config
        nominal = self._costs(q, u, d, NOMINAL)
        finalists = np.argsort(nominal[:, 0], kind="stable")[: config.finalists]
        costs = np.concatenate([nominal[finalists], self._costs(q, u, d[finalists], OTHERS)], axis=1)
        scores = np.mean(costs, axis=1) + config.spread_weight * np.std(costs, axis=1)
        k = int(np.argmin(scores))
        return Found(d[finalists[k]], float(scores[k]))

    def _rested(self, q: FloatArray, u: FloatArray, best: Found) -> tuple[Plan, float]:
        """Return a motion as a plan, and the median of what its draws cost where objects have come to rest."""
        commands = self._motions.commands(u, best.d[None])
        ends = self._physics.ends(q, self._motions.times_s, commands, self._config.rested_s, ALL)[0]
        plan = standing_still(q, u, self._config.motion_s, len(self._motions.times_s))
        plan.q[-1] = np.where(np.isfinite(ends[0]), ends[0], q)
        plan = replace(plan, times_s=self._motions.times_s, u=commands[0])
        return plan, float(np.median(np.nan_to_num([self._cost(end) for end in ends], nan=np.inf)))

    def _costs(self, q: FloatArray, u: FloatArray, d: FloatArray, draws: slice) -> FloatArray:
        """Return what motions d (m, 2, n_a) cost in draws, (m, draws): at most `lost_rad` more than the start."""
        most = self._cost(q) + self._config.lost_rad
        commands = self._motions.commands(u, d)
        ends = self._physics.ends(q, self._motions.times_s, commands, self._config.settle_s, draws)
        costs = np.array([self._cost(end) for end in ends.reshape(-1, ends.shape[-1])]).reshape(ends.shape[:2])
        return np.minimum(np.nan_to_num(costs, nan=most), most)

    def _cost(self, q: FloatArray) -> float:
        """Return how far the object of q (n_q,) is from its goal, rad; see the module."""
        if not self._turns_first:
            return self._distance(q)
        problem, config = self._problem, self._config
        goal = problem.configuration(problem.goal_u)
        e = problem.system.difference(goal, q)[: problem.system.n_v_u]
        turn = float(self._weight @ np.abs(e[problem.turns]))
        shift_m = float(np.linalg.norm(self._in_hand_m(q) - self._in_hand_m(problem.configuration(problem.start_u))))
        return float(turn + config.shift_weight * max(shift_m - config.free_shift_m, 0.0) / problem.file.rrt.length_m)

    def _distance(self, q: FloatArray) -> float:
        return object_distance(self._problem, q, self._problem.configuration(self._problem.goal_u))

    def _way_m(self, q: FloatArray) -> FloatArray:
        """Return the way (3,) of the object from q (n_q,) to its goal, m."""
        system = self._problem.system
        goal = self._problem.configuration(self._problem.goal_u)
        return np.asarray(system.object_pose(goal)[1] - system.object_pose(q)[1])

    def _in_hand_m(self, q: FloatArray) -> FloatArray:
        """Return the position (3,) of the object of q (n_q,) less that of the slides, m."""
        system, motions = self._problem.system, self._motions
        position = system.object_pose(q)[1].copy()
        position[motions.axes] -= q[system.n_q_u + motions.slides]
        return position


def _turn_weight(problem: Problem, tilt_weight: float) -> FloatArray:
    """Return the weight of each turn of the objects: `tilt_weight` where it is of a free body, across gravity."""
    gravity = np.array(problem.system.config.gravity_m_s2)
    count = int(np.count_nonzero(problem.turns))
    strength = float(np.linalg.norm(gravity))
    if strength == 0.0 or count != len(gravity):
        return np.ones(count)
    return np.asarray(tilt_weight + (1.0 - tilt_weight) * np.abs(gravity) / strength)
