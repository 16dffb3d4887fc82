"""What the command bridge reports: its mode, and the named, numbered causes of holds and faults with their remedies."""

from collections import Counter
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class BridgeMode(Enum):
    """Modes of the bridge; commands leave in ACTIVE, HOLD and FAULT only."""

    INACTIVE = "INACTIVE"
    WAITING = "WAITING"
    ACTIVE = "ACTIVE"
    HOLD = "HOLD"
    FAULT = "FAULT"


class Cause(Enum):
    """Why the bridge holds (1xx, ends by itself) or is in fault (2xx, latched until reset)."""

    NONE = (0, "")
    NO_PLAN = (101, "start the tracker and its reference")
    PLAN_HOLD = (102, "the tracker sends plans without points: see mpc_tracker/solve_status")
    PLAN_STALE = (103, "the tracker stopped or is too slow: lower mpc_rate_hz or its horizon")
    PLAN_FAR = (104, "the plan is far from the command: reset the tracker, or plan from the present posture")
    COMMAND_JUMP = (105, "the plan moves faster than the joints may: slow it down")
    STATE_LATE = (106, "joint states come late: check driver rate, network and load")
    STATE_LOST = (201, "joint states stopped: check the driver, then reset")
    STATE_REFUSED = (202, "joint states are unusable: check names, length and values, then reset")
    STATE_JUMP = (203, "the measured position jumped: check encoders and driver, then reset")
    CLOCK_BACKWARD = (204, "the stamps of the joint states went back: one time source for all, then reset")
    CLOCK_FORWARD = (205, "the stamps of the joint states leapt ahead: one time source for all, then reset")
    PLAN_LATE = (206, "in lockstep the plan of a tick did not arrive: see the tracker's log, then reset")
    STOPPED = (207, "stopped on request: reset when it is safe")
    INTERNAL = (208, "an error in the bridge: see its log, then reset")

    def __init__(self, number: int, remedy: str) -> None:
        self.number = number
        self.remedy = remedy

    @property
    def is_fault(self) -> bool:
        """Whether the cause is latched until reset."""
        return self.number >= 200


UNTRUSTED_STATE = (
    Cause.STATE_LOST, Cause.STATE_REFUSED, Cause.STATE_JUMP, Cause.CLOCK_BACKWARD, Cause.CLOCK_FORWARD
)  # fmt: skip


@dataclass(frozen=True)
class SafetyStatus:
    """Mode, cause and detail since t_ns (stamp of the joint states, ns)."""

    mode: BridgeMode
    cause: Cause = Cause.NONE
    detail: str = ""
    t_ns: int = 0

    def describe(self) -> str:
        """Return one line: mode, then name, number, detail and remedy of the cause."""
        detail = f": {self.detail}" if self.detail else ""
        if self.cause is Cause.NONE:
            return self.mode.value + detail
        return f"{self.mode.value} {self.cause.name} ({self.cause.number}){detail}; {self.cause.remedy}"


@dataclass
class BridgeCommand:
    """One command; the arrays are reused by the next one, copy to keep.

    Attributes
    ----------
    t_ns : int
        Stamp of the joint state that it answers, ns.
    data : (n_a,) array
        What goes on the wire: joint torque, N m, or setpoint, rad.
    desired_q, desired_dq, desired_tau : (n_a,) array
        Requested setpoint, rad, its rate, rad/s, and torque, N m, before the guard.
    applied_q, applied_dq, applied_tau : (n_a,) array
        The same after the guard.
    """

    data: FloatArray
    desired_q: FloatArray
    desired_dq: FloatArray
    desired_tau: FloatArray
    applied_q: FloatArray
    applied_dq: FloatArray
    applied_tau: FloatArray
    safety: SafetyStatus
    t_ns: int = 0


class Refusals(Counter[str]):
    """Counts of messages that were not used, by reason."""

    def add(self, reason: str) -> str:
        """Count one and return the reason."""
        self[reason] += 1
        return reason
