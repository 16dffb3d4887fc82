"""Exact derivatives A, B of the smoothed step by the implicit function theorem, with all geometry terms.

At the solution the gradient g(dq; q, u) = Q dq + b + sum_i J_i' w_i(phi_i, n_i, J_i dq) vanishes, so

    H d(dq)/dq = -dg/dq,   H d(dq)/du = -dg/du = [0; K_a]        (seeds/003, "Differentiability")

with the Newton Hessian H and dg/dq including dphi/dq, dn/dq, dJ/dq. The configuration is updated on the left,
q_next = Exp(dq) q, so in tangent space the rows of a free object's rotation become

    A = J_l(dtheta) d(dtheta)/dq + Exp(dtheta),   B = J_l(dtheta) d(dtheta)/du

and A = I + d(dq)/dq elsewhere.
"""

from numba import njit, types

from contact_mpc.dynamics.smoothed.barrier import barrier_mixed
from contact_mpc.dynamics.smoothed.cholesky import solve_columns_in_place
from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model, add_quadratic_derivative
from contact_mpc.geometry.contacts import POINT
from contact_mpc.geometry.vectors import Vector, axpy, cross, dof_velocity, dot, minus, row, scaled
from contact_mpc.model.kinematic_tree import FREE, REVOLUTE
from contact_mpc.model.rotations import left_jacobian, rotation_exp
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, UNCOUNTED, UNCOUNTED_INNER
from contact_mpc.settings.code.separate_code import SeparateCode

ZERO = (0.0, 0.0, 0.0)


@njit(inline="always", **COMPILED)
def _prepare_columns(model: Model, ws: Newton, c: int, rows: FloatArray) -> Vector:
    """Write, per column d of J_c, a_d (the signed axis, 0 for a translation) and J_d x w; rows is (m, 2, 3).

    Returns the angular displacement of A relative to B, sum of a_d dq_d.
    """
    w, turn = row(ws.w, c), (0.0, 0.0, 0.0)
    for m in range(model.pairs.dof_count[c]):
        axis = model.pairs.axes[c, m]
        sign = model.pairs.dof_sign[c, m] if model.tree.axis_kind[axis] == REVOLUTE else 0.0
        a = scaled(sign, row(ws.kin.axes, axis))
        moment = cross(row(ws.con.J[c], m), w)
        turn = axpy(ws.dq[model.pairs.dofs[c, m]], a, turn)
        for i in range(3):
            rows[m, 0, i] = a[i]
            rows[m, 1, i] = moment[i]
    return turn


@njit(inline="always", **COMPILED)
def _curvature_times(N: FloatArray, c: int, x: Vector) -> Vector:
    return (
        N[c, 0, 0] * x[0] + N[c, 0, 1] * x[1] + N[c, 0, 2] * x[2],
        N[c, 1, 0] * x[0] + N[c, 1, 1] * x[1] + N[c, 1, 2] * x[2],
        N[c, 2, 0] * x[0] + N[c, 2, 1] * x[1] + N[c, 2, 2] * x[2],
    )


@njit(inline="always", **COMPILED)
def _motion_along(
    model: Model, ws: Newton, c: int, k: int, turn: Vector, G: FloatArray, rows: FloatArray
) -> tuple[float, Vector, Vector]:
    """Return (dphi, dn, d(J dq)) of contact c along column k of J_c at fixed dq, and add d(J')/dq w to column of G.

    With v the velocity at p and a_k the axis of k, a column swept by k changes by a_k x J_d + a_d x (dp - v), any
    other by a_d x dp. Sums over d of these, times dq_d or dotted with w, need no column derivative by itself:
    w . (a_k x J_d) = a_k . (J_d x w) and w . (a_d x y) = a_d . (y x w).
    """
    pairs, tree, kin, con = model.pairs, model.tree, ws.kin, ws.con
    reach = pairs.radius[c] + 0.5 * con.phi[c]
    n, p, centre, w = row(con.n, c), row(con.p, c), row(con.centre, c), row(ws.w, c)
    axis_k = pairs.axes[c, k]
    kind, a_k, o_k = tree.axis_kind[axis_k], row(kin.axes, axis_k), row(kin.origins, axis_k)
    v, delta, dn, carried = dof_velocity(kind, a_k, o_k, p), dof_velocity(kind, a_k, o_k, centre), ZERO, ZERO
    if pairs.dof_sign[c, k] < 0.0:
        delta, carried = scaled(-1.0, delta), v
        if kind == REVOLUTE:
            dn = cross(a_k, n)
    dphi, bend = dot(n, delta), _curvature_times(con.N, c, delta)
    if pairs.kind[c] != POINT:
        carried = axpy(1.0, _curvature_times(con.T, c, delta), carried)
        if kind == REVOLUTE:
            omega = scaled(pairs.dof_sign[c, k], a_k)
            bend = axpy(1.0, _curvature_times(con.M, c, omega), bend)
            carried = axpy(1.0, _curvature_times(con.P, c, omega), carried)
    dn = axpy(1.0, bend, dn)
    dp = axpy(-0.5 * dphi, n, axpy(-reach, bend, axpy(1.0, delta, carried)))
    yw, vw = cross(dp, w), cross(v, w)
    moved, turned = ZERO, ZERO  # displacement and turn of what k sweeps
    for m in range(pairs.dof_count[c]):
        d = pairs.dofs[c, m]
        a_d = (rows[m, 0, 0], rows[m, 0, 1], rows[m, 0, 2])
        value = dot(a_d, yw)
        if tree.carries[axis_k, pairs.axes[c, m]]:
            value -= dot(a_d, vw)
            turned = axpy(ws.dq[d], a_d, turned)
            if kind == REVOLUTE:
                value += a_k[0] * rows[m, 1, 0] + a_k[1] * rows[m, 1, 1] + a_k[2] * rows[m, 1, 2]
                moved = axpy(ws.dq[d], (con.J[c, m, 0], con.J[c, m, 1], con.J[c, m, 2]), moved)
        G[d, pairs.dofs[c, k]] += value
    dd = axpy(1.0, cross(a_k, moved), minus(cross(turn, dp), cross(turned, v)))
    return dphi, dn, dd


@njit(**UNCOUNTED_INNER)
def _add_contact_derivatives(model: Model, ws: Newton, kappa: float, G: FloatArray) -> None:
    """Add d(J' w)/dq of the active contacts at fixed dq to G (n_v, n_v), with w of the barrier."""
    pairs, con, rows = model.pairs, ws.con, ws.rows
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        mu, phi, n, d_c = model.mu[c], ws.phi[c], row(con.n, c), row(ws.d, c)
        turn = _prepare_columns(model, ws, c, rows)
        for k in range(pairs.dof_count[c]):
            dphi, dn, dd = _motion_along(model, ws, c, k, turn, G, rows)
            dw = axpy(1.0, _curvature_times(ws.W, c, dd), barrier_mixed(phi, mu, n, d_c, kappa, dphi, dn))
            for m in range(pairs.dof_count[c]):
                G[pairs.dofs[c, m], pairs.dofs[c, k]] += (
                    con.J[c, m, 0] * dw[0] + con.J[c, m, 1] * dw[1] + con.J[c, m, 2] * dw[2]
                )


@njit(**COMPILED)
def contact_motion(model: Model, ws: Newton, c: int, G: FloatArray, rows: FloatArray, out: FloatArray) -> None:
    """Write dphi, dn and d(J dq) of contact c along every column of J_c to out (m, 7), at fixed dq = ws.dq.

    Adds d(J')/dq w with w = ws.w[c] held fixed to G (n_v, n_v); rows is (m, 2, 3). For formulations whose forces
    do not follow from a barrier.
    """
    turn = _prepare_columns(model, ws, c, rows)
    for k in range(model.pairs.dof_count[c]):
        dphi, dn, dd = _motion_along(model, ws, c, k, turn, G, rows)
        out[k, 0] = dphi
        for i in range(3):
            out[k, 1 + i] = dn[i]
            out[k, 4 + i] = dd[i]


@njit(**UNCOUNTED)
def solve_derivatives(model: Model, ws: Newton, kappa: float, X: FloatArray) -> None:
    """Write [d(dq)/dq, d(dq)/du] (n_v, n_v + n_a); ws must be as `solve_step` left it when it converged."""
    n_v, n_v_u = ws.dq.shape[0], model.n_v_u
    X[:, :] = 0.0
    G = X[:, :n_v]
    add_quadratic_derivative(model, ws.kin, ws.dq, G)
    _add_contact_derivatives(model, ws, kappa, G)
    for i in range(n_v):
        for j in range(n_v):
            G[i, j] = -G[i, j]
    for i in range(model.K.shape[0]):
        X[n_v_u + i, n_v + i] = model.K[i]
    solve_columns_in_place(ws.L, X)


@njit(inline="always", **COMPILED)
def _turn_rows(J: FloatArray, rows: FloatArray, out: FloatArray) -> None:
    """Write J rows, of 3 rows, to out."""
    for j in range(rows.shape[1]):
        x, y, z = rows[0, j], rows[1, j], rows[2, j]
        for i in range(3):
            out[i, j] = J[i, 0] * x + J[i, 1] * y + J[i, 2] * z


@njit(**COMPILED)
def tangent_derivatives(model: Model, ws: Newton, X: FloatArray, A: FloatArray, B: FloatArray) -> None:
    """Write A (n_v, n_v) and B (n_v, n_a) of q_next in tangent space from X of `solve_derivatives`."""
    tree = model.tree
    n_v = ws.dq.shape[0]
    for i in range(n_v):
        for j in range(n_v):
            A[i, j] = X[i, j]
        A[i, i] += 1.0
        for j in range(B.shape[1]):
            B[i, j] = X[i, n_v + j]
    for b in range(tree.parent.shape[0]):
        if tree.joint[b] != FREE:
            continue
        i = tree.i_v[b]
        theta = ws.dq[i : i + 3]
        J_l, R = left_jacobian(theta), rotation_exp(theta)
        _turn_rows(J_l, X[i : i + 3, :n_v], A[i : i + 3])
        _turn_rows(J_l, X[i : i + 3, n_v:], B[i : i + 3])
        A[i : i + 3, i : i + 3] += R


@njit(**UNCOUNTED)
def differentiate_step(model: Model, ws: Newton, kappa: float, X: FloatArray, A: FloatArray, B: FloatArray) -> None:
    """Write X of `solve_derivatives`, A and B of `tangent_derivatives`."""
    solve_derivatives(model, ws, kappa, X)
    tangent_derivatives(model, ws, X, A, B)


DERIVATIVES = SeparateCode(differentiate_step, types.none)
take_derivatives = DERIVATIVES.call
