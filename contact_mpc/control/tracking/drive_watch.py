"""Which joints do not give the torque that their commands ask for: a drive at its limit, overheated or without power.

At rest a drive gives K (u - q_a) + g(q_a). What the reported torque tau lacks of it,

    shortfall = K (u - q_a) + g(q_a) - tau          low-pass filtered over filter_s

is zero but for damping, ripple and noise. It tells of a weak finger even where the other fingers still hold the object
where it should be. Wrong in fast motion, where damping takes its part; silent where the driver reports no torques.
"""

import numpy as np

from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S


class DriveWatch:
    """Compares reported torques with those of the commands.

    Parameters
    ----------
    system : System
        Joints, their stiffness and effort limits.
    share : float
        Of its effort limit that a joint may lack, -; 0: nothing is watched.
    filter_s : float
        Time constant of the filter, s.
    """

    def __init__(self, system: System, share: float, filter_s: float) -> None:
        self._system, self._share, self._filter_s = system, share, filter_s
        self._gravity = GravityTorque(system) if share > 0.0 and any(system.config.gravity_m_s2) else None
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.shortfall = np.zeros(self._system.n_a)
        self._last_ns: int | None = None

    def update(self, t_ns: int, q_a: FloatArray, u: FloatArray, tau: FloatArray) -> list[str]:
        """Return the joints that lack torque at t_ns, ns, all rad and N m (m and N); tau is NaN where unknown."""
        if self._share == 0.0 or not np.isfinite(tau).all():
            return []
        weight = np.zeros(len(q_a))
        if self._gravity is not None:
            self._gravity.compute(q_a, weight)
        wanted = self._system.kp * (u - q_a) + weight
        age_s = 0.0 if self._last_ns is None else (t_ns - self._last_ns) / NS_PER_S
        self._last_ns = t_ns
        self.shortfall += (1.0 - np.exp(-age_s / self._filter_s)) * (wanted - tau - self.shortfall)
        lacking = np.abs(self.shortfall) > self._share * self._system.tau_max_nm
        return [name for name, lacks in zip(self._system.joint_names, lacking, strict=True) if lacks]
