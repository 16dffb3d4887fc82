"""What holds joints back: friction of the drives and a torque of the place, from the motion of free fingers.

Roll-outs whose drives are ideal and the motion that was seen, under the same commands from the same state, differ by
delta = q_seen - q_ideal. With the joint impedance (Kp, Kd) and the inertia m that each joint moves by itself,

    d = m delta'' + Kd delta' + Kp delta = b(q) - F z,

where z in [-1, 1] is the state of Dahl's friction (`contact_mpc.plants.common.perturbation`), F the friction of the
drive and b(q) a torque that depends on where the joint is: ripple, or weight that is not carried. Motor currents show
neither. Per joint, d is taken as a Gaussian process with the covariance

    sigma_b^2 exp(-(q - q')^2 / (2 length^2)) + sigma_F^2 z z' + sigma_d^2 [same row],

so that F is what depends on the direction where a joint goes forth and back over the same way, and b is known only near
where it was. Joints that all of this moves by less than `felt` are left out: their springs are stiff.

Wrong where fingers push while they are said to be free; rows at the joint limits, whose stops push, do not count.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class DriveConfig:
    """What is expected of drives.

    Attributes
    ----------
    friction_share, place_share, noise_share : float
        sigma_F, sigma_b and sigma_d over the effort limit.
    length : float
        Motion over which the torque of the place changes, rad (m).
    width : float
        Motion over which friction turns round, by 1 - 1/e, rad (m).
    felt : float
        By how much friction holds a joint back at least, for it to count, rad (m).
    stop : float
        Distance from a joint limit within which rows do not count, rad (m).
    rows : int
        The last of them are kept.
    """

    friction_share: float = 0.01
    place_share: float = 0.01
    noise_share: float = 0.002
    length: float = 0.05
    width: float = 0.002
    felt: float = 1e-3
    stop: float = 0.002
    rows: int = 300


class DriveIdentification:
    """Friction and torque of the place, per joint; see the module."""

    def __init__(self, system: System, config: DriveConfig | None = None) -> None:
        self._system, self._config = system, config or DriveConfig()
        is_felt = self._config.friction_share * system.tau_max_nm > self._config.felt * system.kp
        self._felt: list[int] = np.flatnonzero(is_felt).tolist()
        self._z = np.zeros(system.n_a)
        self._rows = {a: np.zeros((0, 3)) for a in self._felt}  # q, z, d over tau_max
        self._weights = {a: np.zeros(0) for a in self._felt}

    def follow(self, q_a: FloatArray) -> None:
        """Let friction turn round along a motion (n, n_a) that begins where the last one ended."""
        self._z = self._states(q_a)[-1]

    def _states(self, q_a: FloatArray) -> FloatArray:
        """Return the state of friction z (n, n_a) along a motion (n, n_a) from here."""
        z = np.empty_like(q_a)
        z[0] = self._z
        for k, dq in enumerate(np.diff(q_a, axis=0)):
            sign = np.sign(dq)
            z[k + 1] = sign + (z[k] - sign) * np.exp(-np.abs(dq) / self._config.width)
        return z

    def behind(self, q_a: FloatArray) -> FloatArray:
        """Return by how much free joints stay behind commands (n, n_a) from here on, rad (m): (F z - b) / Kp."""
        return np.asarray((self.friction * self._states(q_a) - self.torque(q_a)) / self._system.kp)

    def learn(self, seen: FloatArray, ideal: FloatArray, row_s: float, inertia: FloatArray) -> None:
        """Add a motion of free joints.

        Parameters
        ----------
        seen, ideal : (n, n_a) array
            Positions that were seen, and those with ideal drives.
        row_s : float
            Between rows, s.
        inertia : (n_a,) array
            m, kg m^2 (kg of slides).
        """
        system, config, z = self._system, self._config, self._states(seen)
        self.follow(seen)
        delta = seen - ideal
        speed = np.gradient(delta, row_s, axis=0)
        d = inertia * np.gradient(speed, row_s, axis=0) + system.kd * speed + system.kp * delta
        d /= system.tau_max_nm
        is_free = np.minimum(seen, ideal) > system.q_min + config.stop
        is_free &= np.maximum(seen, ideal) < system.q_max - config.stop
        is_free = np.array([np.all(is_free[max(0, k - 2) : k + 3], axis=0) for k in range(len(seen))])  # of delta''
        for a in self._felt:
            new = np.stack([seen[:, a], z[:, a], d[:, a]], axis=1)[is_free[:, a]]
            self._rows[a] = rows = np.concatenate([self._rows[a], new])[-config.rows :]
            covariance = self._place(rows[:, 0], rows[:, 0]) + config.noise_share**2 * np.eye(len(rows))
            covariance += config.friction_share**2 * np.outer(rows[:, 1], rows[:, 1])
            self._weights[a] = np.linalg.solve(covariance, rows[:, 2])

    def _place(self, q: FloatArray, q_rows: FloatArray) -> FloatArray:
        """Return the covariance (n, m) of the torque of the place at q (n,) and q_rows (m,), over tau_max^2."""
        apart = (q[:, None] - q_rows) / self._config.length
        return np.asarray(self._config.place_share**2 * np.exp(-0.5 * apart**2))

    @property
    def friction(self) -> FloatArray:
        """F (n_a,), N m (N of slides); 0 where it holds a joint back by less than `felt`."""
        share = np.zeros(self._system.n_a)
        for a in self._felt:
            share[a] = -(self._config.friction_share**2) * float(self._rows[a][:, 1] @ self._weights[a])
        friction = share * self._system.tau_max_nm
        return np.where(friction > self._config.felt * self._system.kp, friction, 0.0)

    def torque(self, q_a: FloatArray) -> FloatArray:
        """Return b (n, n_a), N m (N of slides), where joints are at q_a (n, n_a)."""
        b = np.zeros_like(q_a)
        for a in self._felt:
            b[:, a] = self._place(q_a[:, a], self._rows[a][:, 0]) @ self._weights[a]
        return b * self._system.tau_max_nm
