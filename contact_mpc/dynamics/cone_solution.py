"""What a solver of cone programs returns, and its completion to a point that satisfies the active laws to round-off."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.active_set import ActivePoint, contact_forces, polish
from contact_mpc.dynamics.conic import ALMOST_SOLVED, INFEASIBLE, SOLVED, ConicSolution
from contact_mpc.dynamics.step_problem import StepProblem

FloatArray = NDArray[np.float64]
FEASIBILITY_TOLERANCE = 1e-7  # m and N: how far a polished point may lie outside a cone, else it is dropped
MODE_TOLERANCE = 1e-6  # mm and N: below it a law is neither clearly active nor clearly inactive
ACCEPTED_RESIDUAL = 1e-6  # N or N m: of the force balance, where the solver stopped short of its tolerance


@dataclass(frozen=True)
class StepSolution:
    """Solution of a `StepProblem`.

    Attributes
    ----------
    dq : (n_v,) array
        Displacement; NaN where there is none.
    force : (k, 3) array
        Contact forces on A, world frame, N.
    status : str
        As in `StepResult`.
    residual : float
        Largest entry of the force balance, N or N m.
    iterations : int
        Iterations or pivots of the solver.
    point : ActivePoint or None
        The active laws, for derivatives; None where they are not known.
    margin : float
        How clearly laws are active or inactive, mm or N; 0 at a change of mode.
    """

    dq: FloatArray
    force: FloatArray
    status: str
    residual: float
    iterations: int
    point: ActivePoint | None = None
    margin: float = 0.0


def failed_solution(problem: StepProblem, status: str, iterations: int) -> StepSolution:
    """Return a solution without numbers."""
    nothing = np.full(len(problem.b), np.nan)
    return StepSolution(nothing, np.full_like(problem.n, np.nan), status, np.inf, iterations)


def complete_solution(
    problem: StepProblem, found: ConicSolution, force: FloatArray, point: ActivePoint, margin: float,
    violation: Callable[[ActivePoint], float],
) -> StepSolution:
    """Polish the active laws of a conic solution, and judge it; force (k, 3) is the solver's own, N.

    violation returns how far a point lies outside the cones, m or N.
    """
    if found.outcome not in (SOLVED, ALMOST_SOLVED):
        status = "infeasible" if found.outcome == INFEASIBLE else "failed"
        return failed_solution(problem, status, found.iterations)
    dq, polished = found.x, polish(problem, point)
    is_kept = violation(polished) <= FEASIBILITY_TOLERANCE
    if is_kept:
        dq, force = polished.dq, contact_forces(problem, polished)
    residual = float(np.abs(problem.force_balance(dq, force)).max())
    is_solved = found.outcome == SOLVED or residual <= ACCEPTED_RESIDUAL
    status = "converged" if is_solved else "iteration_limit"
    return StepSolution(dq, force, status, residual, found.iterations, polished if is_kept else None, margin)
