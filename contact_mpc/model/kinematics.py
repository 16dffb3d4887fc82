"""Forward kinematics of a flat tree, compiled."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.model.kinematic_tree import FREE, REVOLUTE, Tree
from contact_mpc.model.rotations import quaternion_to_matrix

FloatArray = NDArray[np.float64]


@njit(cache=True)
def _multiply_into(A: FloatArray, B: FloatArray, out: FloatArray) -> None:
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@njit(cache=True)
def _rotate_about(axis: FloatArray, angle: float, out: FloatArray) -> None:
    """Write Exp(axis angle) (Rodrigues)."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = axis[0], axis[1], axis[2]
    t = 1.0 - c
    out[0, 0], out[0, 1], out[0, 2] = c + t * x * x, t * x * y - s * z, t * x * z + s * y
    out[1, 0], out[1, 1], out[1, 2] = t * x * y + s * z, c + t * y * y, t * y * z - s * x
    out[2, 0], out[2, 1], out[2, 2] = t * x * z - s * y, t * y * z + s * x, c + t * z * z


@njit(cache=True)
def forward_kinematics_into(tree: Tree, q: FloatArray, R: FloatArray, p: FloatArray, scratch: FloatArray) -> None:
    """Write R_WB (n_b, 3, 3) and p_WB (n_b, 3) of every body; scratch is (2, 3, 3)."""
    R_WJ, R_J = scratch[0], scratch[1]
    for b in range(tree.parent.shape[0]):
        parent, i = tree.parent[b], tree.i_q[b]
        if tree.joint[b] == FREE:
            R[b] = quaternion_to_matrix(q[i : i + 4])
            p[b] = q[i + 4 : i + 7]
            continue
        if parent < 0:
            R_WJ[:] = tree.R_PJ[b]
            p[b] = tree.p_PJ[b]
        else:
            _multiply_into(R[parent], tree.R_PJ[b], R_WJ)
            for k in range(3):
                p[b, k] = p[parent, k] + (
                    R[parent, k, 0] * tree.p_PJ[b, 0]
                    + R[parent, k, 1] * tree.p_PJ[b, 1]
                    + R[parent, k, 2] * tree.p_PJ[b, 2]
                )
        axis = tree.axis_J[b]
        if tree.joint[b] == REVOLUTE:
            _rotate_about(axis, q[i], R_J)
            _multiply_into(R_WJ, R_J, R[b])
        else:
            R[b] = R_WJ
            for k in range(3):
                p[b, k] += (R_WJ[k, 0] * axis[0] + R_WJ[k, 1] * axis[1] + R_WJ[k, 2] * axis[2]) * q[i]


@njit(cache=True)
def forward_kinematics(tree: Tree, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return R_WB (n_b, 3, 3) and p_WB (n_b, 3), m, of every body for a configuration q (n_q,)."""
    n_b = tree.parent.shape[0]
    R, p = np.empty((n_b, 3, 3)), np.empty((n_b, 3))
    forward_kinematics_into(tree, q, R, p, np.empty((2, 3, 3)))
    return R, p


@njit(cache=True)
def dof_axes_into(tree: Tree, R: FloatArray, p: FloatArray, axes: FloatArray, origins: FloatArray) -> None:
    """Write the world axis and a point on it (n_v, 3) of every degree of freedom."""
    for b in range(tree.parent.shape[0]):
        d = tree.i_v[b]
        if tree.joint[b] == FREE:
            for k in range(6):
                axes[d + k] = 0.0
                axes[d + k, k % 3] = 1.0
                origins[d + k] = p[b]
        else:
            for k in range(3):
                a = tree.axis_J[b]
                axes[d, k] = R[b, k, 0] * a[0] + R[b, k, 1] * a[1] + R[b, k, 2] * a[2]
                origins[d, k] = p[b, k]
