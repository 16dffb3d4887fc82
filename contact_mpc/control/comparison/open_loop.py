"""Open loop: the commands of the reference, whatever happens."""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.control.mpc import Mpc

FloatArray = NDArray[np.float64]


class OpenLoop(Mpc):
    """Replays the reference's commands; the state is not looked at."""

    def solve(
        self, q: FloatArray, q_ref: FloatArray, u_ref: FloatArray, u_before: FloatArray, iterations: int | None = None
    ) -> bool:
        """Set u (T, n_a) to u_ref."""
        self.u[:] = u_ref
        return True
