"""The newest joint state that the bridge accepted, and why others were refused or are a fault."""

import numpy as np
from numba import njit

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.lateness import GridLateness
from contact_mpc.control.bridge.status import Cause
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

LAG_WINDOW_NS = 150_000_000  # a plant at 0.9 of real time falls behind by 30 ms in two of these; that is no delay


@njit(cache=True)
def is_finite_state(q: FloatArray, dq: FloatArray) -> bool:
    """Whether all positions and velocities are finite."""
    finite = True
    for i in range(q.shape[0]):
        finite &= np.isfinite(q[i]) and np.isfinite(dq[i])
    return finite


@njit(cache=True)
def find_jump(q: FloatArray, q_before: FloatArray, v_max: FloatArray, dt_s: float, margin: float) -> int:
    """Return the first joint with |q - q_before| > v_max dt + margin, or -1."""
    for i in range(q.shape[0]):
        if abs(q[i] - q_before[i]) > v_max[i] * dt_s + margin:
            return i
    return -1


class StateMonitor:
    """Accepts complete, finite joint states in the order of their stamps.

    Attributes
    ----------
    q, dq : (n_a,) array
        Newest accepted state, rad, rad/s.
    t_ns : int or None
        Its stamp, ns; None before the first.
    receipt_ns : int
        When it was received, on a monotonic clock, ns.
    """

    def __init__(self, system: System, config: BridgeConfig, lockstep: bool) -> None:
        self._config = config
        self._lockstep = lockstep
        self._v_max = system.v_max
        self._q_min, self._q_max = system.q_min - config.state_jump_rad, system.q_max + config.state_jump_rad
        self._jump_ns = round(config.clock_jump_s * 1e9)
        self._lag_limit_ns = round(config.state_lag_s * 1e9)
        self._joint_names = system.joint_names
        self.q, self.dq = np.zeros(system.n_a), np.zeros(system.n_a)
        self.t_ns: int | None
        self.receipt_ns = 0
        self.clear()

    def clear(self) -> None:
        """Forget the state; the next complete one is the first."""
        self.t_ns = None
        self._lag = GridLateness(LAG_WINDOW_NS)

    def is_beyond_jump(self, t_ns: int) -> bool:
        """Whether a stamp is further ahead of the newest state than the clock may jump."""
        return self.t_ns is not None and t_ns - self.t_ns > self._jump_ns

    def find_refusal(self, t_ns: int, q: FloatArray, dq: FloatArray) -> str | None:
        """Return why a state must not be used, or None.

        "state_length", "state_non_finite", "state_old" (stamp not newer, by less than a jump of the clock), or, for
        the first state only, "state_out_of_limits" (far outside of the URDF's limits: other units or another robot).
        """
        if q.shape != self.q.shape or dq.shape != self.dq.shape:
            return "state_length"
        if not is_finite_state(q, dq):
            return "state_non_finite"
        if self.t_ns is None:
            inside = bool(np.all((q >= self._q_min) & (q <= self._q_max)))
            return None if inside else "state_out_of_limits"
        if self.t_ns - self._jump_ns <= t_ns <= self.t_ns:
            return "state_old"
        return None

    def find_fault(self, t_ns: int, q: FloatArray, receipt_ns: int) -> tuple[Cause, str]:
        """Return what is wrong between the accepted state and a new one that is not refused: a cause and its detail.

        In realtime the stamps may advance as much as the clock of receipt did, plus the tolerance, and must not fall
        behind it: against the least (receipt - stamp) of the last `LAG_WINDOW_NS` or two.
        """
        if self.t_ns is None:
            return Cause.NONE, ""
        advance_ns = t_ns - self.t_ns
        expected_ns = 0 if self._lockstep else receipt_ns - self.receipt_ns
        if advance_ns < 0:
            return Cause.CLOCK_BACKWARD, f"by {-advance_ns * 1e-9:.3f} s"
        if advance_ns - expected_ns > self._jump_ns:
            return Cause.CLOCK_FORWARD, f"by {(advance_ns - expected_ns) * 1e-9:.3f} s"
        joint = find_jump(q, self.q, self._v_max, advance_ns * 1e-9, self._config.state_jump_rad)
        if joint >= 0:
            return Cause.STATE_JUMP, f"{self._joint_names[joint]} from {self.q[joint]:.4f} to {q[joint]:.4f} rad"
        if not self._lockstep and (lag_ns := self._lag.measure(receipt_ns, t_ns)) >= self._lag_limit_ns:
            return Cause.STATE_DELAYED, f"by {lag_ns * 1e-6:.0f} ms"
        return Cause.NONE, ""

    def accept(self, t_ns: int, q: FloatArray, dq: FloatArray, receipt_ns: int) -> None:
        """Make a state the newest."""
        self.q[:], self.dq[:] = q, dq
        self.t_ns, self.receipt_ns = t_ns, receipt_ns
