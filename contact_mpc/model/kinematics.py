"""Forward kinematics of a flat tree, compiled, and how a frame moves with its degrees of freedom."""

import numpy as np
from numba import njit

from contact_mpc.model.kinematic_tree import FREE, REVOLUTE, Tree
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER


@njit(**INNER)
def _place_free(q: FloatArray, i: int, b: int, R: FloatArray, p: FloatArray) -> None:
    """Write the pose of the free body b from q[i : i + 7]."""
    w, x, y, z = q[i], q[i + 1], q[i + 2], q[i + 3]
    R[b, 0, 0], R[b, 0, 1], R[b, 0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[b, 1, 0], R[b, 1, 1], R[b, 1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[b, 2, 0], R[b, 2, 1], R[b, 2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    for k in range(3):
        p[b, k] = q[i + 4 + k]


@njit(**INNER)
def _place_joint_frame(tree: Tree, b: int, R: FloatArray, p: FloatArray) -> None:
    """Write the pose of the joint that carries b, at zero, from the parent's."""
    parent, R_PJ, p_PJ = tree.parent[b], tree.R_PJ, tree.p_PJ
    if parent < 0:
        for i in range(3):
            p[b, i] = p_PJ[b, i]
            for j in range(3):
                R[b, i, j] = R_PJ[b, i, j]
        return
    for i in range(3):
        x, y, z = R[parent, i, 0], R[parent, i, 1], R[parent, i, 2]
        p[b, i] = p[parent, i] + x * p_PJ[b, 0] + y * p_PJ[b, 1] + z * p_PJ[b, 2]
        for j in range(3):
            R[b, i, j] = x * R_PJ[b, 0, j] + y * R_PJ[b, 1, j] + z * R_PJ[b, 2, j]


@njit(**INNER)
def _turn_about_axis(tree: Tree, b: int, angle: float, R: FloatArray) -> None:
    """Replace R[b] by R[b] Exp(axis angle): rows r become cos r + (1 - cos) (r . axis) axis - sin axis x r."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = tree.axis_J[b, 0], tree.axis_J[b, 1], tree.axis_J[b, 2]
    for i in range(3):
        r_0, r_1, r_2 = R[b, i, 0], R[b, i, 1], R[b, i, 2]
        along = (1.0 - c) * (r_0 * x + r_1 * y + r_2 * z)
        R[b, i, 0] = c * r_0 + along * x - s * (y * r_2 - z * r_1)
        R[b, i, 1] = c * r_1 + along * y - s * (z * r_0 - x * r_2)
        R[b, i, 2] = c * r_2 + along * z - s * (x * r_1 - y * r_0)


@njit(**INNER)
def forward_kinematics_into(tree: Tree, q: FloatArray, R: FloatArray, p: FloatArray) -> None:
    """Write R_WB (n_b, 3, 3) and p_WB (n_b, 3) of every body."""
    for b in range(tree.parent.shape[0]):
        i = tree.i_q[b]
        if tree.joint[b] == FREE:
            _place_free(q, i, b, R, p)
            continue
        _place_joint_frame(tree, b, R, p)
        position = tree.ratio[b] * q[i]
        if tree.joint[b] == REVOLUTE:
            _turn_about_axis(tree, b, position, R)
            continue
        x, y, z = tree.axis_J[b, 0], tree.axis_J[b, 1], tree.axis_J[b, 2]
        for k in range(3):
            p[b, k] += (R[b, k, 0] * x + R[b, k, 1] * y + R[b, k, 2] * z) * position


@njit(**COMPILED)
def forward_kinematics(tree: Tree, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return R_WB (n_b, 3, 3) and p_WB (n_b, 3), m, of every body for a configuration q (n_q,)."""
    n_b = tree.parent.shape[0]
    R, p = np.empty((n_b, 3, 3)), np.empty((n_b, 3))
    forward_kinematics_into(tree, q, R, p)
    return R, p


@njit(**COMPILED)
def dof_axes_into(tree: Tree, R: FloatArray, p: FloatArray, axes: FloatArray, origins: FloatArray) -> None:
    """Write every axis in the world, times its ratio, and a point on it: (n_axes, 3) each."""
    for b in range(tree.parent.shape[0]):
        if tree.joint[b] == FREE:
            d = tree.i_v[b]
            for k in range(6):
                for i in range(3):
                    axes[d + k, i] = 1.0 if i == k % 3 else 0.0
                    origins[d + k, i] = p[b, i]
        else:
            d, ratio = tree.chain[b, tree.chain_count[b] - 1], tree.ratio[b]
            x, y, z = ratio * tree.axis_J[b, 0], ratio * tree.axis_J[b, 1], ratio * tree.axis_J[b, 2]
            for i in range(3):
                axes[d, i] = R[b, i, 0] * x + R[b, i, 1] * y + R[b, i, 2] * z
                origins[d, i] = p[b, i]


def frame_jacobian(tree: Tree, q: FloatArray, body: int, p_BF: FloatArray) -> FloatArray:
    """Return J (6, n_v): turn, rad, and displacement, m, in the world of a frame at p_BF in a body, for a motion dq."""
    flat = np.ascontiguousarray(q, dtype=np.float64), np.ascontiguousarray(p_BF, dtype=np.float64)
    return np.asarray(_frame_jacobian(tree, flat[0], body, flat[1]))


@njit(**COMPILED)
def _frame_jacobian(tree: Tree, q: FloatArray, body: int, p_BF: FloatArray) -> FloatArray:
    R, p = forward_kinematics(tree, q)
    n_axes = tree.axis_dof.shape[0]
    axes, origins = np.empty((n_axes, 3)), np.empty((n_axes, 3))
    dof_axes_into(tree, R, p, axes, origins)
    J, arm = np.zeros((6, tree.dof_body.shape[0])), np.empty(3)
    for k in range(tree.chain_count[body]):
        row = tree.chain[body, k]
        axis, dof = axes[row], tree.axis_dof[row]
        if tree.axis_kind[row] != REVOLUTE:
            for i in range(3):
                J[3 + i, dof] += axis[i]
            continue
        for i in range(3):
            arm[i] = p[body, i] - origins[row, i]
            for j in range(3):
                arm[i] += R[body, i, j] * p_BF[j]
        for i in range(3):
            J[i, dof] += axis[i]
            J[3 + i, dof] += axis[(i + 1) % 3] * arm[(i + 2) % 3] - axis[(i + 2) % 3] * arm[(i + 1) % 3]
    return J
