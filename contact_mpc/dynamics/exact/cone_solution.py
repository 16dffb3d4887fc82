"""What a solver of cone programs returns, and its completion to a point that satisfies the active laws to round-off."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from contact_mpc.dynamics.exact.active_set import RANK_TOLERANCE, ActivePoint, Law, contact_forces, polish
from contact_mpc.dynamics.exact.conic import FAILED, INFEASIBLE, ConicSolution
from contact_mpc.dynamics.exact.residuals import Residuals
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

MODE_TOLERANCE_M = 1e-9  # below it a law is neither clearly active nor clearly inactive
MAX_CORRECTIONS = 10
RANK_TOLERANCES = (RANK_TOLERANCE, 1e-8)  # the second where laws that nearly repeat others ask for huge forces
LARGEST_GROWTH = 2.0  # of the largest force over the solver's, which lies amid all that balance


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


Measure = Callable[[FloatArray, FloatArray], Residuals]  # of dq and the forces (k, 3), N
Activate = Callable[[ActivePoint], tuple[ActivePoint, float]]


def complete_solution(
    problem: StepProblem,
    found: ConicSolution,
    force: FloatArray,
    starts: list[ActivePoint],
    measure: Measure,
    activate: Activate,
) -> StepSolution:
    """Solve the active laws of a conic solution to round-off, and correct which laws are active where they are wrong.

    Where no polished point solves the step, the solver's own counts, without laws and so without derivatives, if it
    does; else there is no solution. Where the solver stalled, the laws of its last iterate are tried all the same: what
    meets all conditions solves a convex program, however it was found. force (k, 3) is the solver's own, N; starts are
    points with laws to try, in order; activate returns of a point the one with the laws that its own slacks and forces
    speak for, and the margin (`StepSolution`).
    """
    if found.outcome == INFEASIBLE or not (np.all(np.isfinite(found.x)) and np.all(np.isfinite(force))):
        return failed_solution(problem, found.outcome, found.iterations)
    most = LARGEST_GROWTH * float(np.abs(force).max(initial=0.0)) + 1.0
    for start, rank in product(starts, RANK_TOLERANCES):
        kept = _polish_laws(problem, start, rank, most, measure, activate)
        if kept is not None:
            return replace(kept, iterations=found.iterations)
    residuals = measure(found.x, force)
    if not residuals.is_solution:
        return failed_solution(problem, FAILED, found.iterations)
    return StepSolution(found.x, force, "converged", residuals.balance, found.iterations)


def continue_solution(
    problem: StepProblem, start: ActivePoint, measure: Measure, activate: Activate
) -> StepSolution | None:
    """Return the solution in which the laws of a neighbouring one hold, None where there is none; as above.

    No solver is asked: the program is strictly convex, so a point that meets all conditions is its solution.
    """
    return _solution_of(problem, polish(problem, start), measure, activate)


def _polish_laws(
    problem: StepProblem, point: ActivePoint, rank: float, most: float, measure: Measure, activate: Activate
) -> StepSolution | None:
    """Return the solution that active laws lead to from a point, with forces of at most `most`, N, or None."""
    tried: set[tuple[Law, ...]] = set()
    while point.laws not in tried and len(tried) < MAX_CORRECTIONS:
        tried.add(point.laws)
        polished = polish(problem, point, rank)
        solution = _solution_of(problem, polished, measure, activate)
        if solution is not None and np.abs(solution.force).max(initial=0.0) <= most:
            return solution
        point, _margin = activate(polished)
    return None


def _solution_of(problem: StepProblem, point: ActivePoint, measure: Measure, activate: Activate) -> StepSolution | None:
    force = contact_forces(problem, point)
    residuals = measure(point.dq, force)
    if not residuals.is_solution:
        return None
    return StepSolution(point.dq, force, "converged", residuals.balance, 0, point, activate(point)[1])
