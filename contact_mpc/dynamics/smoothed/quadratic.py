"""The contact-free part of a step: 1/2 dq' Q dq + b' dq, and how it changes with q.

Energy form of seeds/003, "Quasi-dynamic" and "What about friction?", divided by h:

    Q = diag(M_u(q) / h^2, K_a)        b = -[tau_u(q); K_a (u - q_a)]

M_u sums m J'J + J_w' I J_w over the objects' bodies, tau_u is their weight. Robots are gravity compensated and driven
through their joint stiffness K_a = Kp. Units: J, with Q in N/m or N m/rad.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from contact_mpc.geometry.contacts import Kinematics, Pairs
from contact_mpc.geometry.vectors import Vector, axpy, cross, dof_velocity, dot, minus, rotate, row, scaled
from contact_mpc.model.kinematic_tree import REVOLUTE, SHIFTS, TURNS, Tree
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER, UNCOUNTED
from contact_mpc.settings.code.separate_code import NO_CODE


class Codes(NamedTuple):
    """Addresses of the step's compiled functions in this process, see `contact_mpc.settings.code.separate_code`."""

    contacts: int
    step: int
    derivatives: int


NO_CODES = Codes(NO_CODE, NO_CODE, NO_CODE)


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
    codes: Codes

    def __reduce__(self) -> tuple[type["Model"], tuple[Any, ...]]:
        """Leave the addresses behind: they hold in this process alone."""
        return Model, (*self._replace(pairs=self.pairs._replace(convex_code=NO_CODE), codes=NO_CODES),)


@njit(**INNER)
def _centre_of_mass(tree: Tree, kin: Kinematics, body: int) -> Vector:
    return axpy(1.0, rotate(kin.R, body, row(tree.p_BC, body)), row(kin.p, body))


@njit(**INNER)
def _inertia_times(tree: Tree, kin: Kinematics, body: int, w: Vector) -> Vector:
    """Return I_W w with I_W = R I R'."""
    R = kin.R
    local = (
        R[body, 0, 0] * w[0] + R[body, 1, 0] * w[1] + R[body, 2, 0] * w[2],
        R[body, 0, 1] * w[0] + R[body, 1, 1] * w[1] + R[body, 2, 1] * w[2],
        R[body, 0, 2] * w[0] + R[body, 1, 2] * w[1] + R[body, 2, 2] * w[2],
    )
    return rotate(R, body, rotate(tree.inertia_BC, body, local))


@njit(**COMPILED)
def _column(tree: Tree, kin: Kinematics, d: int, p: Vector) -> Vector:
    return dof_velocity(tree.axis_kind[d], row(kin.axes, d), row(kin.origins, d), p)


@njit(**COMPILED)
def _turn(tree: Tree, kin: Kinematics, d: int) -> Vector:
    return row(kin.axes, d) if tree.axis_kind[d] == REVOLUTE else (0.0, 0.0, 0.0)


@njit(**COMPILED)
def assemble_quadratic(
    model: Model, kin: Kinematics, q: FloatArray, u: FloatArray, Q: FloatArray, b: FloatArray
) -> None:
    """Write Q (n_v, n_v; zero where it couples robots) and b (n_v,) at (q, u); kin must belong to q."""
    tree, n_v_u, n_a = model.tree, model.n_v_u, model.K.shape[0]
    n_q_u = q.shape[0] - n_a
    for i in range(n_v_u):
        b[i] = 0.0
        for j in range(n_v_u):
            Q[i, j] = 0.0
    for i in range(n_a):
        Q[n_v_u + i, n_v_u + i] = model.K[i]
        b[n_v_u + i] = -model.K[i] * (u[i] - q[n_q_u + i])
    gravity = (model.gravity[0], model.gravity[1], model.gravity[2])
    inverse_h2 = 1.0 / (model.h * model.h)
    columns = np.empty((tree.chain.shape[1], 6))
    for body in range(tree.parent.shape[0]):
        if tree.i_v[body] >= n_v_u or tree.mass[body] == 0.0:
            continue
        centre, mass = _centre_of_mass(tree, kin, body), tree.mass[body]
        for k in range(tree.chain_count[body]):
            d = tree.chain[body, k]
            J_d, turn = _column(tree, kin, d, centre), _turn(tree, kin, d)
            momentum = _inertia_times(tree, kin, body, turn)
            b[d] -= mass * dot(J_d, gravity)
            for i in range(3):
                columns[k, i], columns[k, 3 + i] = J_d[i], turn[i]
            for m in range(k + 1):
                e, value = tree.chain[body, m], 0.0
                for i in range(3):
                    value += mass * J_d[i] * columns[m, i] + momentum[i] * columns[m, 3 + i]
                Q[d, e] += inverse_h2 * value
                if m < k:
                    Q[e, d] += inverse_h2 * value


@njit(**UNCOUNTED)
def add_quadratic_derivative(model: Model, kin: Kinematics, dq: FloatArray, G: FloatArray) -> None:
    """Add d(Q dq + b)/dq at fixed dq and u to G (n_v, n_v)."""
    tree, n_v_u = model.tree, model.n_v_u
    for i in range(model.K.shape[0]):
        G[n_v_u + i, n_v_u + i] += model.K[i]
    for body in range(tree.parent.shape[0]):
        if tree.i_v[body] < n_v_u and tree.mass[body] > 0.0:
            _add_body_derivative(model, kin, body, dq, G)


@njit(**INNER)
def _add_body_derivative(model: Model, kin: Kinematics, body: int, dq: FloatArray, G: FloatArray) -> None:
    """Derivative of sum_d J_d . F + a_d . L, F = m (J dq / h^2 - g), L = I_W w / h^2, w = J_w dq, at fixed dq.

    Motion of k moves the centre of mass by v = J_k. A column swept by k changes by a_k x J_d (the terms a_d x (dp - v)
    vanish with dp = v), any other by a_d x v; an axis turned by k changes by a_k x a_d; and
    d(I_W) w = a_k x (I_W w) - I_W (a_k x w).
    """
    tree, i_h2 = model.tree, 1.0 / (model.h * model.h)
    centre, mass, count = _centre_of_mass(tree, kin, body), tree.mass[body], tree.chain_count[body]
    moved, w, columns = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), np.empty((2, count, 3))
    for k in range(count):
        d = tree.chain[body, k]
        J_d, a_d = _column(tree, kin, d, centre), _turn(tree, kin, d)
        moved, w = axpy(dq[d], J_d, moved), axpy(dq[d], a_d, w)
        for i in range(3):
            columns[0, k, i], columns[1, k, i] = J_d[i], a_d[i]
    gravity = (model.gravity[0], model.gravity[1], model.gravity[2])
    force = scaled(mass, axpy(i_h2, moved, scaled(-1.0, gravity)))
    momentum = scaled(i_h2, _inertia_times(tree, kin, body, w))
    J, a = columns[0], columns[1]
    for k in range(count):
        dof_k = tree.chain[body, k]
        v, turn_k = row(J, k), row(a, k)
        dv, dw = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for m in range(count):
            d = tree.chain[body, m]
            a_d, carried = row(a, m), tree.carries[dof_k, d]
            if carried == TURNS:
                column, axis = cross(turn_k, row(J, m)), cross(turn_k, a_d)
                dw = axpy(dq[d], axis, dw)
                G[d, dof_k] += dot(column, force) + dot(axis, momentum)
            elif carried == SHIFTS:
                continue
            else:
                column = cross(a_d, v)
                G[d, dof_k] += dot(column, force)
            dv = axpy(dq[d], column, dv)
        dF = scaled(mass * i_h2, dv)
        dL = axpy(i_h2, _inertia_times(tree, kin, body, minus(dw, cross(turn_k, w))), cross(turn_k, momentum))
        for m in range(count):
            G[tree.chain[body, m], dof_k] += dot(row(J, m), dF) + dot(row(a, m), dL)
