"""What felt contacts say about objects: a finger that feels one has no gap to the object there.

For each finger the pair with the smallest gap is touched where contact location (`contact_location`) has a minimum on
that pair's link within `NEAR_M` of the pair's point. Of such pairs the gap is measured as zero,

    0 = phi(q) + n' J_u dx + e,   e ~ N(0, touch_noise_m^2),    dx = K (0 - phi),   K = P H' (H P H' + R)^-1

with P the covariance of the predicted objects. So between two pictures, while P grows, the objects are kept on the
fingers that hold them; right after one little changes. Nothing is kept for the next estimate. Wrong where a finger
presses on something that is no object of the system, and blind to motion along the surfaces: turning, and rolling.
"""

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.estimation.contact_location.hypothesis import Hypothesis
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.geometry.fingers import closest_pair_per_finger, contact_jacobian, finger_of_pairs
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

REACH_M = 0.015  # pairs with a larger gap are no candidates
NEAR_M = 0.01


class TouchCorrection:
    """Corrects predicted objects by the contacts that joint torques show.

    Parameters
    ----------
    torque_noise_nm : float
        Standard deviation of the joint torques, N m, with what friction and motion add.
    noise_m : float
        Standard deviation of the gap of a pair that touches, m.
    """

    def __init__(self, system: System, torque_noise_nm: float, noise_m: float) -> None:
        self._system, self._variance = system, noise_m**2
        friction = max(item.mu for item in system.contacts)
        self._locator = ContactLocator(system, LocationConfig(torque_noise_nm=torque_noise_nm, friction=friction))
        self._model = build_model(system)
        self._workspace = make_newton(self._model)
        self._fingers = finger_of_pairs(system)
        self._own_weight = GravityTorque(system) if any(system.config.gravity_m_s2) else None

    def warm_up(self) -> None:
        """Compile, or load what is compiled."""
        measure_gaps(self._model, self._workspace, self._system.q_default)
        self._locator.warm_up()

    def correct(self, q: FloatArray, P: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q (n_q,) with the objects where the touched fingers are, and their covariance P (n_v_u, n_v_u).

        tau : (n_a,) torques of the drives, N m; NaN where unknown: nothing is corrected then.
        """
        touched, gaps = self._touched(q, tau)
        if not touched:
            return q, P
        found, n_u = self._workspace.con, self._system.n_v_u
        rows = [found.n[c] @ contact_jacobian(self._model.pairs, found, c, self._system.n_v)[:, :n_u] for c in touched]
        H = np.array(rows)
        K = np.linalg.solve(H @ P @ H.T + self._variance * np.eye(len(H)), H @ P).T
        step = np.zeros(self._system.n_v)
        step[:n_u] = -K @ gaps[touched]
        left = P - K @ H @ P
        return self._system.integrate(q, step), 0.5 * (left + left.T)

    def _touched(self, q: FloatArray, tau: FloatArray) -> tuple[list[int], FloatArray]:
        """Return the contacts that joint torques confirm, and all gaps."""
        gaps = measure_gaps(self._model, self._workspace, q)
        candidates = closest_pair_per_finger(self._fingers, gaps, REACH_M)
        if not len(candidates) or not np.isfinite(tau).all():
            return [], gaps
        q_a, g = q[self._system.n_q_u :], np.zeros(self._system.n_a)
        if self._own_weight is not None:
            self._own_weight.compute(q_a, g)
        chains = self._locator.locate(q_a, g - tau)
        hypotheses = [item for chain in chains for item in chain.hypotheses]
        return [int(c) for c in candidates if self._is_felt(int(c), hypotheses)], gaps

    def _is_felt(self, c: int, hypotheses: list[Hypothesis]) -> bool:
        body = self._system.geometries[self._system.pairs[self._system.contacts[c].pair].geometry_b].body
        p = self._workspace.con.p[c]
        own = [item.points for item in hypotheses if item.body == body]
        return any(float(np.linalg.norm(points - p, axis=1).min()) <= NEAR_M for points in own)
