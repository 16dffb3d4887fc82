"""Limits of the commands per joint: the URDF's, with the margins and shares of the bridge's parameters taken off."""

from dataclasses import dataclass

import numpy as np

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.errors import ConfigError
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class GuardLimits:
    """Limits per joint, each (n_a,).

    Attributes
    ----------
    q_min, q_max : array
        Position limits with the margin taken off, rad.
    v_max : array
        Velocity limit of setpoint and rate, rad/s.
    a_max : array
        Acceleration limit of the setpoint, rad/s^2.
    jump : array
        Largest accepted distance of a request from the setpoint before, rad.
    tau_max : array
        Effort limit, N m.
    tau_rate : array
        Limit of the torque's rate, N m/s.
    """

    q_min: FloatArray
    q_max: FloatArray
    v_max: FloatArray
    a_max: FloatArray
    jump: FloatArray
    tau_max: FloatArray
    tau_rate: FloatArray

    @staticmethod
    def from_config(system: System, config: BridgeConfig) -> "GuardLimits":
        """Derive the limits from the URDF's.

        A URDF has no limit of acceleration: a_max is the time derivative of the velocity limit that the config allows,
        `acceleration_per_s` v_max, as tau_rate is of the effort limit.

        Raises
        ------
        ConfigError
            The margin leaves a joint no range.
        """
        margin_rad = np.deg2rad(config.position_margin_deg)
        q_min, q_max = system.q_min + margin_rad, system.q_max - margin_rad
        if np.any(q_min >= q_max):
            joint = int(np.argmax(q_min >= q_max))
            raise ConfigError(
                f"position_margin_deg {config.position_margin_deg:g} leaves no range for joint "
                f"'{system.joint_names[joint]}' ({system.q_min[joint]:g} to {system.q_max[joint]:g} rad); lower it"
            )
        return GuardLimits(
            q_min, q_max, config.velocity_fraction * system.v_max, config.acceleration_per_s * system.v_max,
            np.full(system.n_a, config.command_jump_rad), config.effort_fraction * system.tau_max_nm,
            config.torque_rate_per_s * system.tau_max_nm,
        )  # fmt: skip
