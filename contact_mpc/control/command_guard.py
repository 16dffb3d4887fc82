"""The guard that every command passes before it leaves for the robot.

Requests may be anything, also NaN, infinite or huge; what comes out is finite and within limits:

* setpoint: not further outside of the position limits (with margin) than the setpoint before, and moved by at most
  v_max dt; a request with a non-finite entry or one that jumps is refused as a whole and the setpoint before stays;
* torque: within a fraction of the joint's effort limit, and changed by at most the torque rate times dt.

Each intervention is counted by kind and joint. The kernels are pure functions of their arguments.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.errors import ConfigError
from contact_mpc.model.system import System

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.int64]


class ClampKind(IntEnum):
    """Kinds of intervention; also the rows of the counters."""

    POSITION = 0
    VELOCITY = 1
    JUMP = 2
    EFFORT = 3
    TORQUE_RATE = 4
    NON_FINITE = 5


_POSITION, _VELOCITY, _JUMP = int(ClampKind.POSITION), int(ClampKind.VELOCITY), int(ClampKind.JUMP)
_EFFORT, _RATE, _NON_FINITE = int(ClampKind.EFFORT), int(ClampKind.TORQUE_RATE), int(ClampKind.NON_FINITE)


@dataclass(frozen=True)
class GuardLimits:
    """Limits per joint, each (n_a,).

    Attributes
    ----------
    q_min, q_max : array
        Position limits with the margin taken off, rad.
    v_max : array
        Velocity limit of setpoint and rate, rad/s.
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
    jump: FloatArray
    tau_max: FloatArray
    tau_rate: FloatArray

    @staticmethod
    def from_system(
        system: System, margin_rad: float, velocity_fraction: float, effort_fraction: float,
        torque_rate_per_s: float, jump_rad: float,
    ) -> "GuardLimits":  # fmt: skip
        """Derive the limits from the URDF's; the torque rate is in effort limits per second.

        Raises
        ------
        ConfigError
            The margin leaves a joint no range.
        """
        q_min, q_max = system.q_min + margin_rad, system.q_max - margin_rad
        if np.any(q_min >= q_max):
            joint = int(np.argmax(q_min >= q_max))
            raise ConfigError(
                f"position margin {np.rad2deg(margin_rad):g} deg leaves no range for joint "
                f"'{system.joint_names[joint]}' ({system.q_min[joint]:g} to {system.q_max[joint]:g} rad); lower it"
            )
        return GuardLimits(
            q_min, q_max, velocity_fraction * system.v_max, np.full(system.n_a, jump_rad),
            effort_fraction * system.tau_max_nm, torque_rate_per_s * system.tau_max_nm,
        )  # fmt: skip


@njit(cache=True)
def guard_setpoint(
    u_request: FloatArray, du_request: FloatArray, u_before: FloatArray, dt_s: float,
    q_min: FloatArray, q_max: FloatArray, v_max: FloatArray, jump: FloatArray,
    u: FloatArray, du: FloatArray, clamped: CountArray,
) -> bool:  # fmt: skip
    """Limit a setpoint and its rate; returns whether the request was refused as a whole.

    u = clip(clip(u_request, min(q_min, u_before), max(q_max, u_before)), u_before - v_max dt, u_before + v_max dt)
    du = clip(du_request, -v_max, v_max); a refused request gives u = u_before, du = 0.

    Parameters
    ----------
    u_request, du_request : (n_a,) array
        Anything: rad, rad/s.
    u_before : (n_a,) array
        Setpoint of the command before, finite, rad.
    dt_s : float
        Time since the command before, s.
    q_min, q_max, v_max, jump : (n_a,) array
        See `GuardLimits`.
    u, du : (n_a,) array
        Receive the limited setpoint and rate.
    clamped : (n_kinds, n_a) array
        Receives 1 for each intervention by kind and joint; the rows of the torque stay untouched.
    """
    refused = False
    for i in range(u.shape[0]):
        clamped[_POSITION, i] = clamped[_VELOCITY, i] = clamped[_JUMP, i] = clamped[_NON_FINITE, i] = 0
        if not (np.isfinite(u_request[i]) and np.isfinite(du_request[i])):
            clamped[_NON_FINITE, i] = 1
            refused = True
        elif abs(u_request[i] - u_before[i]) > jump[i]:
            clamped[_JUMP, i] = 1
            refused = True
    for i in range(u.shape[0]):
        if refused:
            u[i], du[i] = u_before[i], 0.0
            continue
        within = min(max(u_request[i], min(q_min[i], u_before[i])), max(q_max[i], u_before[i]))
        step = v_max[i] * dt_s
        u[i] = min(max(within, u_before[i] - step), u_before[i] + step)
        du[i] = min(max(du_request[i], -v_max[i]), v_max[i])
        clamped[_POSITION, i] = int(within != u_request[i])
        clamped[_VELOCITY, i] = int(u[i] != within or du[i] != du_request[i])
    return refused


@njit(cache=True)
def guard_torque(
    tau_request: FloatArray, tau_before: FloatArray, dt_s: float, tau_max: FloatArray, tau_rate: FloatArray,
    tau: FloatArray, clamped: CountArray,
) -> None:  # fmt: skip
    """Limit a torque; a non-finite request keeps the joint's torque of the command before.

    tau = clip(clip(tau_request, -tau_max, tau_max), tau_before - tau_rate dt, tau_before + tau_rate dt)

    Parameters
    ----------
    tau_request : (n_a,) array
        Anything, N m.
    tau_before : (n_a,) array
        Torque of the command before, within tau_max, N m.
    dt_s : float
        Time since the command before, s.
    tau_max, tau_rate : (n_a,) array
        See `GuardLimits`.
    tau : (n_a,) array
        Receives the limited torque.
    clamped : (n_kinds, n_a) array
        Receives 1 for each intervention; NON_FINITE is only ever raised, not lowered.
    """
    for i in range(tau.shape[0]):
        wanted = tau_request[i]
        if not np.isfinite(wanted):
            clamped[_NON_FINITE, i] = 1
            wanted = tau_before[i]
        within = min(max(wanted, -tau_max[i]), tau_max[i])
        step = tau_rate[i] * dt_s
        tau[i] = min(max(within, tau_before[i] - step), tau_before[i] + step)
        clamped[_EFFORT, i] = int(within != wanted)
        clamped[_RATE, i] = int(tau[i] != within)


@dataclass(frozen=True)
class GuardEvent:
    """One intervention of the guard in the latest command."""

    kind: ClampKind
    joint: str


class CommandGuard:
    """Limits every command and remembers the one before it.

    Attributes
    ----------
    u, du, tau : (n_a,) array
        The latest setpoint, rate and torque that left; reused, copy to keep.
    counts : (n_kinds, n_a) array
        Interventions so far by kind (row, see `ClampKind`) and joint.
    """

    def __init__(self, limits: GuardLimits, joint_names: tuple[str, ...]) -> None:
        n_a = len(joint_names)
        self.limits = limits
        self.joint_names = joint_names
        self.u, self.du, self.tau = np.zeros(n_a), np.zeros(n_a), np.zeros(n_a)
        self.counts = np.zeros((len(ClampKind), n_a), dtype=np.int64)
        self._clamped = np.zeros_like(self.counts)

    def start_from(self, u: FloatArray, tau: FloatArray) -> None:
        """Begin at a finite setpoint and torque; the torque is taken within the effort limit."""
        self.u[:], self.du[:] = u, 0.0
        np.clip(tau, -self.limits.tau_max, self.limits.tau_max, out=self.tau)
        self._clamped[:] = 0

    def pass_setpoint(self, u: FloatArray, du: FloatArray, dt_s: float) -> bool:
        """Limit a request into `self.u`, `self.du`; returns whether it was refused as a whole."""
        x = self.limits
        refused = guard_setpoint(
            u, du, self.u, dt_s, x.q_min, x.q_max, x.v_max, x.jump, self.u, self.du, self._clamped
        )
        return bool(refused)

    def pass_torque(self, tau: FloatArray, dt_s: float) -> None:
        """Limit a request into `self.tau`."""
        guard_torque(tau, self.tau, dt_s, self.limits.tau_max, self.limits.tau_rate, self.tau, self._clamped)

    def count(self) -> None:
        """Add the interventions of the latest command to the counters; call once per command."""
        self.counts += self._clamped

    def events(self) -> list[GuardEvent]:
        """Return the interventions in the latest command."""
        return [GuardEvent(ClampKind(kind), self.joint_names[i]) for kind, i in np.argwhere(self._clamped)]

    def counts_by_kind(self) -> dict[str, int]:
        """Return the number of interventions so far by kind, summed over joints."""
        return {kind.name.lower(): int(self.counts[kind].sum()) for kind in ClampKind}
