"""The torque that holds a task's start posture."""

from typing import Literal

import numpy as np

from contact_mpc.control.bridge.joint_impedance import JointImpedance
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig


def holding_effort(system: System, task: TaskConfig, gravity_compensation: Literal["robot", "bridge"]) -> FloatArray:
    """Return the torque (n_a,), N m, that whoever held the start posture before would report at the first state.

    clip(Kp (u - q_a) [+ g], +-tau_max), with the weight g of the robot where the bridge is to carry it.
    """
    controller = HoldingController(system, task, gravity_compensation)
    return controller.effort(task.start_q, np.zeros(system.n_v))


class HoldingController:
    """Holds the start commands of a task by joint impedance, as whoever held the start posture before would.

    tau = clip(Kp (u - q_a) - Kd dq_a [+ g], +-tau_max)

    Parameters
    ----------
    system, task, gravity_compensation
        As for `holding_effort`, which is this torque at the start and at rest.
    """

    def __init__(self, system: System, task: TaskConfig, gravity_compensation: Literal["robot", "bridge"]) -> None:
        self._system, self._u = system, task.start_u
        self._law = JointImpedance(system, gravity_compensation == "bridge" and any(system.config.gravity_m_s2))
        self._zero = np.zeros(system.n_a)

    def effort(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the torque (n_a,), N m, in a configuration (n_q,) that moves with v (n_v,)."""
        system, tau = self._system, np.zeros(self._system.n_a)
        self._law.torque(self._u, self._zero, q[system.n_q_u :], v[system.n_v_u :], self._zero, tau)
        limited: FloatArray = np.clip(tau, -system.tau_max_nm, system.tau_max_nm)
        return limited
