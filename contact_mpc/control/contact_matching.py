"""Contact forces inferred from the joints' springs, and the offsets that make the model agree with them.

At rest, Kp (u - q_a) + J_a' f = 0 and J_u' f + tau_u = 0 for the forces f on the spheres of the contact pairs. Of each
finger the closest pair within reach is a contact; f is the nonnegative least-squares solution over `N_RAYS` rays
inscribed in the model's friction cones. The model then gets, per contact, an offset of its gap and a slip, the
displacement that the contact has before the step, for which its own force at dq = 0 is f:

    r = |f_t| / (mu f_n)    psi = 2 / (kappa f_n (1 - r^2))    offset = psi - phi    slip = -(f_t / mu f_n) psi / mu

(inverse of w in `contact_mpc.dynamics.barrier`). So a model whose measured gaps are off by an error of pose or size
still predicts that what is at rest stays at rest. Wrong during impacts and fast motion, where joints are not balanced.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from contact_mpc.dynamics.newton import Newton, prepare_step
from contact_mpc.dynamics.quadratic import Model
from contact_mpc.geometry.fingers import closest_pair_per_finger, contact_jacobian, finger_of_pairs
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system import System

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
N_RAYS = 8
LARGEST_CONE_SHARE = 0.9  # r is kept below: at 1 the barrier's force has no finite gap
LEAST_FORCE_N = 0.02  # of a contact, so that its gap stays finite: 2 / (kappa f)
REGULARISATION = 1e-4


class ContactMatching:
    """Matches the contacts of one model to measured joint torques.

    Parameters
    ----------
    reach_m : float
        Pairs with a larger gap are no contacts, m.
    minimum_gap_m : float
        Gaps of all other pairs are raised to it, m.
    balance_weight : float
        Weight of the object's balance against that of the joints, -; forces in N, torques scaled by `arm_m`.
    arm_m : float
        Length that makes torques comparable with forces, m.
    """

    def __init__(
        self, system: System, model: Model, reach_m: float, minimum_gap_m: float, balance_weight: float = 1.0,
        arm_m: float = 0.05,
    ) -> None:
        self.system, self.model = system, model
        self.reach_m, self.minimum_gap_m = reach_m, minimum_gap_m
        turns = system.tree.dof_kind == REVOLUTE
        self._rows = np.where(turns, 1.0 / arm_m, 1.0)
        self._rows[: system.n_v_u] *= balance_weight
        self._fingers = finger_of_pairs(system)

    def match(
        self, ws: Newton, q: FloatArray, u: FloatArray, kappa: float, offset: FloatArray, slip: FloatArray
    ) -> FloatArray:
        """Write offset (n_c,) and slip (n_c, 3), m, at rest at q under the command u; return the forces (n_c, 3), N."""
        slip[:] = 0.0
        prepare_step(self.model, ws, q, u, np.zeros_like(offset))
        phi = ws.con.phi
        np.maximum(self.minimum_gap_m - phi, 0.0, out=offset)
        forces = np.zeros((len(phi), 3))
        chosen = closest_pair_per_finger(self._fingers, phi, self.reach_m)
        if len(chosen):
            forces[chosen] = self._infer(ws, chosen)
        for c in chosen:
            offset[c], slip[c] = self._invert(ws.con.n[c], float(self.model.mu[c]), forces[c], kappa)
            offset[c] -= phi[c]
        return forces

    def _infer(self, ws: Newton, chosen: IntArray) -> FloatArray:
        """Return forces (n, 3): J' f = b, with b = -[tau_u; Kp (u - q_a)]."""
        J = np.vstack([contact_jacobian(self.model.pairs, ws.con, c, self.system.n_v) for c in chosen])
        rays = friction_rays(ws.con.n[chosen], self.model.mu[chosen])
        maps = np.hstack([J[3 * i : 3 * i + 3].T @ rays[i].T for i in range(len(chosen))])
        A = self._rows[:, None] * maps
        count = A.shape[1]
        A = np.vstack([A, np.sqrt(REGULARISATION) * np.eye(count)])
        b = np.concatenate([self._rows * ws.b, np.zeros(count)])
        coefficients, _ = nnls(A, b)
        return np.asarray(np.einsum("ck,cki->ci", coefficients.reshape(-1, N_RAYS), rays))

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


def friction_rays(normals: FloatArray, mu: FloatArray) -> FloatArray:
    """Return (n, N_RAYS, 3) rays of unit normal force inscribed in the cones about normals (n, 3) with mu (n,)."""
    angles = 2.0 * np.pi * np.arange(N_RAYS) / N_RAYS
    t1 = np.cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=1)])
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    t2 = np.cross(normals, t1)
    around = np.cos(angles)[:, None] * t1[:, None] + np.sin(angles)[:, None] * t2[:, None]
    return np.asarray(normals[:, None] + mu[:, None, None] * around)
