"""Joint impedance law of the actuated joints.

The law assumes that the robot follows torques faster than its joints move; it is wrong where torques saturate, which
is the guard's business, and where friction in the joints exceeds what the stiffness can overcome.
"""

import numpy as np
from numba import njit

from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import RAISING


@njit(**RAISING)
def joint_impedance_torque(
    kp: FloatArray, kd: FloatArray, u: FloatArray, du: FloatArray, q: FloatArray, dq: FloatArray,
    tau_ff: FloatArray, gravity: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """Compute the torque of the joint impedance law without allocating.

    tau = tau_ff + Kp (u - q) + Kd (du - dq) + g

    Parameters
    ----------
    kp, kd : (n_a,) array
        Joint stiffness, N m/rad, and damping, N m s/rad.
    u, du : (n_a,) array
        Position command, rad, and its rate, rad/s.
    q, dq : (n_a,) array
        Measured joint positions, rad, and velocities, rad/s.
    tau_ff, gravity : (n_a,) array
        Feed-forward torque and gravity torque g(q), N m; g is zero where the robot compensates gravity itself.
    out : (n_a,) array
        Receives tau, N m.
    """
    for i in range(out.shape[0]):
        out[i] = tau_ff[i] + kp[i] * (u[i] - q[i]) + kd[i] * (du[i] - dq[i]) + gravity[i]


class JointImpedance:
    """The law of a system: its stiffness and damping, and the gravity torque where the bridge is to add it.

    Parameters
    ----------
    system : System
        System, for stiffness, damping and, with gravity, the robots' masses.
    with_gravity : bool
        Whether the gravity torque is part of the law.
    gain_set : str
        Name of a gain set of the system; "": the robots' own gains.

    Attributes
    ----------
    kp, kd : (n_a,) array
        Joint stiffness, N m/rad, and damping, N m s/rad.
    """

    def __init__(self, system: System, with_gravity: bool, gain_set: str = "") -> None:
        self.kp, self.kd = system.gains(gain_set)
        self._model = GravityTorque(system) if with_gravity else None
        self._gravity = np.zeros(system.n_a)

    def gravity(self, q: FloatArray) -> FloatArray:
        """Return the gravity torque (n_a,) of the law, N m, zero where the robot adds it; reused by the next call."""
        if self._model is not None:
            self._model.compute(q, self._gravity)
        return self._gravity

    def torque(
        self, u: FloatArray, du: FloatArray, q: FloatArray, dq: FloatArray, tau_ff: FloatArray, out: FloatArray
    ) -> None:
        """Write the torque of `joint_impedance_torque` (n_a,), N m, to `out`."""
        joint_impedance_torque(self.kp, self.kd, u, du, q, dq, tau_ff, self.gravity(q), out)
