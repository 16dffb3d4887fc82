"""From the command of one step to the torques on the joints; the same for every engine."""

from typing import NamedTuple

import numpy as np

from contact_mpc.model.system import System, check_vector
from contact_mpc.plants.common.perturbation import DriveDisturbance, PlantPerturbation
from contact_mpc.settings.arrays import FloatArray


class JointTorques(NamedTuple):
    """Torques of one step (n_a,), N m: of the drives, and what their imperfections add."""

    applied: FloatArray
    disturbance: FloatArray


class Actuation:
    """Command -> torque: joint impedance (interface "position"), gravity, effort limits, imperfect drives.

    tau_applied = clip(command + g, +-tau_max)                            interface "effort"
    tau_applied = clip(Kp (u - q_a) - Kd v_a + g, +-tau_max)              interface "position"

    with g the torques that carry the robot's own weight, if `gravity_compensation`, else 0.
    """

    def __init__(
        self, system: System, interface: str, perturbation: PlantPerturbation, gravity_compensation: bool
    ) -> None:
        self._system = system
        self._is_position = interface == "position"
        self.needs_gravity = gravity_compensation
        self._disturbance = DriveDisturbance(system, perturbation)
        self._nothing = np.zeros(system.n_a)

    def reset(self, q_a: FloatArray) -> None:
        """Relax the friction of the drives at q_a (n_a,)."""
        self._disturbance.reset(q_a)

    def compute(
        self, command: FloatArray, q_a: FloatArray, v_a: FloatArray, gravity: FloatArray | None
    ) -> JointTorques:
        """Return the torques of the next step.

        Parameters
        ----------
        command : (n_a,) array
            Torque, N m, or position u, rad, by the interface.
        q_a, v_a : (n_a,) array
            Joint position and velocity now.
        gravity : (n_a,) array or None
            Torques that carry the robot's own weight at q_a, N m; None without compensation.

        Raises
        ------
        InputError
            The command has the wrong shape or non-finite values.
        """
        tau = check_vector("command", command, self._system.n_a)
        if self._is_position:
            tau = self._system.kp * (tau - q_a) - self._system.kd * v_a
        if gravity is not None:
            tau = tau + gravity
        applied = np.clip(tau, -self._system.tau_max_nm, self._system.tau_max_nm)
        if not self._disturbance.is_active:
            return JointTorques(applied, self._nothing)
        return JointTorques(applied, self._disturbance.compute_torque(q_a))
