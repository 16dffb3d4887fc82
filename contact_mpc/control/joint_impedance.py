"""Joint impedance law and gravity torque of the actuated joints.

The law assumes that the robot follows torques faster than its joints move; it is wrong where torques saturate, which
is the guard's business, and where friction in the joints exceeds what the stiffness can overcome.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.errors import ModelError
from contact_mpc.model.system import System, robot_base

FloatArray = NDArray[np.float64]


@njit(cache=True)
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


class GravityTorque:
    """Gravity torque g(q_a) of a system's robots by Pinocchio's recursive Newton-Euler, joints mapped by name.

    The objects' weight is not part of it: it reaches the joints through contacts, which the plan accounts for.

    Parameters
    ----------
    system : System
        System; the robots' URDFs must describe the masses.

    Raises
    ------
    ModelError
        A joint of the system is not in Pinocchio's model, or is not a joint of one coordinate.
    """

    def __init__(self, system: System) -> None:
        import pinocchio  # its import takes a third of a second, and only the bridge's own compensation needs it

        self._pinocchio = pinocchio
        self._robots = []
        rows = {name: row for row, name in enumerate(system.joint_names)}
        for robot in system.config.robots:
            urdf = system.urdfs[robot.name]
            model = pinocchio.buildModelFromXML(urdf.text)
            R_WR = robot_base(robot).R
            model.gravity.linear = R_WR.T @ np.array(system.config.gravity_m_s2)
            names = [joint.name for joint in urdf.joints if joint.kind != "fixed"]
            columns = np.array([_column(model, name, urdf.path) for name in names])
            order = np.array([rows[name] for name in names])
            self._robots.append((model, model.createData(), np.zeros(model.nq), columns, order))

    def compute(self, q_a: FloatArray, out: FloatArray) -> None:
        """Write g(q_a) (n_a,), N m, to `out`: the torque that holds the robots against gravity."""
        for model, data, q, columns, order in self._robots:
            q[columns] = q_a[order]
            out[order] = self._pinocchio.computeGeneralizedGravity(model, data, q)[columns]


class JointImpedance:
    """The law of a system: its stiffness and damping, and the gravity torque where the bridge is to add it.

    Parameters
    ----------
    system : System
        System, for stiffness, damping and, with gravity, the robots' masses.
    with_gravity : bool
        Whether the gravity torque is part of the law.

    Attributes
    ----------
    kp : (n_a,) array
        Joint stiffness, N m/rad.
    """

    def __init__(self, system: System, with_gravity: bool) -> None:
        self.kp, self._kd = system.kp, system.kd
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
        joint_impedance_torque(self.kp, self._kd, u, du, q, dq, tau_ff, self.gravity(q), out)


def _column(model: Any, name: str, path: Path) -> int:
    """Index of a joint's coordinate in Pinocchio's q, which has one entry per joint here."""
    if not model.existJointName(name):
        raise ModelError(f"{path}: joint '{name}' is not in Pinocchio's model; allowed: {list(model.names)[1:]}")
    joint = model.joints[model.getJointId(name)]
    if joint.nq != 1 or joint.nv != 1:
        raise ModelError(f"{path}: joint '{name}' has {joint.nq} coordinates; use revolute or prismatic with <limit>")
    return int(joint.idx_q)
