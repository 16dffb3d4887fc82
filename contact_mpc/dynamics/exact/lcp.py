"""Quasi-static Stewart-Trinkle step: force balance with Coulomb's law on a polyhedral cone, solved by pivoting.

    Q dq + b = sum_i J_i' f_i,   f_i = lam_i n_i + sum_j beta_ij t_ij
    0 <= lam_i    _|_   phi_i + n_i . d_i                >= 0      no penetration
    0 <= beta_ij  _|_   t_ij . d_i + gamma_i             >= 0      maximal dissipation
    0 <= gamma_i  _|_   mu_i lam_i - sum_j beta_ij       >= 0      friction cone; gamma is the sliding distance, m
                                                                   (seeds/001, "Coulomb friction", "Quasi-static")

Where nothing is in the way of the motion without contact forces, that is the solution. Else first comes the convex
program of `dynamics.exact.qp`, whose solution this is, too, as long as nothing slides: where redundant contacts leave
pivoting a choice among forces and, without inertia, motions, it takes the least motion. Where contacts slide, the gaps
of the program are opened by the lift mu gamma that it gives them, and it is solved again until that no longer changes
(V. Acary, F. Cadoux, C. Lemarechal, J. Malick, "A formulation of the linear discrete Coulomb friction problem via
convex optimization", 2011). Only where this does not settle, pivoting decides: dq is eliminated by Q, in which quasi-
static objects keep a small fraction of their inertia (`ContactDynamics`), and the rest goes to `dynamics.exact.lemke`;
the final basis is solved again from the data, in dq and forces.
Sliding contacts stay closed here, in contrast to qp and socp. Where it is wrong: friction depends on the direction of
sliding by up to cos(pi / ray_count), forces at redundant contacts are not unique, and with phi < 0 there may be no
solution ("ray_termination"). A solution that moves anything by more than 1 m or rad leaves the geometry that was
linearised: `ContactDynamics` refuses it as "runaway".
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.exact.active_set import solve_kkt
from contact_mpc.dynamics.exact.cone_solution import StepSolution, failed_solution
from contact_mpc.dynamics.exact.conic import FAILED
from contact_mpc.dynamics.exact.lemke import PIVOT_LIMIT, RAY_TERMINATION, SOLVED, solve_lcp
from contact_mpc.dynamics.exact.qp import solve_qp, spread_rays
from contact_mpc.dynamics.exact.residuals import residuals_of_coulomb
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
MAX_LIFTS = 30
SETTLED_M = 1e-9  # of a lift that no longer changes
SOFTEST = 1e-4  # of the stiffest degree of freedom, while pivoting
MAX_ANCHORS = 20
RUNAWAY = 1.0  # m or rad: beyond it objects are not held by anything, and the linearised geometry is another
STATUS = {RAY_TERMINATION: "ray_termination", PIVOT_LIMIT: "iteration_limit"}


class Rows(NamedTuple):
    """Complementary rows w = C dq + E z + c over z = [lam; beta; gamma], and the forces they stand for.

    C (r, n_v), E (r, r), c (r,);  contact (r,) and direction (r, 3) of each row's force (0 for gamma)
    """

    C: FloatArray
    E: FloatArray
    c: FloatArray
    contact: IntArray
    direction: FloatArray


def build_rows(problem: StepProblem, ray_count: int) -> Rows:
    """Lay out normals, then rays, then cones; contacts without friction have a normal only."""
    k = len(problem.mu)
    rays = [spread_rays(problem, i, ray_count) for i in range(k)]
    owner = np.repeat(np.arange(k), [len(ray) for ray in rays])
    along = np.concatenate([np.zeros((0, 2)), *rays])
    t = np.einsum("rj,rji->ri", along, problem.tangents[owner])
    rough = np.flatnonzero(problem.mu > 0.0)
    contact = np.concatenate([np.arange(k), owner, rough])
    direction = np.concatenate([problem.n, t, np.zeros((len(rough), 3))])
    E = np.zeros((len(contact), len(contact)))
    first_ray, first_cone = k, k + len(owner)
    for position, i in enumerate(rough):
        row, own = first_cone + position, first_ray + np.flatnonzero(owner == i)
        E[own, row], E[row, own], E[row, i] = 1.0, -1.0, problem.mu[i]
    c = np.concatenate([problem.phi, np.zeros(len(contact) - k)])
    return Rows(np.einsum("ri,riv->rv", direction, problem.J[contact]), E, c, contact, direction)


def reduce_problem(problem: StepProblem, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Return M, q of w = M z + q, with dq = Q^-1 (C' z - b) eliminated."""
    inverse = np.linalg.solve(problem.Q, np.column_stack([rows.C.T, -problem.b]))
    return rows.C @ inverse[:, :-1] + rows.E, rows.C @ inverse[:, -1] + rows.c


def solve_step_lcp(problem: StepProblem, ray_count: int) -> StepSolution:
    """Solve the step; without numbers where no solution is found.

    Status "ray_termination" or "iteration_limit" where pivoting does not end, "failed" where what it found does not
    meet all conditions, "unbalanced" where it moves without end.
    """
    return _leave_alone(problem, ray_count) or _settle_lift(problem, ray_count) or _pivot_anchored(problem, ray_count)


def _leave_alone(problem: StepProblem, ray_count: int) -> StepSolution | None:
    """Return the motion without contact forces, None where something would be in its way."""
    dq, force = np.asarray(-np.linalg.solve(problem.Q, problem.b), dtype=np.float64), np.zeros_like(problem.n)
    residuals = residuals_of_coulomb(problem, dq, force, ray_count)
    return StepSolution(dq, force, "converged", residuals.balance, 0) if residuals.is_solution else None


def _settle_lift(problem: StepProblem, ray_count: int) -> StepSolution | None:
    """Return the solution that convex programs with opened gaps lead to, None where they do not settle."""
    lift, start, iterations = np.zeros(len(problem.mu)), None, 0
    rays = [spread_rays(problem, i, ray_count) for i in range(len(lift))]
    for _ in range(MAX_LIFTS):
        found = solve_qp(replace(problem, phi=problem.phi + lift), ray_count, start)
        iterations += found.iterations
        if found.status != "converged":
            return None
        residuals = residuals_of_coulomb(problem, found.dq, found.force, ray_count)
        along = np.einsum("kji,ki->kj", problem.tangents, problem.displacements(found.dq))
        gamma = np.array([max(-(r @ a).min(initial=0.0), 0.0) for r, a in zip(rays, along, strict=True)])
        carries = np.sum(problem.n * found.force, axis=1) > 0.0
        change = np.where(carries, problem.mu * gamma - lift, 0.0)
        if residuals.is_solution and np.abs(change).max(initial=0.0) <= SETTLED_M:
            return StepSolution(found.dq, found.force, "converged", residuals.balance, iterations)
        lift, start = problem.mu * gamma, found.point
    return None


def _pivot_anchored(problem: StepProblem, ray_count: int) -> StepSolution:
    """Return what pivoting finds.

    Where quasi-static objects are so much softer than the robots that pivoting would lose its digits, they are held by
    springs that follow them from one solution to the next, until the basis found solves the step itself; "unbalanced",
    without numbers, where they run on and on.
    """
    rows = build_rows(problem, ray_count)
    first = _attempt(problem, problem, rows, ray_count)[0]
    if first.status == "converged":
        return first
    spring, anchor, pivots = _soft_springs(problem), np.zeros(len(problem.b)), first.iterations
    for _ in range(MAX_ANCHORS if spring.any() else 0):
        held = replace(problem, Q=problem.Q + np.diag(spring), b=problem.b - spring * anchor)
        solution, moved = _attempt(problem, held, rows, ray_count)
        pivots += solution.iterations
        if solution.status == "converged":
            return replace(solution, iterations=pivots)
        if moved is None:
            break
        anchor[:] = moved
    return failed_solution(problem, "unbalanced" if np.abs(anchor).max() > RUNAWAY else first.status, pivots)


def _attempt(
    problem: StepProblem, held: StepProblem, rows: Rows, ray_count: int
) -> tuple[StepSolution, FloatArray | None]:
    """Pivot the held problem and solve the problem itself in the basis found; also return the held displacement."""
    z, outcome, pivots = _pivot(held, rows)
    if outcome != SOLVED:
        return failed_solution(problem, STATUS[outcome], pivots), None
    dq = np.asarray(np.linalg.solve(held.Q, rows.C.T @ z - held.b), dtype=np.float64)
    return _refine(problem, rows, z, pivots, ray_count), dq


def _soft_springs(problem: StepProblem) -> FloatArray:
    """Return what the degrees of freedom (n_v,) lack of a fraction SOFTEST of the stiffest one's Q, at the contacts."""
    scale = np.maximum(np.sqrt(np.mean(np.sum(problem.J**2, axis=1), axis=0)), 1e-3) if len(problem.mu) else 1.0
    stiffness = np.diag(problem.Q) / scale**2
    least = SOFTEST * stiffness.max()
    return np.where(stiffness < least, least * scale**2, 0.0)


def _pivot(problem: StepProblem, rows: Rows) -> tuple[FloatArray, int, int]:
    """Return z, outcome and pivots of the problem in units that make its entries of the order of one."""
    M, q = reduce_problem(problem, rows)
    is_force = np.any(rows.direction != 0.0, axis=1)
    compliance = float(np.mean(np.diag(M)[is_force])) if is_force.any() else 1.0
    length = max(float(np.abs(q).max(initial=0.0)), 1e-12)
    force_unit = np.where(is_force, length / compliance, length)
    row_unit = np.where(is_force, length, length / compliance)
    found = solve_lcp(M * force_unit / row_unit[:, None], q / row_unit)
    return found.z * force_unit, found.outcome, found.pivots


def _refine(problem: StepProblem, rows: Rows, z: FloatArray, pivots: int, ray_count: int) -> StepSolution:
    """Solve the equations of the basis for (dq, z) once more, starting from the pivoting's own z."""
    n_v, basic = len(problem.b), z > 0.0
    dq = np.linalg.solve(problem.Q, rows.C.T @ z - problem.b)
    K = np.block([[problem.Q, rows.C[basic].T], [rows.C[basic], -rows.E[np.ix_(basic, basic)]]])
    w = rows.C @ dq + rows.E @ z + rows.c
    error = np.concatenate([problem.Q @ dq + problem.b - rows.C.T @ z, w[basic]])
    step = solve_kkt(K, n_v, error).x
    dq, z = dq - step[:n_v], z.copy()
    z[basic] += step[n_v:]
    force = np.zeros_like(problem.n)
    np.add.at(force, rows.contact, z[:, None] * rows.direction)
    residuals = residuals_of_coulomb(problem, dq, force, ray_count)
    if not residuals.is_solution:
        return failed_solution(problem, FAILED, pivots)
    return StepSolution(dq, force, "converged", residuals.balance, pivots)
