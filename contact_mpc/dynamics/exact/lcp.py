"""Quasi-static Stewart-Trinkle step: force balance with Coulomb's law on a polyhedral cone, solved by pivoting.

    Q dq + b = sum_i J_i' f_i,   f_i = lam_i n_i + sum_j beta_ij t_ij
    0 <= lam_i    _|_   phi_i + n_i . d_i                >= 0      no penetration
    0 <= beta_ij  _|_   t_ij . d_i + gamma_i             >= 0      maximal dissipation
    0 <= gamma_i  _|_   mu_i lam_i - sum_j beta_ij       >= 0      friction cone; gamma is the sliding distance, m
                                                                   (seeds/001, "Coulomb friction", "Quasi-static")

dq is eliminated by Q, in which quasi-static objects keep a small fraction of their inertia (`ContactDynamics`), and
the rest goes to `dynamics.exact.lemke`. The final basis is then solved again from the data, in dq and forces.
Sliding contacts stay closed here, in contrast to qp and socp. Where it is wrong: friction depends on the direction of
sliding by up to cos(pi / ray_count), forces at redundant contacts are not unique, and with phi < 0 there may be no
solution ("ray_termination").
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.exact.active_set import solve_kkt
from contact_mpc.dynamics.exact.cone_solution import StepSolution, failed_solution
from contact_mpc.dynamics.exact.lemke import PIVOT_LIMIT, RAY_TERMINATION, SOLVED, solve_lcp
from contact_mpc.dynamics.exact.qp import spread_rays
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
SIGN_TOLERANCE = 1e-6  # relative: how negative a multiplier or slack may come out of the last solve
ACCEPTED_RESIDUAL = 1e-6  # N or N m, of the force balance
SOFTEST = 1e-4  # of the stiffest degree of freedom, while pivoting
MAX_ANCHORS = 20
RUNAWAY = 1.0  # m or rad: beyond it objects are not held by anything
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
    """Solve the step; status "ray_termination" or "iteration_limit", without numbers, where pivoting does not end.

    Where quasi-static objects are so much softer than the robots that pivoting would lose its digits, they are held by
    springs that follow them from one solution to the next, until the basis found solves the step itself; "unbalanced",
    without numbers, where they run on and on.
    """
    rows = build_rows(problem, ray_count)
    first = _attempt(problem, problem, rows)[0]
    if first.status == "converged":
        return first
    spring, anchor, pivots = _soft_springs(problem), np.zeros(len(problem.b)), first.iterations
    for _ in range(MAX_ANCHORS if spring.any() else 0):
        held = replace(problem, Q=problem.Q + np.diag(spring), b=problem.b - spring * anchor)
        solution, moved = _attempt(problem, held, rows)
        pivots += solution.iterations
        if solution.status == "converged":
            return replace(solution, iterations=pivots)
        if moved is None:
            break
        anchor[:] = moved
    return failed_solution(problem, "unbalanced" if np.abs(anchor).max() > RUNAWAY else first.status, pivots)


def _attempt(problem: StepProblem, held: StepProblem, rows: Rows) -> tuple[StepSolution, FloatArray | None]:
    """Pivot the held problem and solve the problem itself in the basis found; also return the held displacement."""
    z, outcome, pivots = _pivot(held, rows)
    if outcome != SOLVED:
        return failed_solution(problem, STATUS[outcome], pivots), None
    dq = np.asarray(np.linalg.solve(held.Q, rows.C.T @ z - held.b), dtype=np.float64)
    return _refine(problem, rows, z, pivots), dq


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


def _refine(problem: StepProblem, rows: Rows, z: FloatArray, pivots: int) -> StepSolution:
    """Solve the equations of the basis for (dq, z) once more, starting from the pivoting's own z."""
    n_v, basic = len(problem.b), z > 0.0
    dq = np.linalg.solve(problem.Q, rows.C.T @ z - problem.b)
    K = np.block([[problem.Q, rows.C[basic].T], [rows.C[basic], -rows.E[np.ix_(basic, basic)]]])
    w = rows.C @ dq + rows.E @ z + rows.c
    error = np.concatenate([problem.Q @ dq + problem.b - rows.C.T @ z, w[basic]])
    step, _residual = solve_kkt(K, n_v, error)
    dq, z = dq - step[:n_v], z.copy()
    z[basic] += step[n_v:]
    w = rows.C @ dq + rows.E @ z + rows.c
    force = np.zeros_like(problem.n)
    np.add.at(force, rows.contact, z[:, None] * rows.direction)
    residual = float(np.abs(problem.force_balance(dq, force)).max())
    lowest = max(-z.min(initial=0.0) / max(np.abs(z).max(initial=0.0), 1.0), -w.min(initial=0.0))
    is_solved = residual <= ACCEPTED_RESIDUAL and lowest <= SIGN_TOLERANCE
    return StepSolution(dq, force, "converged" if is_solved else "failed", residual, pivots)
