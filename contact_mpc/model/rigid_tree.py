"""Dynamics of a flat tree, compiled: M(q) dv + b(q, v) = tau, from the tree that kinematics uses.

M = sum over bodies of m J_v^T J_v + J_w^T I J_w at the centres of mass, b the same Jacobians on what accelerates at
dv = 0 (1, 2 of seeds/002 for every body). Chains of hands are short, so this is as fast as recursive algorithms.
"""

import numpy as np
from numba import njit

from contact_mpc.model.kinematic_tree import FREE, REVOLUTE, Tree
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER


@njit(**INNER)
def _cross(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@njit(**INNER)
def _times(A: FloatArray, x: FloatArray, out: FloatArray) -> None:
    for i in range(3):
        out[i] = A[i, 0] * x[0] + A[i, 1] * x[1] + A[i, 2] * x[2]


@njit(**INNER)
def _turn_inertia(R: FloatArray, inertia: FloatArray, out: FloatArray) -> None:
    """Write R I R^T."""
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                for m in range(3):
                    total += R[i, k] * inertia[k, m] * R[j, m]
            out[i, j] = total


@njit(**INNER)
def body_motion(tree: Tree, axes: FloatArray, p: FloatArray, v: FloatArray, motion: FloatArray) -> None:
    """Write (n_b, 12) of each body: omega, velocity of its origin, and their rates at dv/dt = 0, in the world."""
    w, r, wr, j = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for b in range(tree.parent.shape[0]):
        d, m = tree.i_v[b], motion[b]
        for i in range(12):
            m[i] = 0.0
        if tree.joint[b] == FREE:
            for i in range(6):
                m[i] = v[d + i]
            continue
        parent = tree.parent[b]
        if parent >= 0:
            up = motion[parent]
            for i in range(3):
                r[i] = p[b, i] - p[parent, i]
                w[i] = up[i]
                m[i], m[6 + i] = up[i], up[6 + i]
            _cross(w, r, wr)
            for i in range(3):
                m[3 + i] = up[3 + i] + wr[i]
            _cross(w, wr, j)
            _cross(up[6:9], r, wr)
            for i in range(3):
                m[9 + i] = up[9 + i] + j[i] + wr[i]
        else:
            w[0], w[1], w[2] = 0.0, 0.0, 0.0
        for i in range(3):
            r[i] = axes[tree.chain[b, tree.chain_count[b] - 1], i] * v[d]
        _cross(w, r, j)
        first, factor = (0, 1.0) if tree.joint[b] == REVOLUTE else (3, 2.0)
        for i in range(3):
            m[first + i] += r[i]
            m[6 + first + i] += factor * j[i]


@njit(**COMPILED)
def column(tree: Tree, axes: FloatArray, origins: FloatArray, d: int, x: FloatArray, out: FloatArray) -> None:
    """Write the angular and linear velocity (6,) at a point x of a body along axis d, per unit of what moves it."""
    if tree.axis_kind[d] == REVOLUTE:
        out[0], out[1], out[2] = axes[d, 0], axes[d, 1], axes[d, 2]
        a, b, c = axes[d, 0], axes[d, 1], axes[d, 2]
        u, v, w = x[0] - origins[d, 0], x[1] - origins[d, 1], x[2] - origins[d, 2]
        out[3], out[4], out[5] = b * w - c * v, c * u - a * w, a * v - b * u
    else:
        out[0], out[1], out[2] = 0.0, 0.0, 0.0
        out[3], out[4], out[5] = axes[d, 0], axes[d, 1], axes[d, 2]


@njit(**COMPILED)
def mass_and_bias(
    tree: Tree,
    R: FloatArray,
    p: FloatArray,
    axes: FloatArray,
    origins: FloatArray,
    motion: FloatArray,
    gravity: FloatArray,
    M: FloatArray,
    bias: FloatArray,
) -> None:
    """Write M (n_v, n_v) and b (n_v,) with gravity (3,), m/s^2, in it: b = velocity terms - weight."""
    M[:, :] = 0.0
    bias[:] = 0.0
    columns = np.zeros((tree.chain.shape[1], 6))
    a, t, c, r, x, turned = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    inertia = np.zeros((3, 3))
    for b in range(tree.parent.shape[0]):
        mass = tree.mass[b]
        if mass == 0.0:
            continue
        m = motion[b]
        _times(R[b], tree.p_BC[b], r)
        _turn_inertia(R[b], tree.inertia_BC[b], inertia)
        _cross(m[:3], r, t)
        _cross(m[:3], t, a)
        _cross(m[6:9], r, t)
        for i in range(3):
            x[i] = p[b, i] + r[i]
            a[i] += t[i] + m[9 + i] - gravity[i]
        _times(inertia, m[:3], t)
        _cross(m[:3], t, c)
        _times(inertia, m[6:9], t)
        for i in range(3):
            c[i] += t[i]
        n = tree.chain_count[b]
        for i in range(n):
            column(tree, axes, origins, tree.chain[b, i], x, columns[i])
        for i in range(n):
            d, J = tree.axis_dof[tree.chain[b, i]], columns[i]
            _times(inertia, J[:3], turned)
            bias[d] += mass * (J[3] * a[0] + J[4] * a[1] + J[5] * a[2]) + J[0] * c[0] + J[1] * c[1] + J[2] * c[2]
            for k in range(i + 1):
                e, K = tree.axis_dof[tree.chain[b, k]], columns[k]
                value = mass * (J[3] * K[3] + J[4] * K[4] + J[5] * K[5])
                value += turned[0] * K[0] + turned[1] * K[1] + turned[2] * K[2]
                M[d, e] += value
                if k != i:
                    M[e, d] += value


@njit(**INNER)
def add_force(
    tree: Tree, axes: FloatArray, origins: FloatArray, b: int, x: FloatArray, f: FloatArray, sign: float,
    tau: FloatArray,
) -> None:  # fmt: skip
    """Add J^T f (n_v,) of a force at a point x of body b (-1: the world), times sign."""
    if b < 0:
        return
    J = np.empty(6)
    for i in range(tree.chain_count[b]):
        d = tree.chain[b, i]
        column(tree, axes, origins, d, x, J)
        tau[tree.axis_dof[d]] += sign * (J[3] * f[0] + J[4] * f[1] + J[5] * f[2])


@njit(**INNER)
def configuration_rate(tree: Tree, q: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Write dq/dt (n_q,): velocities, and for free bodies half of omega times the quaternion."""
    for b in range(tree.parent.shape[0]):
        i, d = tree.i_q[b], tree.i_v[b]
        if tree.joint[b] != FREE:
            out[i] = v[d]
            continue
        w, x, y, z = q[i], q[i + 1], q[i + 2], q[i + 3]
        a, c, e = v[d], v[d + 1], v[d + 2]
        out[i] = -0.5 * (a * x + c * y + e * z)
        out[i + 1] = 0.5 * (a * w + c * z - e * y)
        out[i + 2] = 0.5 * (c * w + e * x - a * z)
        out[i + 3] = 0.5 * (e * w + a * y - c * x)
        out[i + 4], out[i + 5], out[i + 6] = v[d + 3], v[d + 4], v[d + 5]


@njit(**COMPILED)
def inertia_and_velocity_terms(
    tree: Tree, R: FloatArray, p: FloatArray, axes: FloatArray, origins: FloatArray, v: FloatArray, M: FloatArray,
    bias: FloatArray,
) -> None:  # fmt: skip
    """Write M (n_v, n_v) and C(q, v) v (n_v,), without weight."""
    motion = np.zeros((tree.parent.shape[0], 12))
    body_motion(tree, axes, p, v, motion)
    mass_and_bias(tree, R, p, axes, origins, motion, np.zeros(3), M, bias)
