"""Limits per joint: of the commands, and of the plans that ask for them.

Commands: the URDF's, with the margins and shares of the bridge's parameters taken off. Plans: the URDF's, and a bounded
length. The guard limits every command anyway; a plan that it could never follow is refused as a whole and named instead
of being followed up to the limits.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.errors import ConfigError
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import CommandPlan

MAX_POINTS = 256  # of a plan; a tracker sends its horizon, tens of points
RATE_ROUNDING = 1e-9  # of a torque's rate that is exactly enough
RATE_MARGIN = 1.05  # on v_max: rates are difference quotients of positions at whole nanoseconds, and may be smoothed


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
    j_max : array
        Limit of the acceleration's change, rad/s^3; inf: none.
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
    j_max: FloatArray
    jump: FloatArray
    tau_max: FloatArray
    tau_rate: FloatArray

    @staticmethod
    def from_config(system: System, config: BridgeConfig) -> "GuardLimits":
        """Derive the limits from the URDF's.

        A URDF has no limit of acceleration: a_max is the time derivative of the velocity limit that the config allows,
        `acceleration_per_s` v_max, as tau_rate is of the effort limit; j_max is `jerk_per_s2` v_max, or none.

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
        j_max = config.jerk_per_s2 * system.v_max if config.jerk_per_s2 else np.full(system.n_a, np.inf)
        return GuardLimits(
            q_min, q_max, config.velocity_fraction * system.v_max, config.acceleration_per_s * system.v_max, j_max,
            np.full(system.n_a, config.command_jump_rad), config.effort_fraction * system.tau_max_nm,
            config.torque_rate_per_s * system.tau_max_nm,
        )  # fmt: skip


def describe_slow_torque(system: System, config: BridgeConfig) -> str:
    """Return which joints the torque's rate is too slow for, and what to do; "" where it is for none.

    A joint impedance of stiffness kp on a reflected inertia J swings at omega = sqrt(kp / J). A torque of tau_max at
    that frequency changes by up to omega tau_max a second: a smaller limit of its rate keeps a saturated joint swinging
    between its effort limits. Joints without a reflected inertia are not judged.
    """
    inertia = system.reflected_inertia
    omega = np.sqrt(system.kp / np.where(inertia > 0.0, inertia, np.inf))
    slow = omega > config.torque_rate_per_s * (1.0 + RATE_ROUNDING)
    if config.command_interface != "effort" or not np.any(slow):
        return ""
    names = ", ".join(name for name, is_slow in zip(system.joint_names, slow, strict=True) if is_slow)
    return (
        f"torque_rate_per_s {config.torque_rate_per_s:g} is below {np.max(omega):.0f} rad/s, at which the stiffness "
        f"of {names} swings on the reflected inertia: a joint at its effort limit may swing on; raise it, lower the "
        "stiffness, or let the robot run the impedance (command_interface: position)"
    )


@dataclass(frozen=True)
class PlanLimits:
    """Limits per joint, each (n_a,), and their names.

    Attributes
    ----------
    u_min, u_max : array
        Positions: the URDF's range and `command_jump_rad`, beyond which no setpoint within the range can follow, rad.
    du_max : array
        Rates: the URDF's velocity limit times `RATE_MARGIN`, rad/s.
    tau_max : array
        Feed-forward torque: the URDF's effort limit, N m.
    joint_names : tuple of str
        Names of the joints.
    """

    u_min: FloatArray
    u_max: FloatArray
    du_max: FloatArray
    tau_max: FloatArray
    joint_names: tuple[str, ...]

    @staticmethod
    def from_config(system: System, config: BridgeConfig) -> "PlanLimits":
        """Return the limits of a system."""
        return PlanLimits(
            system.q_min - config.command_jump_rad,
            system.q_max + config.command_jump_rad,
            RATE_MARGIN * system.v_max,
            system.tau_max_nm,
            system.joint_names,
        )

    def find_defect(self, plan: CommandPlan) -> tuple[str, str] | None:
        """Return why a plan cannot be used, as a reason and its detail, or None.

        Returns
        -------
        tuple of str or None
            "plan_length" (wrong number of joints), "plan_points" (more than `MAX_POINTS`), "plan_non_finite",
            "plan_times" (not increasing from >= 0), or "plan_position", "plan_velocity", "plan_effort" (beyond the
            limits), whose detail names the first joint and value.
        """
        n_a, count = len(self.joint_names), plan.times_s.shape[0]
        if plan.u.shape[1] != n_a:
            return "plan_length", f"{plan.u.shape[1]} joints, expected {n_a}"
        if count > MAX_POINTS:
            return "plan_points", f"{count}, at most {MAX_POINTS}"
        if not all(np.isfinite(array).all() for array in (plan.times_s, plan.u, plan.du, plan.tau_ff)):
            return "plan_non_finite", ""
        if count and (plan.times_s[0] < 0.0 or np.any(np.diff(plan.times_s) <= 0.0)):
            return "plan_times", ""
        for reason, values, low, high, unit in (
            ("plan_position", plan.u, self.u_min, self.u_max, "rad"),
            ("plan_velocity", plan.du, -self.du_max, self.du_max, "rad/s"),
            ("plan_effort", plan.tau_ff, -self.tau_max, self.tau_max, "N m"),
        ):
            outside = (values < low) | (values > high)
            if outside.any():
                k, i = (int(index) for index in np.argwhere(outside)[0])
                return reason, (
                    f"{self.joint_names[i]} {values[k, i]:.4g} {unit} at {plan.times_s[k]:.3f} s, "
                    f"allowed {low[i]:.4g} to {high[i]:.4g}"
                )
        return None
