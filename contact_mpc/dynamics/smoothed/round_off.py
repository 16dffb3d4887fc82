"""What round-off leaves of the balance of a smoothed step: stiff contacts hide much force in a small decrement.

Where the decrement falls no more, `solve_step` takes a step as solved. With a Hessian of condition 1e13, a decrement of
1e-11 still left 0.04 N of a force of 8500 N on a thin plate that turned by 0.9 rad.
"""

import numpy as np
from numba import njit

from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.settings.code.compile_flags import COMPILED

UNBALANCED = 4  # beside the codes of `log_barrier`
LEFT, LEFT_SHARE = 1e-5, 1e-8  # N and N m, and of the largest force


@njit(**COMPILED)
def is_balanced(ws: Newton, tolerance: float, decrement2: float) -> bool:
    """Whether the forces that `solve_step` left, with the decrement that it returned, balance.

    Below the tolerance they do. Above it ws.gradient is what they lack, for no direction was applied after it.
    """
    if decrement2 <= tolerance:
        return True
    largest = 0.0
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        largest = max(largest, ws.w[c, 0] ** 2 + ws.w[c, 1] ** 2 + ws.w[c, 2] ** 2)
    return bool(np.abs(ws.gradient).max() <= LEFT + LEFT_SHARE * np.sqrt(largest))
