"""The guard that every command passes before it leaves for the robot.

Requests may be anything, also NaN, infinite or huge; what comes out is finite and within limits:

* setpoint: not further outside of the position limits (with margin) than the setpoint before, moved by at most
  v_max dt, its velocity changed by at most a_max dt, and never so fast that it could not stop at the limit; where a
  jerk limit is set, its acceleration by at most j_max dt wherever the others allow that; a request with a non-finite
  entry or one that jumps, or with `self_distance` one that brings links together, is refused as a whole, and the
  setpoint comes to rest;
* setpoint and feed-forward: where a contact force is set, nearer to the position, so that no end presses harder
  (`contact_force`, which the bridge asks before);
* torque: within a fraction of the joint's effort limit, and changed by at most the torque rate times dt.

Each intervention is counted by kind and joint.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.control.bridge.guard.jerk import rest_distance
from contact_mpc.control.bridge.guard.kernels import ClampKind, guard_setpoint, guard_torque
from contact_mpc.control.bridge.guard.limits import GuardLimits
from contact_mpc.control.bridge.guard.self_distance import SelfDistance
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
    v, a : (n_a,) array
        Velocity of the setpoint in its latest step, rad/s, and its change since the step before, rad/s^2.
    counts : (n_kinds, n_a) array
        Interventions so far by kind (row, see `ClampKind`) and joint.
    approach : str
        Which links the latest request would have brought together, and how near; "": none.
    """

    def __init__(
        self, limits: GuardLimits, joint_names: tuple[str, ...], self_distance: SelfDistance | None = None
    ) -> None:
        n_a = len(joint_names)
        self.limits = limits
        self.joint_names = joint_names
        self.u, self.du, self.v, self.a, self.tau = (np.zeros(n_a) for _ in range(5))
        self.counts = np.zeros((len(ClampKind), n_a), dtype=np.int64)
        self._clamped = np.zeros_like(self.counts)
        self._self_distance, self.approach = self_distance, ""
        self._zero = np.zeros(n_a)

    def start_from(self, u: FloatArray, tau: FloatArray) -> None:
        """Begin at rest at a finite setpoint and torque; the torque is taken within the effort limit."""
        self.u[:], self.du[:], self.v[:], self.a[:] = u, 0.0, 0.0, 0.0
        np.clip(tau, -self.limits.tau_max, self.limits.tau_max, out=self.tau)
        self._clamped[:] = 0
        if self._self_distance is not None:
            self._self_distance.start_from(self.u)

    def pass_setpoint(
        self, u: FloatArray, du: FloatArray, rate: FloatArray, dt_s: float, pressed: FloatArray | None = None
    ) -> bool:
        """Limit a request into `self.u`, `self.du`; returns whether it was refused as a whole.

        See `guard_setpoint` for the request. `pressed` (n_a,) are the shares that `ContactForce` left of it.
        """
        self._clamped[ClampKind.CONTACT_FORCE] = 0 if pressed is None else pressed < 1.0
        if self._self_distance is None:
            return self._limit(u, du, rate, dt_s)
        before = self.u.copy(), self.du.copy(), self.v.copy(), self.a.copy()
        refused = self._limit(u, du, rate, dt_s)
        pair = self._self_distance.find_approach(self._rest())
        self.approach = "" if pair is None else self._self_distance.describe(pair)
        if pair is not None:
            self.u[:], self.du[:], self.v[:], self.a[:] = before
            self._limit(before[0], self._zero, self._zero, dt_s)
            self._self_distance.find_approach(self._rest())
        self._clamped[ClampKind.SELF_DISTANCE] = pair is not None
        self._self_distance.keep()
        return refused or pair is not None

    def _limit(self, u: FloatArray, du: FloatArray, rate: FloatArray, dt_s: float) -> bool:
        """Limit a request by the limits of each joint; returns whether it was refused as a whole."""
        x = self.limits
        refused = guard_setpoint(
            u, du, rate, self.u, self.v, self.a, dt_s, x.q_min, x.q_max, x.v_max, x.a_max, x.j_max, x.jump,
            self.u, self.du, self.v, self.a, self._clamped,
        )  # fmt: skip
        return bool(refused)

    def _rest(self) -> FloatArray:
        """Return where the setpoint would come to rest (n_a,), rad, if it braked now."""
        x = self.limits
        if np.all(np.isfinite(x.j_max)):
            way = np.array([rest_distance(*item) for item in zip(self.v, self.a, x.a_max, x.j_max, strict=True)])
        else:
            way = 0.5 * self.v * np.abs(self.v) / x.a_max
        return np.clip(self.u + way, np.minimum(x.q_min, self.u), np.maximum(x.q_max, self.u))

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
