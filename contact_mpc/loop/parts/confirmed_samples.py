"""A problem's plan by random motions, as MuJoCo has played it; see `contact_mpc.planning.sampled.segments`."""

from collections.abc import Callable
from dataclasses import replace

from contact_mpc.loop.parts.confirmation import roll_outs
from contact_mpc.loop.parts.confirmed_plan import CANDIDATES, ConfirmedPlan, candidate_seed, confirm_best
from contact_mpc.planning.parts import plan_of_samples
from contact_mpc.planning.tree.problem import Problem


def confirm_samples(problem: Problem, seed: int = 0, report: Callable[[str], None] | None = None) -> ConfirmedPlan:
    """Return the random motions that lead to a problem's goal, played in MuJoCo from its start.

    Where motions from one seed do not lead there, those of two others are tried, and the nearest is kept. `report` is
    told of each part.

    Raises
    ------
    ConfigError
        The problem has no section `sampled`.
    """
    plans = (plan_of_samples(problem, candidate_seed(seed, k)) for k in range(CANDIDATES))
    done = confirm_best(problem, plans, roll_outs(problem), report)
    record = {**done.plan.provenance, "is_valid": done.is_confirmed, "reason": done.reason}
    return replace(done, plan=replace(done.plan, provenance=record))
