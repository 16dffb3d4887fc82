"""The guard that every command passes before it leaves for the robot.

Requests may be anything, also NaN, infinite or huge; what comes out is finite and within limits:

* setpoint: not further outside of the position limits (with margin) than the setpoint before, moved by at most
  v_max dt, its velocity changed by at most a_max dt, and never so fast that it could not stop at the limit; a request
  with a non-finite entry or one that jumps is refused as a whole, and the setpoint comes to rest;
* torque: within a fraction of the joint's effort limit, and changed by at most the torque rate times dt.

Each intervention is counted by kind and joint.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.control.bridge.guard_kernels import ClampKind, guard_setpoint, guard_torque
from contact_mpc.control.bridge.limits import GuardLimits
from contact_mpc.settings.arrays import FloatArray

__all__ = ["ClampKind", "CommandGuard", "GuardEvent", "GuardLimits"]


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
    v : (n_a,) array
        Velocity of the setpoint in its latest step, rad/s.
    counts : (n_kinds, n_a) array
        Interventions so far by kind (row, see `ClampKind`) and joint.
    """

    def __init__(self, limits: GuardLimits, joint_names: tuple[str, ...]) -> None:
        n_a = len(joint_names)
        self.limits = limits
        self.joint_names = joint_names
        self.u, self.du, self.v, self.tau = (np.zeros(n_a) for _ in range(4))
        self.counts = np.zeros((len(ClampKind), n_a), dtype=np.int64)
        self._clamped = np.zeros_like(self.counts)

    def start_from(self, u: FloatArray, tau: FloatArray) -> None:
        """Begin at rest at a finite setpoint and torque; the torque is taken within the effort limit."""
        self.u[:], self.du[:], self.v[:] = u, 0.0, 0.0
        np.clip(tau, -self.limits.tau_max, self.limits.tau_max, out=self.tau)
        self._clamped[:] = 0

    def pass_setpoint(self, u: FloatArray, du: FloatArray, rate: FloatArray, dt_s: float) -> bool:
        """Limit a request into `self.u`, `self.du`; returns whether it was refused as a whole.

        See `guard_setpoint` for the request.
        """
        x = self.limits
        refused = guard_setpoint(
            u, du, rate, self.u, self.v, dt_s, x.q_min, x.q_max, x.v_max, x.a_max, x.jump,
            self.u, self.du, self.v, self._clamped,
        )  # fmt: skip
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
