"""What the command bridge reports: its mode, and the named, numbered causes of holds and faults with their remedies."""

from collections import Counter
from dataclasses import dataclass
from enum import Enum

from contact_mpc.settings.arrays import FloatArray


class BridgeMode(Enum):
    """Modes of the bridge; commands leave in ACTIVE, HOLD and FAULT only."""

    INACTIVE = "INACTIVE"
    WAITING = "WAITING"
    ACTIVE = "ACTIVE"
    HOLD = "HOLD"
    FAULT = "FAULT"


class Cause(Enum):
    """Why the bridge waits or holds (1xx, ends by itself), is in fault (2xx, latched until reset) or warns (3xx).

    The one table of these numbers; `CAUSES.md` beside this file is written from it by `cause_table`.
    """

    NONE = (0, "")
    NO_PLAN = (101, "start the tracker and its reference")
    PLAN_HOLD = (102, "the tracker sends plans without points: see mpc_tracker/solve_status")
    PLAN_STALE = (103, "the tracker stopped or is too slow: lower mpc_rate_hz or its horizon")
    PLAN_FAR = (
        104,
        "the plan is far from the command: ~/go_to_start, reset the tracker, or plan from the present posture",
    )
    COMMAND_JUMP = (105, "the plan moves faster than the joints may: slow it down")
    STATE_LATE = (106, "joint states come late: check driver rate, network and load")
    PLAN_REFUSED = (107, "the newest plan is unusable: check joint names, lengths, times and values of the tracker")
    START_GUARD = (108, "joint states must come at their rate for start_guard_s; nothing to do")
    STATE_RATE = (109, "joint states do not come at rate_hz: set rate_hz or the rate of the driver")
    STATE_UNUSABLE = (110, "joint states are unusable: check names, length, values and units of the driver")
    GOING_TO_START = (111, "a slow motion to the start, asked for: ~/stop ends it; collisions are not checked")
    SELF_DISTANCE = (112, "the plan brings links of the robot together: plan another way, or lower self_distance_m")
    STATE_LOST = (201, "joint states stopped: check driver and load, then reset")
    STATE_REFUSED = (202, "joint states are unusable: check names, length and values, then reset")
    STATE_JUMP = (203, "the measured position jumped: check encoders and driver, then reset")
    CLOCK_BACKWARD = (204, "the stamps of the joint states went back: one time source for all, then reset")
    CLOCK_FORWARD = (205, "the stamps of the joint states leapt ahead: one time source for all, then reset")
    PLAN_LATE = (206, "in lockstep the plan of a tick did not arrive: see the tracker's log, then reset")
    STOPPED = (207, "stopped on request: reset when it is safe")
    INTERNAL = (208, "an error in the bridge: see its log, then reset")
    STATE_DELAYED = (209, "joint states fall behind the clock: check network, driver and load, then reset")
    STATE_RANGE = (210, "a measured position is out of the joint's range: check encoders and units, then reset")
    STATE_VELOCITY = (211, "a measured velocity is beyond what the joint can do: check driver and units, then reset")
    STATE_MISMATCH = (212, "measured velocities do not fit the positions: check driver and filters, then reset")
    STATE_STRANGER = (213, "joint states come from two publishers: remap or end one of them, then reset")
    PLAN_RATE = (301, "plans come faster than mpc_rate_hz and are left out: is there a second tracker?")
    PLAN_OLD = (302, "plans with an old or a future stamp are left out: one tracker, one time source")
    PLAN_HORIZON = (303, "plans end before twice their mean delay: lengthen the horizon or speed up the solver")
    STATE_RATE_OFF = (304, "joint states are off rate_hz by more than rate_tolerance: check driver, network and load")
    SIMULATOR_SLOW = (305, "the simulator falls behind real time, nothing is lost: free the machine, or use lockstep")
    PLAN_STRANGER = (306, "plans of a second publisher are left out: end it, or reset to change to it")
    CONTACT_FORCE = (307, "the plan asks for more than contact_force_n and gets that: plan to press less, or raise it")

    def __init__(self, number: int, remedy: str) -> None:
        self.number = number
        self.remedy = remedy

    @property
    def is_fault(self) -> bool:
        """Whether the cause is latched until reset."""
        return 200 <= self.number < 300

    @property
    def is_warning(self) -> bool:
        """Whether commands go on as if nothing were."""
        return self.number >= 300


def cause_table() -> str:
    """Return all causes as a Markdown table: number, name, what it does, remedy."""
    kinds = {1: "waits or holds until it is over", 2: "fault, latched until `~/reset_fault`", 3: "warns"}
    rows = [
        f"| {cause.number} | {cause.name} | {kinds[cause.number // 100]} | {cause.remedy} |"
        for cause in Cause
        if cause is not Cause.NONE
    ]
    return "\n".join(["| number | name | the bridge | what to do |", "|-|-|-|-|", *rows]) + "\n"


UNTRUSTED_STATE = (
    Cause.STATE_LOST, Cause.STATE_REFUSED, Cause.STATE_JUMP, Cause.STATE_DELAYED, Cause.STATE_RANGE,
    Cause.STATE_VELOCITY, Cause.STATE_MISMATCH, Cause.CLOCK_BACKWARD, Cause.CLOCK_FORWARD,
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
