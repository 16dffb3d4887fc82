"""Contact forces inferred from the torques of joints at rest.

At rest, J_a' f + tau_a = 0 and J_u' f + tau_u = 0 for the forces f on the first geometries of the contact pairs, with
tau_a the torques of the joints beside what carries the robot's own weight, and tau_u the weight of the objects. Of each
finger the closest pair within reach is a contact; f is the nonnegative least-squares solution over `N_RAYS` rays
inscribed in the model's friction cones. Wrong during impacts and fast motion, where joints are not balanced.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.contacts import Contacts
from contact_mpc.geometry.fingers import closest_pair_per_finger, finger_of_pairs, stacked_jacobian
from contact_mpc.model.lengths import tangent_lengths
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
N_RAYS = 8
REGULARISATION = 1e-4


class ContactForces:
    """Infers the contact forces of one model.

    Parameters
    ----------
    reach_m : float
        Pairs with a larger gap are no contacts, m.
    """

    def __init__(self, system: System, model: Model, reach_m: float) -> None:
        self._model, self._reach_m, self._n_v = model, reach_m, system.n_v
        self._rows = 1.0 / tangent_lengths(system)  # torques become comparable with forces
        self._fingers = finger_of_pairs(system)
        from scipy.optimize import nnls  # 0.4 s, here and not at the first use, which may be between two ticks

        self._nnls = nnls

    def infer(self, contacts: Contacts, tau: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the contacts (n,) and the forces (n, 3), N, world frame, that balance tau (n_v,), N m (N).

        The contacts' Jacobians and gaps must belong to the configuration in which tau was measured.
        """
        chosen = closest_pair_per_finger(self._fingers, contacts.phi, self._reach_m)
        if not len(chosen):
            return chosen, np.zeros((0, 3))
        J = stacked_jacobian(self._model.pairs, contacts, chosen, self._n_v)
        rays = friction_rays(contacts.n[chosen], self._model.mu[chosen])
        maps = np.hstack([J[3 * i : 3 * i + 3].T @ rays[i].T for i in range(len(chosen))])
        A = self._rows[:, None] * maps
        count = A.shape[1]
        A = np.vstack([A, np.sqrt(REGULARISATION) * np.eye(count)])
        b = np.concatenate([-self._rows * tau, np.zeros(count)])
        coefficients, _ = self._nnls(A, b)
        return chosen, np.asarray(np.einsum("ck,cki->ci", coefficients.reshape(-1, N_RAYS), rays))


def friction_rays(normals: FloatArray, mu: FloatArray) -> FloatArray:
    """Return (n, N_RAYS, 3) rays of unit normal force inscribed in the cones about normals (n, 3) with mu (n,)."""
    angles = 2.0 * np.pi * np.arange(N_RAYS) / N_RAYS
    t1 = np.cross(normals, np.eye(3)[np.argmin(np.abs(normals), axis=1)])
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    t2 = np.cross(normals, t1)
    around = np.cos(angles)[:, None] * t1[:, None] + np.sin(angles)[:, None] * t2[:, None]
    return np.asarray(normals[:, None] + mu[:, None, None] * around)
