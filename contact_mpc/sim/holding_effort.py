"""The torque that holds a task's start posture."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from contact_mpc.control.joint_impedance import GravityTorque
from contact_mpc.model.system import System
from contact_mpc.model.task import TaskConfig

FloatArray = NDArray[np.float64]


def holding_effort(system: System, task: TaskConfig, gravity_compensation: Literal["robot", "bridge"]) -> FloatArray:
    """Return the torque (n_a,), N m, that whoever held the start posture before would report at the first state.

    clip(Kp (u - q_a) [+ g], +-tau_max), with the weight g of the robot where the bridge is to carry it.
    """
    q_a = task.start_q[system.n_q_u :]
    gravity = np.zeros(system.n_a)
    if gravity_compensation == "bridge" and any(system.config.gravity_m_s2):
        GravityTorque(system).compute(q_a, gravity)
    tau = system.kp * (task.start_u - q_a) + gravity
    limited: FloatArray = np.clip(tau, -system.tau_max_nm, system.tau_max_nm)
    return limited
