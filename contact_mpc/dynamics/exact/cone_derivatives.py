"""Exact derivatives A, B of the qp and socp steps by the implicit function theorem on the active laws.

At the solution F(dq, m; q, u) = 0 (`contact_mpc.dynamics.exact.active_set`), hence with its symmetric matrix K

    K [d(dq); -dm] = -dF          (seeds/003, "Differentiability")

where dF, at fixed dq and m, has all geometry terms dphi/dq, dn/dq, dJ/dq, those of the tangents that carry rays, and
dQ/dq, db/dq. Gaps may be negative. Derivatives exist only where no contact changes its mode: where a law is neither
clearly active nor inactive (margin below MODE_TOLERANCE_M), or the active laws contradict each other under a
perturbation (more contacts than directions to move in), A and B are NaN and nothing is said to be differentiable. Laws
that repeat others, or do not hold, are first made those of neighbouring steps (`dynamics.exact.decisive_forces`). Where
the axis that the rays of a qp refer to changes (`dynamics.exact.step_problem`), A and B are those of one side.
"""

import numpy as np

from contact_mpc.dynamics.exact.active_set import (
    CREEP,
    RAY,
    SLIDE,
    STICK,
    ActivePoint,
    KktSolution,
    Law,
    assemble_kkt,
    contact_forces,
    law_direction,
    slide_curvature,
    solve_kkt,
)
from contact_mpc.dynamics.exact.cone_solution import MODE_TOLERANCE_M, StepSolution
from contact_mpc.dynamics.exact.decisive_forces import NEARLY_SINGULAR, STUCK_M, decide_forces
from contact_mpc.dynamics.exact.step_problem import ProblemBuilder, StepProblem
from contact_mpc.dynamics.smoothed.derivatives import contact_motion, tangent_derivatives
from contact_mpc.dynamics.smoothed.quadratic import add_quadratic_derivative
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.settings.arrays import FloatArray

CONSISTENCY_TOLERANCE = 1e-7  # relative residual of the linear system: above it the active laws contradict each other


def linearise_cones(
    builder: ProblemBuilder, problem: StepProblem, solution: StepSolution
) -> tuple[FloatArray, FloatArray] | None:
    """Return A (n_v, n_v), B (n_v, n_a) in tangent space, or None where the step is not differentiable.

    The workspace of `builder` must still be that of `problem`.
    """
    if solution.point is None or solution.status != "converged" or solution.margin < MODE_TOLERANCE_M:
        return None
    model, ws, point = builder.model, builder.workspace, solution.point
    n_v, n_a = len(problem.b), len(model.K)
    found, F = _solve_equations(builder, problem, point)
    is_undecided = found.least < NEARLY_SINGULAR or np.abs(F[n_v:]).max(initial=0.0) > STUCK_M
    if is_undecided and any(law.kind == SLIDE for law in point.laws):
        decided = decide_forces(problem, point)
        if decided is None:
            return None
        found, _F = _solve_equations(builder, problem, decided)
    if found.residual > CONSISTENCY_TOLERANCE:
        return None
    A, B = np.empty((n_v, n_v)), np.empty((n_v, n_a))
    tangent_derivatives(model, ws, np.ascontiguousarray(found.x[:n_v]), A, B)
    return A, B


def _solve_equations(
    builder: ProblemBuilder, problem: StepProblem, point: ActivePoint
) -> tuple[KktSolution, FloatArray]:
    """Return the changes of (dq, -m) with (q, u), and what is left of the equations at the point (n_v + w,)."""
    builder.workspace.dq[:] = point.dq
    F, K = assemble_kkt(problem, point)
    return solve_kkt(K, len(point.dq), -_derivative_of_equations(builder, problem, point)), F


def _derivative_of_equations(builder: ProblemBuilder, problem: StepProblem, point: ActivePoint) -> FloatArray:
    """Return dF/d(q, u) (n_v + w, n_v + n_a) at fixed dq and multipliers."""
    model, ws = builder.model, builder.workspace
    n_v, n_a, n_v_u = len(point.dq), len(model.K), model.n_v_u
    dF, G = np.zeros((n_v + len(point.m), n_v + n_a)), np.zeros((n_v, n_v))
    add_quadratic_derivative(model, ws.kin, ws.dq, G)
    force, d = contact_forces(problem, point), problem.displacements(point.dq)
    rows = np.empty((model.pairs.dofs.shape[1], 2, 3))
    motions: dict[int, FloatArray] = {}
    for law, where in zip(point.laws, point.slices(), strict=True):
        i, c = law.contact, problem.pair[law.contact]
        if i not in motions:  # once per contact, whatever the number of its laws
            ws.w[c] = -force[i]
            motions[i] = np.zeros((len(rows), 7))
            contact_motion(model, ws, c, G, rows, motions[i])
        count = model.pairs.dof_count[c]
        dofs = model.pairs.dofs[c, :count]
        df, dg = _derivative_of_law(builder, problem, law, point.m[where], d[i], motions[i][:count])
        np.subtract.at(G.T, dofs, (problem.J[i].T @ df).T)  # a degree of freedom may come more than once
        np.add.at(dF[n_v + where.start : n_v + where.stop].T, dofs, dg.T)
    dF[:n_v, :n_v] = G
    dF[n_v_u + np.arange(n_a), n_v + np.arange(n_a)] = -model.K
    return dF


def _derivative_of_law(
    builder: ProblemBuilder, problem: StepProblem, law: Law, m: FloatArray, d: FloatArray, motion: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the changes of the law's force df (3, k) and of its equations dg (w, k) along the k columns of J_c."""
    i, n = law.contact, problem.n[law.contact]
    dphi, dn, dd = motion[:, 0], motion[:, 1:4].T, motion[:, 4:7].T
    phi, mu2 = problem.phi[i], problem.mu[i] ** 2
    if law.kind == STICK:
        return np.zeros_like(dd), dd + np.outer(n, dphi) + phi * dn
    if law.kind == CREEP:
        f, share = m[:3], problem.compliance[i] * (1.0 + 1.0 / mu2)
        dTf = share * (dn * (n @ f) + np.outer(n, f @ dn))
        return np.zeros_like(dd), np.vstack([dd + np.outer(n, dphi) + phi * dn - m[3] * dTf, -0.5 * f @ dTf])
    if law.kind == RAY:
        dc = dn + problem.mu[i] * _derivative_of_ray(builder, problem, law, dn)
        c = law_direction(problem, law, d)[:, 0]
        return m[0] * dc, (dphi + d @ dc + c @ dd)[None]
    assert law.kind == SLIDE
    nu, dnu, e = n @ d, d @ dn, law_direction(problem, law, d)[:, 0]
    psi = phi + nu
    de = np.outer(n, dphi + (1.0 + mu2) * dnu) + (psi + mu2 * nu) * dn + slide_curvature(problem, i) @ dd
    return m[0] * de, (psi * (dphi + dnu) + mu2 * nu * dnu + e @ dd)[None]


def _derivative_of_ray(builder: ProblemBuilder, problem: StepProblem, law: Law, dn: FloatArray) -> FloatArray:
    """Return the change (3, k) of the ray's tangent along the columns of J_c, for changes dn (3, k) of the normal."""
    i, n, a = law.contact, problem.n[law.contact], problem.reference[law.contact]
    t1, t2 = problem.tangents[i]
    da = np.zeros_like(dn) if problem.is_planar[i] else _reference_turn(builder, problem, i, dn.shape[1])
    across = a - n * (n @ a)
    dy = da - dn * (n @ a) - np.outer(n, a @ dn + n @ da)
    dt2 = (dy - np.outer(t2, t2 @ dy)) / np.linalg.norm(across)
    dt1 = np.cross(dt2, n, axisa=0, axisb=0).T + np.cross(t2, dn, axisa=0, axisb=0).T
    return law.along[0] * dt1 + law.along[1] * dt2


def _reference_turn(builder: ProblemBuilder, problem: StepProblem, i: int, count: int) -> FloatArray:
    """Return the change (3, k) of the reference axis, which turns with the body of shape b."""
    model, kin, c = builder.model, builder.workspace.kin, problem.pair[i]
    axes = model.pairs.axes[c, :count]
    carries = (model.pairs.dof_sign[c, :count] < 0.0) & (model.tree.axis_kind[axes] == REVOLUTE)
    return np.where(carries, np.cross(kin.axes[axes], problem.reference[i]).T, 0.0)
