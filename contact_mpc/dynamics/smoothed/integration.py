"""The next configuration from a displacement, compiled: q ⊕ dq as `System.integrate`."""

import numpy as np
from numba import njit

from contact_mpc.model.kinematic_tree import FREE, Tree
from contact_mpc.model.rotations import quaternion_exp, quaternion_multiply
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import INNER


@njit(**INNER)
def integrate_into(tree: Tree, q: FloatArray, dq: FloatArray, out: FloatArray) -> None:
    """Write q ⊕ dq."""
    for b in range(tree.parent.shape[0]):
        i, j = tree.i_q[b], tree.i_v[b]
        if tree.joint[b] == FREE:
            turned = quaternion_multiply(quaternion_exp(dq[j : j + 3]), q[i : i + 4])
            out[i : i + 4] = turned / np.sqrt(np.sum(turned * turned))
            for k in range(3):
                out[i + 4 + k] = q[i + 4 + k] + dq[j + 3 + k]
        else:
            out[i] = q[i] + dq[j]
