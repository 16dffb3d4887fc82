"""Integral action on the commands that move the object, none on those that hold it.

The cost of a command's distance from its reference keeps the grip, but also pulls the object back to where the plan's
commands would leave it: on a plant that differs from the model an error of the object stays at rest. So the reference
of the commands is u_ref + c, and after each solve with first command u_0

    c <- c + g (P (u_0 - u_ref) - c)        P = V diag(s^4 / (s^4 + s_min^4)) V',   g = 1 - exp(-period / time constant)

where B = U diag(s) V' (n_v_u, n_a) is what the commands do to the objects in the first step of the model, and s_min a
share of the largest s. At rest c = P (u_0 - u_ref): commands that move the object cost nothing any more and its error
goes to zero (offset-free MPC), whereas the internal forces, the null space of B, stay at the plan's. What the commands
cannot do cannot wind up, since u_0 keeps its bounds.
Wrong where the estimate of the object's pose itself is off: the loop then settles at that error.

Source: G. Pannocchia, J. Rawlings, "Disturbance models for offset-free model-predictive control", AIChE J. 49, 2003.
"""

import numpy as np

from contact_mpc.model.lengths import tangent_lengths
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


class CommandAdaptation:
    """The slow offset c of the commands' reference.

    Parameters
    ----------
    system : System
        Objects and joints.
    gain : float
        Share g of the remaining offset that one solve takes over, 0 .. 1; 0: c stays zero.
    weakest : float
        Directions in which commands do less than this share of the most they can are not adapted, -.
    """

    def __init__(self, system: System, gain: float, weakest: float) -> None:
        self._n_v_u, self._weakest = system.n_v_u, weakest
        self.gain = gain
        self._lengths = tangent_lengths(system)[: system.n_v_u]
        self.offset = np.zeros(system.n_a)

    def reset(self) -> None:
        """Forget the offset."""
        self.offset[:] = 0.0

    def update(self, B: FloatArray, deviation: FloatArray) -> None:
        """Take B (n_v, n_a) of the model's first step and u_0 - u_ref (n_a,), rad."""
        if self.gain > 0.0:
            self.offset += self.gain * (self.project(B) @ deviation - self.offset)

    def project(self, B: FloatArray) -> FloatArray:
        """Return P (n_a, n_a), zero where the commands move nothing."""
        B_u = self._lengths[:, None] * B[: self._n_v_u]
        _, s, Vt = np.linalg.svd(B_u, full_matrices=False)
        if s[0] == 0.0:
            return np.zeros((B.shape[1], B.shape[1]))
        shares = s**4 / (s**4 + (self._weakest * s[0]) ** 4)
        return np.asarray((Vt.T * shares) @ Vt)
