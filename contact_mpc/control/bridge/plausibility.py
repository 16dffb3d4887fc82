"""Whether a measured state can be true: against the joints' limits, and velocities against positions.

A velocity that no joint of this robot has, or positions that do not move as the velocities say, would turn into torque
by the damping of the impedance law long before a position is out of its range. The difference of both,

e <- (1 - dt / T) e + r,  r = (dq + dq_before) / 2 dt - (q - q_before),

is summed up and forgotten within T = `MISMATCH_WINDOW_S`, so that neither a small lie told often nor a large one told
once passes: a velocity that is off by b for longer than T shows as e = b T. |r| is taken less |dq - dq_before| / 2 dt,
by which the trapezoid itself may be off. Filters of drivers delay velocities by some ms, which is
e = (delay) (change of velocity). It says nothing where both lie in agreement, nor of an interval longer than
`LONGEST_INTERVAL_S`, in which messages were lost: what the joint did meanwhile is not known.
"""

import numpy as np
from numba import njit

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.status import Cause
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import RAISING

MISMATCH_WINDOW_S = 0.1
LONGEST_INTERVAL_S = 0.02  # rates of drivers are 200 Hz and more; longer ones end in STATE_DELAYED
FINE, JUMP, RANGE, VELOCITY, MISMATCH = range(5)


@njit(**RAISING)
def find_implausible(
    q: FloatArray, dq: FloatArray, q_before: FloatArray, dq_before: FloatArray, dt_s: float, window_s: float,
    q_low: FloatArray, q_high: FloatArray, v_max: FloatArray, dq_max: FloatArray, jump: float, tolerance: float,
    mismatch: FloatArray,
) -> tuple[int, int]:  # fmt: skip
    """Judge a finite state after one that was accepted; returns what is wrong first and with which joint.

    Parameters
    ----------
    q, dq, q_before, dq_before : (n_a,) array
        The new and the last accepted state, rad and rad/s.
    dt_s : float
        Time between them by their stamps >= 0, s.
    window_s : float
        T of the module's equation, s.
    q_low, q_high : (n_a,) array
        Range that a measured position must lie in, rad.
    v_max : (n_a,) array
        Velocity limit, rad/s: |q - q_before| <= v_max dt + jump.
    dq_max : (n_a,) array
        Largest velocity that is believed, rad/s.
    jump, tolerance : float
        Largest unexplained move within one message, and largest |e|, rad.
    mismatch : (n_a,) array
        e of the module's equation, rad; updated.

    Returns
    -------
    tuple of int
        `FINE`, `JUMP`, `RANGE`, `VELOCITY` or `MISMATCH`, and the joint.
    """
    keep = max(1.0 - dt_s / window_s, 0.0)
    for i in range(q.shape[0]):
        if abs(q[i] - q_before[i]) > v_max[i] * dt_s + jump:
            return JUMP, i
        if q[i] < q_low[i] or q[i] > q_high[i]:
            return RANGE, i
        if abs(dq[i]) > dq_max[i]:
            return VELOCITY, i
    for i in range(q.shape[0]):
        residual = 0.5 * (dq[i] + dq_before[i]) * dt_s - (q[i] - q_before[i])
        unknown = 0.5 * abs(dq[i] - dq_before[i]) * dt_s if dt_s <= LONGEST_INTERVAL_S else abs(residual)
        mismatch[i] = keep * mismatch[i] + np.sign(residual) * max(abs(residual) - unknown, 0.0)
        if abs(mismatch[i]) > tolerance:
            return MISMATCH, i
    return FINE, 0


class Plausibility:
    """Judges the states of one robot in the order of their stamps.

    Parameters
    ----------
    system : System
        Joint limits.
    config : BridgeConfig
        Margins and tolerances.
    """

    def __init__(self, system: System, config: BridgeConfig) -> None:
        self._jump, self._tolerance = config.state_jump_rad, config.state_mismatch_rad
        self._q_low, self._q_high = system.q_min - self._jump, system.q_max + self._jump
        self._v_max, self._dq_max = system.v_max, config.state_velocity_factor * system.v_max
        self._names = system.joint_names
        self._mismatch = np.zeros(system.n_a)

    def clear(self) -> None:
        """Forget what was summed up."""
        self._mismatch[:] = 0.0

    def is_start(self, q: FloatArray, dq: FloatArray) -> bool:
        """Whether a state may be the first one: the right units and the right robot."""
        return bool(np.all((q >= self._q_low) & (q <= self._q_high)) and np.all(np.abs(dq) <= self._dq_max))

    def judge(
        self, q: FloatArray, dq: FloatArray, q_before: FloatArray, dq_before: FloatArray, dt_s: float
    ) -> tuple[Cause, str]:
        """Return the cause of a fault and its detail, or NONE, for a state that comes dt_s after the one before."""
        kind, i = find_implausible(
            q, dq, q_before, dq_before, dt_s, MISMATCH_WINDOW_S, self._q_low, self._q_high, self._v_max, self._dq_max,
            self._jump, self._tolerance, self._mismatch,
        )  # fmt: skip
        if kind == FINE:
            return Cause.NONE, ""
        name = self._names[i]
        if kind == JUMP:
            return Cause.STATE_JUMP, f"{name} from {q_before[i]:.4f} to {q[i]:.4f} rad"
        if kind == RANGE:
            return Cause.STATE_RANGE, f"{name} at {q[i]:.4f} rad, {self._q_low[i]:.4f} to {self._q_high[i]:.4f} allowed"
        if kind == VELOCITY:
            return Cause.STATE_VELOCITY, f"{name} at {dq[i]:.4g} rad/s, at most {self._dq_max[i]:.4g} is believed"
        return Cause.STATE_MISMATCH, f"{name} by {abs(self._mismatch[i]):.3f} rad within {MISMATCH_WINDOW_S:g} s"
