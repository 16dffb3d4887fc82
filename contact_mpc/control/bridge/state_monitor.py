"""The newest joint state that the bridge accepted, and why others were refused or are a fault."""

import numpy as np
from numba import njit

from contact_mpc.control.bridge.clocks import GridLateness
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.plausibility import Plausibility
from contact_mpc.control.bridge.status import Cause
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import RAISING
from contact_mpc.settings.units import NS_PER_S

LAG_WINDOW_NS = 150_000_000  # a plant at 0.9 of real time falls behind by 30 ms in two of these; that is no delay
LEAD_WINDOW_NS = NS_PER_S  # of stamps: nor is it a leap that they catch up


@njit(**RAISING)
def is_finite_state(q: FloatArray, dq: FloatArray) -> bool:
    """Whether all positions and velocities are finite."""
    finite = True
    for i in range(q.shape[0]):
        finite &= np.isfinite(q[i]) and np.isfinite(dq[i])
    return finite


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
        self._plausibility = Plausibility(system, config)
        self._jump_ns = round(config.clock_jump_s * NS_PER_S)
        self._lag_limit_ns = round(config.state_lag_s * NS_PER_S)
        self._lag_cause = Cause.SIMULATOR_SLOW if config.simulated else Cause.STATE_DELAYED
        self.q, self.dq = np.zeros(system.n_a), np.zeros(system.n_a)
        self.t_ns: int | None
        self.receipt_ns = 0
        self.clear()

    def clear(self) -> None:
        """Forget the state; the next complete one is the first."""
        self.t_ns = None
        self._lag, self._lead = GridLateness(LAG_WINDOW_NS), GridLateness(LEAD_WINDOW_NS)
        self._plausibility.clear()

    def is_beyond_jump(self, t_ns: int) -> bool:
        """Whether a stamp is further ahead of the newest state than the clock may jump."""
        return self.t_ns is not None and t_ns - self.t_ns > self._jump_ns

    def find_refusal(self, t_ns: int, q: FloatArray, dq: FloatArray) -> str | None:
        """Return why a state must not be used, or None.

        "state_length", "state_non_finite", "state_old" (stamp not newer, by less than a jump of the clock), or, for
        the first state only, "state_out_of_limits" (far beyond the URDF's limits: other units or another robot).
        """
        if q.shape != self.q.shape or dq.shape != self.dq.shape:
            return "state_length"
        if not is_finite_state(q, dq):
            return "state_non_finite"
        if self.t_ns is None:
            return None if self._plausibility.is_start(q, dq) else "state_out_of_limits"
        if self.t_ns - self._jump_ns <= t_ns <= self.t_ns:
            return "state_old"
        return None

    def find_fault(self, t_ns: int, q: FloatArray, dq: FloatArray, receipt_ns: int) -> tuple[Cause, str]:
        """Return what is wrong between the accepted state and a new one that is not refused: a cause and its detail.

        In realtime the stamps may advance as much as the clock of receipt did, plus the tolerance, from one state to
        the next and within `LEAD_WINDOW_NS`, and must not fall behind it: against the least (receipt - stamp) of the
        last `LAG_WINDOW_NS` or two. Of a simulator that only says that it is slower than real time: a warning.
        """
        if self.t_ns is None:
            return Cause.NONE, ""
        advance_ns = t_ns - self.t_ns
        expected_ns = 0 if self._lockstep else receipt_ns - self.receipt_ns
        if advance_ns < 0:
            return Cause.CLOCK_BACKWARD, f"by {-advance_ns * 1e-9:.3f} s"
        if advance_ns - expected_ns > self._jump_ns:
            return Cause.CLOCK_FORWARD, f"by {(advance_ns - expected_ns) * 1e-9:.3f} s"
        cause, detail = self._plausibility.judge(q, dq, self.q, self.dq, advance_ns * 1e-9)
        return self._find_drift(t_ns, receipt_ns) if cause is Cause.NONE else (cause, detail)

    def _find_drift(self, t_ns: int, receipt_ns: int) -> tuple[Cause, str]:
        """Return whether the stamps have run away from the own clock, either way."""
        if self._lockstep:
            return Cause.NONE, ""
        lead_ns = self._lead.measure(t_ns, receipt_ns)
        if lead_ns > self._jump_ns:
            return Cause.CLOCK_FORWARD, f"by {lead_ns * 1e-9:.3f} s, bit by bit"
        lag_ns = self._lag.measure(receipt_ns, t_ns)
        if lag_ns >= self._lag_limit_ns:
            return self._lag_cause, f"by {lag_ns * 1e-6:.0f} ms"
        return Cause.NONE, ""

    def accept(self, t_ns: int, q: FloatArray, dq: FloatArray, receipt_ns: int) -> None:
        """Make a state the newest."""
        self.q[:], self.dq[:] = q, dq
        self.t_ns, self.receipt_ns = t_ns, receipt_ns
