"""A problem's plan by random motions, as MuJoCo has played it; see `contact_mpc.planning.sampled.segments`."""

from collections.abc import Callable
from dataclasses import replace

from contact_mpc.loop.parts.confirmation import MujocoConfirmation
from contact_mpc.loop.parts.confirmed_plan import ConfirmedPlan, confirm
from contact_mpc.planning.parts import plan_of_samples
from contact_mpc.planning.tree.problem import Problem


def confirm_samples(problem: Problem, seed: int = 0, report: Callable[[str], None] | None = None) -> ConfirmedPlan:
    """Return the random motions that lead to a problem's goal, played in MuJoCo from its start.

    `report` is told of each part.

    Raises
    ------
    ConfigError
        The problem has no section `sampled`.
    """
    done = confirm(problem, plan_of_samples(problem, seed), MujocoConfirmation(problem.system), report=report)
    record = {**done.plan.provenance, "is_valid": done.is_confirmed, "reason": done.reason}
    return replace(done, plan=replace(done.plan, provenance=record))
