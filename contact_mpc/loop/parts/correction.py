"""Commands of a part of a plan corrected until MuJoCo ends where the plan has it.

The commands u(t) of a part are changed by d(t) = sum_k w_k(t) d_k with hat functions w_k that are zero at its start:
the command in force stays. Random d, rolled out in draws of the world, tell by least squares how the pose e of the
object at the end depends on them, e = e_0 + E d. Steps along the solution of min |e_0 + E d|^2 + r |d|^2 are tried at
several lengths, and so are the random d; the best commands are kept, by the mean of the draws above all. The best few
of them are rolled out in all draws: of sixty commands the one that ends nearest in two draws may do so by chance.
In the roll-outs contacts slide, roll and break as in physics, where the planner's model may stick: the plan says which
contacts to use, the engine how far to push them.

Wrong where a part ends in another mode for small changes of its commands, such as a box that may tip: then no change
helps, and the plan is left for a new one.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from contact_mpc.loop.parts.confirmed_plan import Ways
from contact_mpc.optimisation.least_squares import least_squares_step
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import Corrected, object_distance
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

SPREAD_DECAY, SPREAD_SHRINK = 0.8, 0.4  # of random changes after a round that helped, and one that did not
SPREAD_GROWTH, UNMOVED = 3.0, 0.1  # where changes of the pose are less than this share of its error: nothing touches
DRAWS_WEIGHT = 0.25  # of how far draws end apart, which no change takes away, beside the error of their mean
FINALISTS = 4  # best changes, which all draws decide between: the best of many by few may be so by chance
LOST_RAD = 0.5  # error of a draw from which it is lost, however far it falls
NEAR = 3.0  # times the spread of random changes: earlier ones that count as well
SETTLED_RAD = 0.004  # from where an object comes to rest, global metric, within which it counts as there
LEAST_SETTLE_S = 0.3  # other draws, and other commands, rest later than the nominal ones


@dataclass(frozen=True)
class CorrectionConfig:
    """How commands of a part are corrected.

    Attributes
    ----------
    knots : int
        Hat functions along a part.
    samples, rounds : int
        Random changes per round, and rounds at most.
    spread : float
        Standard deviation of the first random changes, rad or m.
    most : float
        Change of a command at most, rad or m: where nothing touches, least squares would go to the joint limits.
    lengths : tuple of float
        Of the step of least squares, to be tried.
    enough_rad : float
        Mean error of the object, global metric, that is left as it is.
    settle_s : float
        For which the last command is held in a roll-out at most, s; less where the object comes to rest earlier.
    """

    knots: int = 2
    samples: int = 12
    rounds: int = 4
    spread: float = 0.01
    most: float = 0.3
    lengths: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5)
    enough_rad: float = 0.004
    settle_s: float = 3.0


class Batch(Protocol):
    """Rolls many commands out from one state, in draws of a world; `few` of them, the first, stand for all."""

    @property
    def few(self) -> int:
        """Number of draws that many commands are rolled out in."""
        ...

    def ways(self, q: FloatArray, plan: Plan, settle_s: float) -> Ways:
        """Return the motions of a plan in all draws; see `contact_mpc.loop.parts.confirmed_plan.World`."""
        ...

    def ends(self, q: FloatArray, times_s: FloatArray, u: FloatArray, settle_s: float, draws: slice) -> FloatArray:
        """Return where commands u (m, n, n_a) at times_s (n,) lead from rest at q (n_q,) in draws: (m, draws, n_q)."""
        ...


def correct(
    problem: Problem,
    physics: Batch,
    q: FloatArray,
    plan: Plan,
    target: FloatArray,
    config: CorrectionConfig | None = None,
    seed: int = 0,
) -> Corrected:
    """Return a part whose object ends nearer to that of a target, in an engine.

    Parameters
    ----------
    problem, plan
        A part of a plan of this problem, whose first command is in force.
    physics : Batch
        The engine.
    q, target : (n_q,) array
        Where the part starts, at rest, and where the object shall end.
    config, seed
        How, and the seed of the random changes.
    """
    config, rng = config or CorrectionConfig(), np.random.default_rng(seed)
    hats, system = hat_functions(plan.times_s, config.knots), problem.system
    lower, upper = np.minimum(plan.u, system.q_min), np.maximum(plan.u, system.q_max)
    ways = physics.ways(q, plan, config.settle_s)
    settle_s = _settling_s(problem, ways, plan, config.settle_s)
    row = min(int(np.searchsorted(ways.times_s, plan.times_s[-1] + settle_s)), len(ways.times_s) - 1)
    uncorrected = _errors(problem, ways.q[None, :, row], target)

    def commands(d: FloatArray) -> FloatArray:
        bounded = np.clip(d, -config.most, config.most)
        changes = np.einsum("tk,mka->mta", hats, bounded.reshape(len(d), config.knots, -1))
        return np.asarray(np.clip(plan.u + changes, lower, upper))

    few, others = slice(physics.few), slice(physics.few, None)

    def roll(d: FloatArray, draws: slice = few) -> FloatArray:
        return _errors(problem, physics.ends(q, plan.times_s, commands(d), settle_s, draws), target)

    d, errors = np.zeros((1, config.knots * system.n_a)), uncorrected[:, few]
    best, spread = 0, config.spread
    before = _score(errors[0])
    scores = [before]
    for _ in range(config.rounds):
        if _bias(errors[best]) <= config.enough_rad:
            break
        new = d[best] + spread * rng.standard_normal((config.samples, d.shape[1]))
        d, errors = np.concatenate([d, new]), np.concatenate([errors, roll(new)])
        mean = np.mean(errors, axis=1)
        near = np.linalg.norm(d - d[best], axis=1) <= NEAR * spread * np.sqrt(d.shape[1])
        step = least_squares_step((d - d[best])[near], (mean - mean[best])[near], mean[best])
        steps = d[best] + np.multiply.outer(config.lengths, step)
        change, least = mean[-len(new) :] - mean[best], scores[best]
        d, errors = np.concatenate([d, steps]), np.concatenate([errors, roll(steps)])
        scores += [_score(item) for item in errors[len(scores) :]]
        best = int(np.argmin(scores))
        spread *= _spread_factor(change, least, is_better=scores[best] < least)
    if best == 0:
        return Corrected(plan, before, score_rested(_errors(problem, ways.q[None, :, -1], target)[0])[1])
    finalists = np.argsort(scores, kind="stable")[:FINALISTS]
    found = np.concatenate([errors[finalists], roll(d[finalists], others)], axis=1)
    plans = [replace(plan, u=u) for u in commands(d[finalists])]
    corrected, error = _rested(problem, physics, q, plans, found, target, config.settle_s)
    return Corrected(corrected, before, error)


def _rested(
    problem: Problem,
    physics: Batch,
    q: FloatArray,
    plans: list[Plan],
    errors: FloatArray,
    target: FloatArray,
    settle_s: float,
) -> tuple[Plan, float]:
    """Return the plan that rests nearest to a target, and how far off; errors (m, draws, n_v_u) are those so far.

    The best is rolled out to rest, and so is the next where the object of that one moves on.
    """
    expected = [score_rested(item) for item in errors]
    best: tuple[float, float, Plan] | None = None
    for k in np.argsort([score for score, _ in expected], kind="stable"):
        ways = physics.ways(q, plans[k], settle_s)
        score, error = score_rested(_errors(problem, ways.q[None, :, -1], target)[0])
        stays = score <= expected[k][0] + SETTLED_RAD
        if stays:
            score, error = expected[k]
        if best is None or score < best[0]:
            best = (score, error, plans[k])
        if stays:
            break
    assert best is not None
    return best[2], best[1]


def _settling_s(problem: Problem, ways: Ways, plan: Plan, most_s: float) -> float:
    """Return how long the object moves on after a part in the first draw, s, and some more for other commands."""
    way = ways.q[0]
    moving = [
        t for t, row in zip(ways.times_s, way, strict=True) if object_distance(problem, row, way[-1]) > SETTLED_RAD
    ]
    rest_s = max(moving, default=0.0) - float(plan.times_s[-1])
    return float(np.clip(rest_s + LEAST_SETTLE_S, LEAST_SETTLE_S, most_s))


def score_rested(errors: FloatArray) -> tuple[float, float]:
    """Return what errors (draws, n_v_u) are judged by, and how far off they are expected to be.

    A lost draw counts as one far off in the mean length, and the median is what is expected.
    """
    lengths = np.nan_to_num(np.linalg.norm(errors, axis=1), nan=np.inf)
    return float(np.mean(np.minimum(lengths, LOST_RAD))), float(np.median(lengths))


def _spread_factor(change: FloatArray, error: float, is_better: bool) -> float:
    """Return by what random changes grow or shrink after a round in which they changed the pose by (m, n_e)."""
    if np.median(np.linalg.norm(change, axis=1)) < UNMOVED * error:
        return SPREAD_GROWTH
    return SPREAD_DECAY if is_better else SPREAD_SHRINK


def hat_functions(times_s: FloatArray, count: int) -> FloatArray:
    """Return w_k at times_s (n,), (n, count): 1 at the end of the k-th of equal spans, 0 at those of others."""
    s = count * times_s / times_s[-1]
    return np.clip(1.0 - np.abs(s[:, None] - np.arange(1, count + 1)), 0.0, 1.0)


def _errors(problem: Problem, ends: FloatArray, target: FloatArray) -> FloatArray:
    """Return e of ends (m, draws, n_q) in the global metric: (m, draws, n_v_u)."""
    system, n = problem.system, problem.system.n_v_u
    weight = problem.metric_weight
    errors = [weight * system.difference(target, end)[:n] for end in ends.reshape(-1, ends.shape[-1])]
    return np.array(errors).reshape(*ends.shape[:2], n)


def _bias(error: FloatArray) -> float:
    """Return the length of the mean of errors (draws, n_v_u)."""
    return float(np.linalg.norm(np.mean(error, axis=0)))


def _score(error: FloatArray) -> float:
    """Return the length of the mean of errors (draws, n_v_u), and a share of how far draws are from it; inf for NaN."""
    if not np.all(np.isfinite(error)):
        return np.inf
    return _bias(error) + DRAWS_WEIGHT * float(np.mean(np.linalg.norm(error - np.mean(error, axis=0), axis=1)))
