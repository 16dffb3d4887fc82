"""The contact-free part of a step: 1/2 dq' Q dq + b' dq, and how it changes with q.

Energy form of seeds/003, "Quasi-dynamic" and "What about friction?", divided by h:

    Q = diag(M_u(q) / h^2, K_a)        b = -[tau_u(q); K_a (u - q_a)]

M_u sums m J'J + J_w' I J_w over the objects' bodies, tau_u is their weight. Robots are gravity compensated and driven
through their joint stiffness K_a = Kp. Units: J, with Q in N/m or N m/rad.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.flags import COMPILED
from contact_mpc.geometry.contacts import Kinematics, Pairs, cross_into, dof_velocity_into
from contact_mpc.model.kinematic_tree import REVOLUTE, Tree

FloatArray = NDArray[np.float64]


class Model(NamedTuple):
    """All constants of the compiled step.

    K : (n_a,) joint stiffness, N m/rad;  gravity : (3,) m/s^2;  h : s;  kappa : 1/J;  activation : m
    n_v_u : length of v_u;  mu : (n_c,) friction coefficients
    """

    tree: Tree
    pairs: Pairs
    K: FloatArray
    gravity: FloatArray
    mu: FloatArray
    h: float
    activation: float
    n_v_u: int


@njit(**COMPILED)
def _body_columns(tree: Tree, kin: Kinematics, b: int, centre: FloatArray, J: FloatArray) -> None:
    """Write the world centre of mass (3,) of body b and its velocity columns J (n_chain, 3)."""
    for i in range(3):
        centre[i] = kin.p[b, i]
        for k in range(3):
            centre[i] += kin.R[b, i, k] * tree.p_BC[b, k]
    for k in range(tree.chain_count[b]):
        d = tree.chain[b, k]
        dof_velocity_into(tree.dof_kind[d], kin.axes[d], kin.origins[d], centre, J[k])


@njit(**COMPILED)
def _world_inertia(tree: Tree, kin: Kinematics, b: int, I_W: FloatArray) -> None:
    for i in range(3):
        for j in range(3):
            I_W[i, j] = 0.0
            for k in range(3):
                for m in range(3):
                    I_W[i, j] += kin.R[b, i, k] * tree.inertia_BC[b, k, m] * kin.R[b, j, m]


@njit(**COMPILED)
def assemble_quadratic(
    model: Model, kin: Kinematics, q: FloatArray, u: FloatArray, Q: FloatArray, b: FloatArray
) -> None:
    """Write Q (n_v, n_v) and b (n_v,) at (q, u); kin must belong to q."""
    tree = model.tree
    n_v_u, n_a = model.n_v_u, model.K.shape[0]
    Q[:, :] = 0.0
    b[:] = 0.0
    n_q_u = q.shape[0] - n_a
    for i in range(n_a):
        Q[n_v_u + i, n_v_u + i] = model.K[i]
        b[n_v_u + i] = -model.K[i] * (u[i] - q[n_q_u + i])
    J, centre, I_W = np.empty((tree.chain.shape[1], 3)), np.empty(3), np.empty((3, 3))
    inverse_h2 = 1.0 / (model.h * model.h)
    for body in range(tree.parent.shape[0]):
        if tree.i_v[body] >= n_v_u or tree.mass[body] == 0.0:
            continue
        _body_columns(tree, kin, body, centre, J)
        _world_inertia(tree, kin, body, I_W)
        mass = tree.mass[body]
        for k in range(tree.chain_count[body]):
            d = tree.chain[body, k]
            b[d] -= mass * (J[k, 0] * model.gravity[0] + J[k, 1] * model.gravity[1] + J[k, 2] * model.gravity[2])
            for m in range(tree.chain_count[body]):
                e = tree.chain[body, m]
                value = mass * (J[k, 0] * J[m, 0] + J[k, 1] * J[m, 1] + J[k, 2] * J[m, 2])
                if tree.dof_kind[d] == REVOLUTE and tree.dof_kind[e] == REVOLUTE:
                    for i in range(3):
                        for j in range(3):
                            value += kin.axes[d, i] * I_W[i, j] * kin.axes[e, j]
                Q[d, e] += inverse_h2 * value


@njit(**COMPILED)
def column_derivative(
    tree: Tree, kin: Kinematics, d: int, k: int, p: FloatArray, dp_k: FloatArray, out: FloatArray, scratch: FloatArray
) -> None:
    """Write d(column d at the point p)/dq_k, where p itself moves by dp_k; scratch is (3, 3)."""
    da, arm = scratch[0], scratch[1]
    if tree.turns[k, d]:
        cross_into(kin.axes[k], kin.axes[d], da)
    else:
        da[:] = 0.0
    if tree.dof_kind[d] != REVOLUTE:
        out[:] = da
        return
    for i in range(3):
        arm[i] = p[i] - kin.origins[d, i]
    cross_into(da, arm, out)
    if tree.carries[k, d]:
        dof_velocity_into(tree.dof_kind[k], kin.axes[k], kin.origins[k], kin.origins[d], arm)
    else:
        arm[:] = 0.0
    for i in range(3):
        arm[i] = dp_k[i] - arm[i]
    cross_into(kin.axes[d], arm, scratch[2])
    for i in range(3):
        out[i] += scratch[2, i]


@njit(**COMPILED)
def add_quadratic_derivative(model: Model, kin: Kinematics, dq: FloatArray, G: FloatArray) -> None:
    """Add d(Q dq + b)/dq at fixed dq and u to G (n_v, n_v)."""
    tree, n_v_u = model.tree, model.n_v_u
    for i in range(model.K.shape[0]):
        G[n_v_u + i, n_v_u + i] += model.K[i]
    for body in range(tree.parent.shape[0]):
        if tree.i_v[body] < n_v_u and tree.mass[body] > 0.0:
            _add_body_derivative(model, kin, body, dq, G)


@njit(**COMPILED)
def _add_body_derivative(model: Model, kin: Kinematics, body: int, dq: FloatArray, G: FloatArray) -> None:
    """Derivative of sum_d J_d' (m J dq / h^2 - m g) + a_d' (I_W w) / h^2 with w = J_w dq."""
    tree = model.tree
    count, mass = tree.chain_count[body], tree.mass[body]
    J, centre, I_W = np.empty((tree.chain.shape[1], 3)), np.empty(3), np.empty((3, 3))
    _body_columns(tree, kin, body, centre, J)
    _world_inertia(tree, kin, body, I_W)
    inverse_h2 = 1.0 / (model.h * model.h)
    w, force = np.zeros(3), np.zeros(3)
    for k in range(count):
        d = tree.chain[body, k]
        for i in range(3):
            force[i] += J[k, i] * dq[d]
            if tree.dof_kind[d] == REVOLUTE:
                w[i] += kin.axes[d, i] * dq[d]
    for i in range(3):
        force[i] = mass * (inverse_h2 * force[i] - model.gravity[i])
    momentum = I_W @ w
    column, dv, dw, dm, da, scratch = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty((3, 3))
    for k in range(count):
        dof_k = tree.chain[body, k]
        dv[:] = 0.0
        dw[:] = 0.0
        for m in range(count):
            d = tree.chain[body, m]
            column_derivative(tree, kin, d, dof_k, centre, J[k], column, scratch)
            for i in range(3):
                dv[i] += column[i] * dq[d]
                G[d, dof_k] += column[i] * force[i]
            if tree.dof_kind[d] == REVOLUTE and tree.turns[dof_k, d]:
                cross_into(kin.axes[dof_k], kin.axes[d], da)
                for i in range(3):
                    dw[i] += da[i] * dq[d]
                    G[d, dof_k] += inverse_h2 * da[i] * momentum[i]
        dm[:] = I_W @ dw
        if tree.dof_kind[dof_k] == REVOLUTE:  # d(I_W) w = a x (I_W w) - I_W (a x w)
            cross_into(kin.axes[dof_k], momentum, da)
            dm += da
            cross_into(kin.axes[dof_k], w, da)
            dm -= I_W @ da
        for m in range(count):
            d = tree.chain[body, m]
            for i in range(3):
                G[d, dof_k] += inverse_h2 * mass * J[m, i] * dv[i]
                if tree.dof_kind[d] == REVOLUTE:
                    G[d, dof_k] += inverse_h2 * kin.axes[d, i] * dm[i]
