"""How a frame at rest in a body moves with the degrees of freedom of a tree."""

import numpy as np

from contact_mpc.model.kinematic_tree import REVOLUTE, Tree
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics
from contact_mpc.settings.arrays import FloatArray


def frame_jacobian(tree: Tree, q: FloatArray, body: int, p_BF: FloatArray) -> FloatArray:
    """Return J (6, n_v): turn, rad, and displacement, m, in the world of a frame at p_BF in a body, for a motion dq."""
    R, p = forward_kinematics(tree, np.ascontiguousarray(q, dtype=np.float64))
    axes, origins = np.zeros((2, len(tree.axis_dof), 3))
    dof_axes_into(tree, R, p, axes, origins)
    rows = tree.chain[body, : tree.chain_count[body]]
    turns = (tree.axis_kind[rows] == REVOLUTE)[:, None]
    arms = R[body] @ p_BF + p[body] - origins[rows]
    J = np.zeros((6, len(tree.dof_body)))
    np.add.at(J[:3].T, tree.axis_dof[rows], np.where(turns, axes[rows], 0.0))
    np.add.at(J[3:].T, tree.axis_dof[rows], np.where(turns, np.cross(axes[rows], arms), axes[rows]))
    return J
