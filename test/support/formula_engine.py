"""An engine that answers by a formula, for tests of what is built on roll-outs; the disc of the planar hand in it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from contact_mpc.planning.parts import plan_of_samples
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.planning.tree.segments import Corrected, object_distance
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

Answer = Callable[[FloatArray, FloatArray], list[FloatArray]]  # q, end of the command less u -> q of each draw


class Formula:
    """An engine whose draws end where an answer says."""

    def __init__(self, answer: Answer) -> None:
        self._answer, self.rolled = answer, 0

    def ends(
        self,
        q: FloatArray,
        times_s: FloatArray,
        u: FloatArray,
        settle_s: float,
        draws: slice,
        step_s: float | None = None,
    ) -> FloatArray:
        """See `RolledPhysics.ends`."""
        assert len(times_s) == u.shape[1] and settle_s > 0.0
        self.rolled += len(u)
        return np.array([self._answer(q, rows[-1] - rows[0])[draws] for rows in u])

    def corrected(
        self, problem: Problem, q: FloatArray, plan: Plan, target: FloatArray, enough_rad: float
    ) -> Corrected:
        """Correct nothing."""
        error = object_distance(problem, q, target)
        return Corrected(plan, error, error)

    def arriving(self, plan: Plan) -> Plan:
        """Know no drives."""
        return plan


def disc(**values: float) -> Problem:
    """Return the disc of the planar hand, to be turned by a quarter."""
    problem = with_goal(load_problem("planar_hand_ball"), {"disc_turn_rad": 0.5 * np.pi})
    sampled = SampledConfig(**{"samples": 60, "rounds": 1, "variations": 10, "least_gain": 0.01, **values})
    return replace(problem, file=problem.file.model_copy(update={"sampled": sampled}))


def turned(problem: Problem, q: FloatArray, rad: float) -> FloatArray:
    """Return q (n_q,) with its object turned towards the goal."""
    out = q.copy()
    out[: problem.system.n_q_u] = out[: problem.system.n_q_u] + rad * problem.turns
    return out


def start(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the state at the start and a command in the middle of the joint limits."""
    system = problem.system
    return plan_of_samples(problem).q[0], 0.5 * (system.q_min + system.q_max)


def left(problem: Problem, q: FloatArray) -> float:
    """Return the distance of q (n_q,) from the goal, rad."""
    return object_distance(problem, q, problem.configuration(problem.goal_u))
