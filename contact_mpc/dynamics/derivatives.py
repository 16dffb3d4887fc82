"""Exact derivatives A, B of the smoothed step by the implicit function theorem, with all geometry terms.

At the solution the gradient g(dq; q, u) = Q dq + b + sum_i J_i' w_i(phi_i, n_i, J_i dq) vanishes, so

    H d(dq)/dq = -dg/dq,   H d(dq)/du = -dg/du = [0; K_a]        (seeds/003, "Differentiability")

with the Newton Hessian H and dg/dq including dphi/dq, dn/dq, dJ/dq. The configuration is updated on the left,
q_next = Exp(dq) q, so in tangent space the rows of a free object's rotation become

    A = J_l(dtheta) d(dtheta)/dq + Exp(dtheta),   B = J_l(dtheta) d(dtheta)/du

and A = I + d(dq)/dq elsewhere.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.barrier import barrier_mixed
from contact_mpc.dynamics.cholesky import factorise, solve_columns_in_place
from contact_mpc.dynamics.flags import COMPILED
from contact_mpc.dynamics.log_barrier import Newton, assemble_newton
from contact_mpc.dynamics.quadratic import Model, add_quadratic_derivative, column_derivative
from contact_mpc.geometry.contacts import cross_into, dof_velocity_into
from contact_mpc.model.kinematic_tree import FREE, REVOLUTE
from contact_mpc.model.rotations import left_jacobian, rotation_exp

FloatArray = NDArray[np.float64]


@njit(**COMPILED)
def _contact_motion(
    model: Model, ws: Newton, c: int, k: int, dn: FloatArray, dp: FloatArray, scratch: FloatArray
) -> float:
    """Write dn and dp of contact c along its k-th degree of freedom; return dphi."""
    tree, con, kin = model.tree, ws.con, ws.kin
    d = model.pairs.dofs[c, k]
    n, p, N = con.n[c], con.p[c], con.N[c]
    delta, v_B, bend = scratch[0], scratch[1], scratch[2]
    dof_velocity_into(tree.dof_kind[d], kin.axes[d], kin.origins[d], con.centre[c], delta)
    dn[:] = 0.0
    v_B[:] = 0.0
    if model.pairs.dof_sign[c, k] < 0.0:
        for i in range(3):
            delta[i] = -delta[i]
        dof_velocity_into(tree.dof_kind[d], kin.axes[d], kin.origins[d], p, v_B)
        if tree.dof_kind[d] == REVOLUTE:
            cross_into(kin.axes[d], n, dn)
    dphi = n[0] * delta[0] + n[1] * delta[1] + n[2] * delta[2]
    reach = tree.geom_size[model.pairs.geom_a[c], 0] + 0.5 * con.phi[c]
    for i in range(3):
        bend[i] = N[i, 0] * delta[0] + N[i, 1] * delta[1] + N[i, 2] * delta[2]
        dn[i] += bend[i]
        dp[i] = v_B[i] + delta[i] - reach * bend[i] - 0.5 * n[i] * dphi
    return dphi


@njit(**COMPILED)
def _add_contact_derivative(
    model: Model, ws: Newton, c: int, kappa: float, G: FloatArray, columns: FloatArray, scratch: FloatArray
) -> None:
    """Add d(J' w)/dq of contact c at fixed dq to G (n_v, n_v); columns is (m, 3), scratch is (10, 3)."""
    pairs, tree = model.pairs, model.tree
    dn, dp, dw, dd = scratch[0], scratch[1], scratch[2], scratch[3]
    w, W, J = ws.w[c], ws.W[c], ws.con.J[c]
    for k in range(pairs.dof_count[c]):
        dof_k = pairs.dofs[c, k]
        dphi = _contact_motion(model, ws, c, k, dn, dp, scratch[4:7])
        barrier_mixed(ws.phi[c], model.mu[c], ws.con.n[c], ws.d[c], kappa, dphi, dn, dw)
        dd[:] = 0.0
        for m in range(pairs.dof_count[c]):
            d = pairs.dofs[c, m]
            column_derivative(tree, ws.kin, d, dof_k, ws.con.p[c], dp, columns[m], scratch[7:10])
            scale = pairs.dof_sign[c, m]
            for i in range(3):
                columns[m, i] *= scale
                dd[i] += columns[m, i] * ws.dq[d]
        for i in range(3):
            dw[i] += W[i, 0] * dd[0] + W[i, 1] * dd[1] + W[i, 2] * dd[2]
        for m in range(pairs.dof_count[c]):
            G[pairs.dofs[c, m], dof_k] += (
                columns[m, 0] * w[0] + columns[m, 1] * w[1] + columns[m, 2] * w[2]
                + J[m, 0] * dw[0] + J[m, 1] * dw[1] + J[m, 2] * dw[2]
            )


@njit(**COMPILED)
def solve_derivatives(model: Model, ws: Newton, kappa: float, X: FloatArray) -> bool:
    """Write [d(dq)/dq, d(dq)/du] (n_v, n_v + n_a) at the solution in ws; False where H is not definite."""
    n_v, n_v_u = ws.dq.shape[0], model.n_v_u
    assemble_newton(model, ws, kappa)
    if not factorise(ws.H, ws.L):
        return False
    X[:, :] = 0.0
    G = X[:, :n_v]
    add_quadratic_derivative(model, ws.kin, ws.dq, G)
    columns, scratch = np.empty((model.pairs.dofs.shape[1], 3)), np.empty((10, 3))
    for a in range(ws.count[0]):
        _add_contact_derivative(model, ws, ws.active[a], kappa, G, columns, scratch)
    for i in range(n_v):
        for j in range(n_v):
            G[i, j] = -G[i, j]
    for i in range(model.K.shape[0]):
        X[n_v_u + i, n_v + i] = model.K[i]
    solve_columns_in_place(ws.L, X)
    return True


@njit(**COMPILED)
def tangent_derivatives(model: Model, ws: Newton, X: FloatArray, A: FloatArray, B: FloatArray) -> None:
    """Write A (n_v, n_v) and B (n_v, n_a) of q_next in tangent space from X of `solve_derivatives`."""
    tree = model.tree
    n_v = ws.dq.shape[0]
    A[:, :] = X[:, :n_v]
    B[:, :] = X[:, n_v:]
    for i in range(n_v):
        A[i, i] += 1.0
    for b in range(tree.parent.shape[0]):
        if tree.joint[b] != FREE:
            continue
        i = tree.i_v[b]
        theta = ws.dq[i : i + 3]
        J_l, R = left_jacobian(theta), rotation_exp(theta)
        A[i : i + 3] = J_l @ np.ascontiguousarray(X[i : i + 3, :n_v])
        B[i : i + 3] = J_l @ np.ascontiguousarray(X[i : i + 3, n_v:])
        A[i : i + 3, i : i + 3] += R
