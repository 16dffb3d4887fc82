"""Load cost over a horizon: a one-sided cost on springs of joints that are stretched beyond a limit.

    sum_{k, a} weight max(0, |s_k,a| - limit_a)^2        s_k = u_k - q_a,{k+1}, the stretch at the end of step k

K s is the torque that the joint's drive gives. To first order in the commands, with x_k the displacement of the
roll-out's state,

    ds_k = du_k - A_k,a x_k - B_k,a du_k                 x_k = sum_{i < k} A_{k-1} .. A_{i+1} B_i du_i

with A_a, B_a the rows of the joints: rows of a program with hinges (`contact_mpc.optimisation.hinged_qp`), on the side
to which a spring is stretched. Springs below `WATCHED_SHARE` of their limit are left out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

WATCHED_SHARE = 0.5  # of the limit, below which a spring has no row


class LoadCost(NamedTuple):
    """Limits of |u - q_a| (n_a,), rad (m), and the weight of what is beyond, 1/rad^2 (1/m^2); weight 0: no rows."""

    limit: FloatArray
    weight: float


@njit(**COMPILED)
def count_loads(cost: LoadCost, stretch: FloatArray) -> int:
    """Return the number of rows at stretches (T, n_a)."""
    if cost.weight <= 0.0:
        return 0
    count = 0
    for k in range(stretch.shape[0]):
        for a in range(stretch.shape[1]):
            count += abs(stretch[k, a]) > WATCHED_SHARE * cost.limit[a]
    return count


@njit(**COMPILED)
def write_loads(
    cost: LoadCost, stretch: FloatArray, A: FloatArray, B: FloatArray, rows: FloatArray, level: FloatArray
) -> None:
    """Write the rows (n, T n_a) and level (n,) of `count_loads` from A (T, n_v, n_v), B (T, n_v, n_a)."""
    T, n_a = stretch.shape
    first, root, r = B.shape[1] - n_a, np.sqrt(cost.weight), 0
    rows[:, :] = 0.0
    for k in range(T):
        for a in range(n_a):
            if abs(stretch[k, a]) <= WATCHED_SHARE * cost.limit[a]:
                continue
            inward = -root if stretch[k, a] > 0.0 else root
            level[r] = root * (cost.limit[a] - abs(stretch[k, a]))
            P = -inward * A[k, first + a]
            rows[r, k * n_a : (k + 1) * n_a] = -inward * B[k, first + a]
            rows[r, k * n_a + a] += inward
            for i in range(k - 1, -1, -1):
                rows[r, i * n_a : (i + 1) * n_a] = P @ B[i]
                P = P @ A[i]
            r += 1
