"""One random motion from rest to rest: the best of many in a physics engine, and one that only moves fingers.

Random motions (`random_motions`) are rolled out in the nominal draw, which ranks them; the best are rolled out in all
draws of friction, mass and size, whose mean and standard deviation decide; the best of those is varied. What
variations do to the object tells by least squares where to go from it, which is tried at several lengths.

Source: T. Howell, N. Gileadi, S. Tunyasuvunakool, K. Zakka, T. Erez, Y. Tassa, "Predictive sampling: real-time
behaviour synthesis with MuJoCo", 2022, section on predictive sampling; here from rest to rest, in several draws.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from contact_mpc.optimisation.least_squares import least_squares_step
from contact_mpc.planning.sampled.random_motions import RandomMotions
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.sampled.way_left import WayLeft
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import Physics
from contact_mpc.settings.arrays import FloatArray

NOMINAL, ALL = slice(0, 1), slice(None)


class RolledPhysics(Physics, Protocol):
    """An engine that rolls many commands out."""

    def ends(
        self,
        q: FloatArray,
        times_s: FloatArray,
        u: FloatArray,
        settle_s: float,
        draws: slice,
        step_s: float | None = None,
    ) -> FloatArray:
        """Return where commands u (m, n, n_a) at times_s (n,) lead from rest at q (n_q,) in draws: (m, draws, n_q).

        In steps of step_s, s, or the engine's own.
        """
        ...


@dataclass(frozen=True)
class Base:
    """What motions are added to: commands u (n, n_a) at instants (n,), s, from the state q (n_q,) at rest."""

    q: FloatArray
    times_s: FloatArray
    u: FloatArray


@dataclass(frozen=True)
class Found:
    """The change d (2, n_a) of a motion, and what its draws are judged by, rad."""

    d: FloatArray
    score: float


class MotionSearch:
    """Finds motions for one problem.

    Parameters
    ----------
    problem, physics, motions, left
        What moves, in which engine, by which motions, to where.
    rng : numpy.random.Generator
        What motions are drawn by.
    """

    def __init__(
        self, problem: Problem, physics: RolledPhysics, motions: RandomMotions, left: WayLeft, rng: np.random.Generator
    ) -> None:
        self._config = problem.file.sampled or SampledConfig()
        self._physics, self._motions, self._left, self._rng = physics, motions, left, rng

    def best(self, base: Base, turns_first: bool) -> tuple[list[Found], list[FloatArray]]:
        """Return the best of many motions, and which of them only move fingers elsewhere.

        The first are the best of rounds that vary the best of them, and those that come next to that. The second are
        changes (2, n_a) by which the object moves, but what is left grows by `most_loss_rad` at most.
        """
        config, rng = self._config, self._rng
        before = self._left.rad(base.q, turns_first)
        scale = float(np.clip(before / config.full_rad, config.least_scale, 1.0))
        d = self._motions.draw(rng, base.u[0], config.samples, scale)
        is_carried = not turns_first and len(self._motions.slides) > 0
        if is_carried:
            carried = self._motions.carried(self._left.object_way_m(base.q))
            d = np.vstack([carried[None], self._motions.vary(rng, carried, config.variation_rad, config.variations), d])
        nominal = self._costs(base, d, turns_first, NOMINAL)[:, 0]
        change = nominal - before
        moves = (change <= config.most_loss_rad) & (np.abs(change) > config.least_gain * before)
        moves &= not is_carried or before <= config.near_rad
        elsewhere = [d[k] for k in rng.permutation(np.flatnonzero(moves))]
        found = self._decide(base, d, nominal, turns_first, config.finalists)
        return [self._varied(base, found[0], turns_first, config.rounds), *found[1 : config.children]], elsewhere

    def vary(self, base: Base, turns_first: bool) -> Found:
        """Return the best of variations of what is commanded."""
        return self._varied(base, Found(np.zeros((2, base.u.shape[1])), np.inf), turns_first, 1)

    def _varied(self, base: Base, best: Found, turns_first: bool, rounds: int) -> Found:
        """Return the best of rounds that vary it, the next ones by half as much where one finds nothing."""
        config, spread_rad, failed = self._config, self._config.variation_rad, 0
        for _ in range(rounds):
            varied = self._motions.vary(self._rng, best.d, spread_rad, config.variations)
            d, nominal = self._with_steps(base, np.vstack([best.d[None], varied]), turns_first)
            found = self._decide(base, d, nominal, turns_first, config.varied_finalists)[0]
            if found.score < best.score:
                best, failed = found, 0
            else:
                spread_rad, failed = 0.5 * spread_rad, failed + 1
            if failed == config.failed_rounds:
                break
        return best

    def _with_steps(self, base: Base, d: FloatArray, turns_first: bool) -> tuple[FloatArray, FloatArray]:
        """Return motions d (m, 2, n_a), whose first the others vary, and steps from it; and what is left, (m + k,)."""
        ends = self._ends(base, d, NOMINAL)
        nominal = self._judged(base, ends, turns_first)[:, 0]
        is_known = np.all(np.isfinite(ends[:, 0]), axis=1)
        if not is_known[0] or not np.any(is_known[1:]):
            return d, nominal
        errors = np.array([self._left.error(end, turns_first) for end in ends[is_known, 0]])
        changes = ((d[is_known] - d[0]) / self._motions.scale).reshape(len(errors), -1)
        step = least_squares_step(changes[1:], errors[1:] - errors[0], errors[0]).reshape(d.shape[1:])
        step = np.clip(step, -self._config.most_step_rad, self._config.most_step_rad) * self._motions.scale
        steps = d[0] + np.multiply.outer(self._config.steps, step)
        return np.vstack([d, steps]), np.append(nominal, self._costs(base, steps, turns_first, NOMINAL)[:, 0])

    def _decide(self, base: Base, d: FloatArray, nominal: FloatArray, turns_first: bool, finalists: int) -> list[Found]:
        """Return the best of motions d (m, 2, n_a) in order: what they cost nominally names them, all draws judge."""
        chosen = d[np.argsort(nominal, kind="stable")[:finalists]]
        costs = self._costs(base, chosen, turns_first, ALL)
        scores = np.mean(costs, axis=1) + self._config.spread_weight * np.std(costs, axis=1)
        return [Found(chosen[k], float(scores[k])) for k in np.argsort(scores, kind="stable")]

    def _costs(self, base: Base, d: FloatArray, turns_first: bool, draws: slice) -> FloatArray:
        """Return what is left after motions d (m, 2, n_a) in draws, (m, draws), rad."""
        return self._judged(base, self._ends(base, d, draws), turns_first)

    def _ends(self, base: Base, d: FloatArray, draws: slice) -> FloatArray:
        """Return where motions d (m, 2, n_a) lead in draws: (m, draws, n_q)."""
        u = self._motions.added(base.times_s, base.u, d)
        return self._physics.ends(base.q, base.times_s, u, self._config.settle_s, draws, self._config.screen_step_s)

    def _judged(self, base: Base, ends: FloatArray, turns_first: bool) -> FloatArray:
        """Return what is left at ends (m, draws, n_q), (m, draws), rad: `lost_rad` more than before at most."""
        most = self._left.rad(base.q, turns_first) + self._config.lost_rad
        costs = np.array([self._left.rad(end, turns_first) for end in ends.reshape(-1, ends.shape[-1])])
        return np.minimum(np.nan_to_num(costs.reshape(ends.shape[:2]), nan=most), most)
