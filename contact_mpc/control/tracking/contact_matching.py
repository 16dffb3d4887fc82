"""Offsets that make the model's contact forces agree with those that the joints' springs feel.

At rest the springs' torques Kp (u - q_a) tell the contact forces f (`dynamics.analysis.contact_forces`). The model
then gets, per contact, an offset of its gap and a slip, the displacement that the contact has before the step, for
which its own force at dq = 0 is f:

    r = |f_t| / (mu f_n)    psi = 2 / (kappa f_n (1 - r^2))    offset = psi - phi    slip = -(f_t / mu f_n) psi / mu

(inverse of w in `dynamics.smoothed.barrier`). So a model whose measured gaps are off by an error of pose or size
still predicts that what is at rest stays at rest. Wrong during impacts and fast motion, where joints are not balanced.
"""

import numpy as np

from contact_mpc.dynamics.analysis.contact_forces import ContactForces
from contact_mpc.dynamics.smoothed.newton import Newton, prepare_step
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

LARGEST_CONE_SHARE = 0.9  # r is kept below: at 1 the barrier's force has no finite gap
LEAST_FORCE_N = 0.02  # of a contact, so that its gap stays finite: 2 / (kappa f)


class ContactMatching:
    """Matches the contacts of one model to measured joint torques.

    Parameters
    ----------
    reach_m : float
        Pairs with a larger gap are no contacts, m.
    minimum_gap_m : float
        Gaps of all other pairs are raised to it, m.
    """

    def __init__(self, system: System, model: Model, reach_m: float, minimum_gap_m: float) -> None:
        self.model, self.minimum_gap_m = model, minimum_gap_m
        self._inference = ContactForces(system, model, reach_m)

    def match(
        self, ws: Newton, q: FloatArray, u: FloatArray, kappa: float, offset: FloatArray, slip: FloatArray
    ) -> FloatArray:
        """Write offset (n_c,) and slip (n_c, 3), m, at rest at q under the command u; return the forces (n_c, 3), N."""
        slip[:] = 0.0
        prepare_step(self.model, ws, q, u, np.zeros_like(offset))
        phi = ws.con.phi
        np.maximum(self.minimum_gap_m - phi, 0.0, out=offset)
        forces = np.zeros((len(phi), 3))
        chosen, forces_chosen = self._inference.infer(ws.con, -ws.b)
        forces[chosen] = forces_chosen
        for c in chosen:
            offset[c], slip[c] = self._invert(ws.con.n[c], float(self.model.mu[c]), forces[c], kappa)
            offset[c] -= phi[c]
        return forces

    def _invert(self, n: FloatArray, mu: float, f: FloatArray, kappa: float) -> tuple[float, FloatArray]:
        """Return psi and the slip at which the barrier's force is f."""
        f_n = max(float(n @ f), LEAST_FORCE_N)
        tangential = f - (n @ f) * n
        size = float(np.linalg.norm(tangential))
        if mu == 0.0 or size < 1e-12:
            return 2.0 / (kappa * f_n), np.zeros(3)
        r = min(size / (mu * f_n), LARGEST_CONE_SHARE)
        psi = 2.0 / (kappa * f_n * (1.0 - r * r))
        return psi, -(r * psi / mu) * tangential / size
