"""The kinds of faults: what is done, which name is expected for it, and when its detection is due at the latest.

Limits of detection (see `limits.py`): "first" the first spoilt message; "lead" the first one whose stamp is too far
ahead of the clock; "state_fault" the age of the state that is a fault; "lag" the arrival of the first state that is
so late, which a growing delay postpones by that delay; "plan_due" the instant at which the first spoilt plan takes
effect; "plan_age" the age at which the last good plan is stale; "pose_age" the age at which the estimator gives up,
with one tick of the tracker and the delay of its plan; "exit" the system's report that a killed process has ended,
which comes after it took the memory back; "act" the act itself; "wind_down" the time to zero torque; "flush" the
recorder's next write.
"""

import copy
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from contact_mpc.ros.faults.channel import Channel, Spoiler
from contact_mpc.ros.faults.spoilers import Delay, Edit, Flood, Multiply, Pad, Ramp, Replay, Stop
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.settings.units import NS_PER_S

Limit = Literal[
    "first", "lead", "state_fault", "lag", "plan_due", "plan_age", "pose_age", "exit", "act", "wind_down", "flush"
]
Action = Literal["message", "kill", "signal", "stop_service", "late_discovery", "disk_full", "stranger"]
SHIFT_NS = NS_PER_S
PLAN_COPIES, PLAN_SPACING_S = 10, 0.005  # of 20 Hz
LAG_GROWTH = 0.5
OLD_STATES = 300  # ms ago
OLD_PLANS = 6
PACE = 2  # times as fast as the clock
MS = 1_000_000
FLOOD_SPACING_S = 1e-4
PADDING_BYTES = 1_000_000
RUN_AWAY_RAD_S = 190.0


@dataclass(frozen=True)
class FaultKind:
    """One kind.

    Attributes
    ----------
    name : str
        Its name on the command line.
    expected : tuple of str
        Causes or modes of the bridge, "ended NODE" or "ERROR NODE" (in its diagnostics), of which one must be named;
        empty: nothing may change.
    limit : str
        When naming is due, see the module.
    channel : str or None
        "state", "pose" or "plan" for messages.
    spoil : callable or None
        Makes the spoiler for a channel.
    action : str
        What is done.
    node : str or None
        Whose process is meant.
    number : int
        Signal.
    history : int
        Messages of its channel that must have come before.
    """

    name: str
    expected: tuple[str, ...]
    limit: Limit
    channel: str | None = None
    spoil: Callable[[Channel], Spoiler] | None = None
    action: Action = "message"
    node: str | None = None
    number: int = 0
    history: int = 0


def _edit_state(change: Callable[[JointState], None]) -> Callable[[Channel], Spoiler]:
    return lambda _channel: Edit(JointState, change)


def _edit_plan(change: Callable[[JointTrajectory], None]) -> Callable[[Channel], Spoiler]:
    return lambda _channel: Edit(JointTrajectory, change)


def _shift_stamp(message: Any, shift_ns: int) -> None:
    messages.set_stamp(message.header.stamp, messages.from_stamp(message.header.stamp) + shift_ns)


def _set_positions(message: JointState, change: Callable[[np.ndarray], np.ndarray]) -> None:
    message.position = messages.to_array(change(np.array(message.position)))


def _reorder(message: JointState) -> None:
    """Send everything in another order, names and values alike: correct, and to be matched by name."""
    for name in ("name", "position", "velocity", "effort"):
        setattr(message, name, list(getattr(message, name))[::-1])


def _swap_names(message: JointState) -> None:
    """Send the names in another order and the values in the old one: two joints wired the wrong way round."""
    message.name = list(message.name)[::-1]


def _rename(message: JointState) -> None:
    message.name = ["elbow", *list(message.name)[1:]]


def _shorten(message: JointState) -> None:
    message.position = message.position[:-1]


def _drop_velocity(message: JointState) -> None:
    message.velocity = []


def _run_away(message: JointTrajectory) -> None:
    """Let every joint move at 30 rad/s from where the plan begins."""
    for point in message.points:
        t_s = 1e-9 * messages.from_stamp(point.time_from_start)
        point.positions = [value + 30.0 * t_s for value in message.points[0].positions]


def _add_to_position(message: JointState, shift_rad: float) -> None:
    _set_positions(message, lambda q: q + shift_rad)


def _set_velocity(factor: float) -> Callable[[Channel], Spoiler]:
    """Let every joint say that it moves at a multiple of its limit, while its position does not."""

    def spoil(channel: Channel) -> Spoiler:
        def change(message: JointState) -> None:
            message.velocity = messages.to_array(np.minimum(factor * channel.v_max, 1e308)[: len(message.name)])

        return Edit(JointState, change)

    return spoil


def _set_plan(name: str, value: float) -> Callable[[Channel], Spoiler]:
    def change(message: JointTrajectory) -> None:
        for point in message.points:
            setattr(point, name, [value] * len(message.joint_names))

    return _edit_plan(change)


def _lengthen_plan(message: JointTrajectory) -> None:
    """Put the last point a thousand times at the end, 1 ms apart; a plan that asks to hold has none."""
    if not message.points:
        return
    last_ns = messages.from_stamp(message.points[-1].time_from_start)
    for k in range(1, 1001):
        point = copy.copy(message.points[-1])
        point.time_from_start = messages.to_duration((last_ns + k * MS) * 1e-9)
        message.points.append(point)


def _add_to_plan(message: JointTrajectory, value: float) -> None:
    for point in message.points:
        point.positions = [position + value for position in point.positions]


def _shorten_plan(message: JointTrajectory) -> None:
    for point in message.points:
        point.positions = point.positions[:-1]


def _empty_plan(message: JointTrajectory) -> None:
    message.points = []


def _spoil_pose(message: PoseStamped) -> None:
    message.pose.position.x = float("nan")


def _state(name: str, expected: str, limit: Limit, spoil: Callable[[Channel], Spoiler]) -> FaultKind:
    return FaultKind(f"state_{name}", (expected,) if expected else (), limit, "state", spoil)


def _plan(name: str, expected: str, limit: Limit, spoil: Callable[[Channel], Spoiler]) -> FaultKind:
    return FaultKind(f"plan_{name}", (expected,), limit, "plan", spoil)


def _kill(node: str, expected: str, limit: Limit) -> FaultKind:
    return FaultKind(f"kill_{node}", (expected,), limit, action="kill", node=node, number=signal.SIGKILL)


def _end(name: str, number: int) -> FaultKind:
    return FaultKind(name, ("INACTIVE",), "wind_down", action="signal", node="command_bridge", number=number)


def _stranger(channel: str, expected: str, change: Callable[[Any], None]) -> FaultKind:
    """Let another publisher send what has just come on a channel, changed."""
    return FaultKind(
        f"{channel}_stranger", (expected,), "act", channel, lambda ch: Edit(ch.msg_type, change), action="stranger",
        history=1,
    )  # fmt: skip


def _set(value: float) -> Callable[[Channel], Spoiler]:
    return _edit_state(lambda message: _set_positions(message, lambda q: np.full_like(q, value)))


_KINDS = (
    _state("stopped", "STATE_LOST", "state_fault", lambda _channel: Stop()),
    _state("delayed", "STATE_LOST", "state_fault", lambda _channel: Delay(0.15)),
    _state("lagging", "STATE_DELAYED", "lag", lambda _channel: Delay(0.0, LAG_GROWTH)),
    FaultKind(
        "state_old", ("CLOCK_BACKWARD",), "first", "state",
        lambda channel: Replay(list(channel.history)[-OLD_STATES:]), history=OLD_STATES,
    ),
    _state("frozen", "STATE_REFUSED", "state_fault", lambda channel: Replay(channel.history, frozen=True)),
    _state("nan", "STATE_REFUSED", "state_fault", _set(float("nan"))),
    _state("infinite", "STATE_REFUSED", "state_fault", _set(float("inf"))),
    _state("huge", "STATE_JUMP", "first", _set(1e300)),
    _state(
        "jump", "STATE_JUMP", "first",
        _edit_state(lambda message: _set_positions(message, lambda q: q + np.where(np.arange(q.size) == 0, 0.5, 0.0))),
    ),
    _state("reordered", "", "first", _edit_state(_reorder)),
    _state("names_swapped", "STATE_JUMP", "first", _edit_state(_swap_names)),
    _state("names_unknown", "STATE_REFUSED", "state_fault", _edit_state(_rename)),
    _state("length", "STATE_REFUSED", "state_fault", _edit_state(_shorten)),
    _state("without_velocity", "STATE_REFUSED", "state_fault", _edit_state(_drop_velocity)),
    FaultKind(
        "clock_backward", ("CLOCK_BACKWARD",), "first", "state",
        _edit_state(lambda message: _shift_stamp(message, -SHIFT_NS)),
    ),
    FaultKind(
        "clock_forward", ("CLOCK_FORWARD",), "first", "state",
        _edit_state(lambda message: _shift_stamp(message, SHIFT_NS)),
    ),
    _state("velocity_huge", "STATE_VELOCITY", "first", _set_velocity(1e307)),
    _state("velocity_impossible", "STATE_VELOCITY", "first", _set_velocity(10.0)),
    _state("velocity_denied", "STATE_MISMATCH", "first", _set_velocity(2.8)),
    FaultKind(  # a jump, where the relay was kept from a state or two
        "state_runs_away", ("STATE_MISMATCH", "STATE_JUMP"), "first", "state",
        lambda _channel: Ramp(JointState, lambda message, t_s: _add_to_position(message, t_s * RUN_AWAY_RAD_S)),
    ),
    FaultKind(
        "clock_fast", ("CLOCK_FORWARD",), "lead", "state",
        lambda _channel: Ramp(
            JointState, lambda message, t_s: _shift_stamp(message, round((PACE - 1) * t_s * NS_PER_S))
        ),
    ),
    _state("flood", "", "first", lambda _channel: Flood(FLOOD_SPACING_S)),
    _state("long", "STATE_REFUSED", "state_fault", lambda _channel: Pad(PADDING_BYTES)),
    _stranger("state", "STATE_STRANGER", lambda message: _add_to_position(message, 0.1)),
    _stranger("plan", "PLAN_STRANGER", lambda message: _add_to_plan(message, 0.1)),
    _plan("velocity_huge", "PLAN_REFUSED", "plan_due", _set_plan("velocities", 1e9)),
    _plan("effort_huge", "PLAN_REFUSED", "plan_due", _set_plan("effort", 1e9)),
    _plan("many_points", "PLAN_REFUSED", "plan_due", _edit_plan(_lengthen_plan)),
    _plan("long", "PLAN_REFUSED", "plan_due", lambda _channel: Pad(PADDING_BYTES)),
    _plan("flood", "PLAN_OLD", "first", lambda _channel: Flood(FLOOD_SPACING_S)),
    _plan("stopped", "PLAN_STALE", "plan_age", lambda _channel: Stop()),
    _plan("nan", "PLAN_REFUSED", "plan_due", _edit_plan(lambda message: _add_to_plan(message, float("nan")))),
    _plan("length", "PLAN_REFUSED", "plan_due", _edit_plan(_shorten_plan)),
    _plan("empty", "PLAN_HOLD", "plan_due", _edit_plan(_empty_plan)),
    _plan("out_of_limits", "PLAN_REFUSED", "plan_due", _edit_plan(lambda message: _add_to_plan(message, 10.0))),
    FaultKind("plan_too_fast", ("COMMAND_JUMP", "PLAN_FAR", "PLAN_REFUSED"), "plan_due", "plan", _edit_plan(_run_away)),
    _plan("rate_x10", "PLAN_RATE", "first", lambda _channel: Multiply(JointTrajectory, PLAN_COPIES, PLAN_SPACING_S)),
    FaultKind(
        "plan_old", ("PLAN_OLD",), "first", "plan",
        lambda channel: Replay(list(channel.history)[-OLD_PLANS:]), history=OLD_PLANS,
    ),
    FaultKind("pose_lost", ("PLAN_HOLD",), "pose_age", "pose", lambda _channel: Stop()),
    FaultKind("pose_nan", ("PLAN_HOLD",), "pose_age", "pose", lambda _channel: Edit(PoseStamped, _spoil_pose)),
    FaultKind("stop_service", ("STOPPED",), "act", action="stop_service"),
    FaultKind("late_discovery", ("WAITING",), "act", action="late_discovery", channel="state"),
    _kill("state_estimator", "PLAN_STALE", "plan_age"),
    _kill("mpc_tracker", "PLAN_STALE", "plan_age"),
    _kill("trajectory_server", "ended trajectory_server", "exit"),
    _kill("plant", "STATE_LOST", "state_fault"),
    _kill("command_bridge", "ended command_bridge", "exit"),
    _kill("recorder", "ended recorder", "exit"),
    _end("sigint_in_motion", signal.SIGINT),
    _end("sigterm_in_motion", signal.SIGTERM),
    FaultKind("disk_full", ("ERROR recorder",), "flush", action="disk_full", node="recorder"),
)  # fmt: skip
KINDS: dict[str, FaultKind] = {kind.name: kind for kind in _KINDS}
