"""What a solver of cone programs returns, and its completion to a point that satisfies the active laws to round-off."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contact_mpc.dynamics.exact.active_set import ActivePoint, Law, contact_forces, polish
from contact_mpc.dynamics.exact.conic import FAILED, INFEASIBLE, SOLVED, ConicSolution
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

FEASIBILITY_TOLERANCE_M = 1e-9  # how far a polished point may lie outside a cone, forces times compliance; else dropped
MODE_TOLERANCE_M = 1e-9  # below it a law is neither clearly active nor clearly inactive
MAX_CORRECTIONS = 10
ROUND_OFF_RESIDUAL = 1e-9  # N or N m
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
        How clearly laws are active or inactive: the larger of slack and force times compliance of the law where that
        is least, m; 0 at a change of mode.
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


Judge = Callable[[ActivePoint], tuple[float, ActivePoint, float]]


def complete_solution(
    problem: StepProblem, found: ConicSolution, force: FloatArray, point: ActivePoint, judge: Judge
) -> StepSolution:
    """Solve the active laws of a conic solution to round-off, and correct which laws are active where they are wrong.

    Where the solver stalled, the laws of its last iterate are tried all the same: a point inside the cones whose forces
    are inside theirs and balance solves a convex program, however it was found. force (k, 3) is the solver's own, N.
    judge returns of a point how far it lies outside the cones, m, the point with the laws that its own slacks and
    forces speak for, and the margin (`StepSolution`).
    """
    if found.outcome == INFEASIBLE or not (np.all(np.isfinite(found.x)) and np.all(np.isfinite(force))):
        return failed_solution(problem, found.outcome, found.iterations)
    kept, margin = None, 0.0
    tried: set[tuple[Law, ...]] = set()
    while kept is None and point.laws not in tried and len(tried) < MAX_CORRECTIONS:
        tried.add(point.laws)
        polished = polish(problem, point)
        violation, point, margin = judge(polished)
        if violation <= FEASIBILITY_TOLERANCE_M:
            kept = polished
    dq = found.x if kept is None else kept.dq
    force = force if kept is None else contact_forces(problem, kept)
    residual = float(np.abs(problem.force_balance(dq, force)).max())
    if found.outcome == FAILED and (kept is None or residual > ACCEPTED_RESIDUAL):
        return failed_solution(problem, FAILED, found.iterations)
    is_solved = found.outcome == SOLVED or residual <= ACCEPTED_RESIDUAL
    status = "converged" if is_solved else "iteration_limit"
    return StepSolution(dq, force, status, residual, found.iterations, kept, margin)


def continue_solution(problem: StepProblem, start: ActivePoint, judge: Judge) -> StepSolution | None:
    """Return the solution in which the laws of a neighbouring one hold, None where there is none; judge as above.

    No solver is asked: the program is strictly convex, so a point that is feasible, whose forces are and balance, is
    its solution.
    """
    polished = polish(problem, start)
    violation, _point, margin = judge(polished)
    force = contact_forces(problem, polished)
    residual = float(np.abs(problem.force_balance(polished.dq, force)).max())
    if violation > FEASIBILITY_TOLERANCE_M or residual > ROUND_OFF_RESIDUAL:
        return None
    return StepSolution(polished.dq, force, "converged", residual, 0, polished, margin)
