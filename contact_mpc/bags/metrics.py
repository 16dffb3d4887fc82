"""Figures of merit of a recorded run: what `contact-mpc run` and the report state.

Errors are those of the last sample of the hold, beside the worst during the hold. Limits are those of the URDF and are
counted on what went over the wire, per joint and message. Lateness in `realtime` is what the bridge says of itself in
/diagnostics. A bag without that is judged by the times of receipt (`lateness_ms`), which contain the paths to bridge
and recorder: an upper bound.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from contact_mpc.bags.object_track import ObjectEvaluation, evaluate_object
from contact_mpc.bags.poses import IntArray
from contact_mpc.bags.record import RunRecord
from contact_mpc.control.tracking.follower import PLAN_KEPT
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.task import TaskConfig

LIMIT_TOLERANCE = 1e-9  # relative: a command clamped to the limit is not beyond it
FAULT_STATE = "FAULT"
STATE_LOST = "STATE_LOST"
BRIDGE = "command_bridge"
LATENESS_WINDOW_NS = NS_PER_S
STATISTICS = ("median", "p90", "p99", "max")


@dataclass(frozen=True)
class RunMetrics:
    """Figures of one run; None is unknown, never 0.

    Attributes
    ----------
    angle_error_deg, position_error_mm : float
        Object against goal at the end of the hold.
    worst_hold_angle_error_deg, worst_hold_position_error_mm : float or None
        The largest during the hold; None if the bag ends before it.
    error_source : str
        "plant" (ground truth) or "estimate".
    real_time_factor : float or None
        Simulated time over the time of receipt.
    mpc_solve_ms, bridge_lateness_ms : dict or None
        {median, p90, p99, max}; lateness only in `realtime`.
    missed_ticks : int or None
        Joint states of the bag that no command answers, between the first and the last command; in `realtime` also
        what the best-effort recorder missed of the commands.
    limit_violations : int
        Sum of `limit_violations_by_kind`: effort, position and rate commands beyond the limits, and non-finite ones.
    dropped : bool
        The object was further than the task allows from its reference.
    faults : tuple of str
        Messages of the bridge's FAULT states.
    completed : bool
        The bag reaches the end of the task's hold.
    goal_met : bool
        Completed, not dropped, both errors within the task's tolerances, no fault of the bridge, and no command beyond
        its limits.
    reasons : tuple of str
        Why the goal was not met.
    failed_replans : int
        Times that the tracker searched another plan in vain and kept the running one.
    tracker_reports : dict
        What else the tracker warned of (an object that lags, joints that lack torque), and at how many ticks.
    contacts : dict or None
        Pushes: `hits` planned and measured in their order, `hits_as_planned` (within 30 ms and 20 % of the impulse),
        `is_sequence_as_planned` (their number); None where they were not measured. They do not settle goal_met.
    """

    angle_error_deg: float
    position_error_mm: float
    worst_hold_angle_error_deg: float | None
    worst_hold_position_error_mm: float | None
    error_source: str
    real_time_factor: float | None
    mpc_solve_ms: dict[str, float] | None
    mpc_rate_hz: float | None
    bridge_lateness_ms: dict[str, float] | None
    missed_ticks: int | None
    limit_violations: int
    limit_violations_by_kind: dict[str, int]
    dropped: bool
    hold_plans: int
    waited_s: float
    faults: tuple[str, ...]
    completed: bool
    goal_met: bool
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = field(default=())
    failed_replans: int = 0
    tracker_reports: dict[str, int] = field(default_factory=dict)
    contacts: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures with the keys of ``--json``."""
        return asdict(self)


def compute_metrics(record: RunRecord, system: System, task: TaskConfig) -> RunMetrics:
    """Compute the figures of a run.

    Parameters
    ----------
    record : RunRecord
        The bag; it must hold the object's true or estimated pose.
    system, task
        What was run.

    Raises
    ------
    BagError
        The object's pose was not recorded, or joints of the system are missing in a topic.
    """
    evaluation = evaluate_object(record, task)
    last = evaluation.final_index
    angle, distance_mm = float(evaluation.goal_angle_deg[last]), 1e3 * float(evaluation.goal_distance_m[last])
    dropped = bool(np.any(evaluation.reference_distance_m[: last + 1] > task.drop_distance_m))
    violations = count_limit_violations(record, system)
    faults = _faults(record, evaluation)
    reasons = (
        *_reasons(evaluation, task, angle, distance_mm, dropped=dropped),
        *(f"the bridge had a fault: {fault}" for fault in faults),
        *(f"{count} {kind} commands beyond limits" for kind, count in violations.items() if count),
    )
    realtime = record.metadata.get("clock") == "realtime"
    return RunMetrics(
        angle_error_deg=angle,
        position_error_mm=distance_mm,
        worst_hold_angle_error_deg=_worst_in_hold(evaluation, evaluation.goal_angle_deg),
        worst_hold_position_error_mm=_worst_in_hold(evaluation, 1e3 * evaluation.goal_distance_m),
        error_source=evaluation.source,
        real_time_factor=real_time_factor(record),
        mpc_solve_ms=statistics(solve_times_ms(record)),
        mpc_rate_hz=mpc_rate_hz(record),
        bridge_lateness_ms=(bridge_lateness_ms(record) or statistics(lateness_ms(record))) if realtime else None,
        missed_ticks=missed_ticks(record),
        limit_violations=sum(violations.values()),
        limit_violations_by_kind=violations,
        dropped=dropped,
        hold_plans=sum(not len(plan.times_s) for plan in record.plans),
        waited_s=evaluation.waited_s,
        faults=faults,
        completed=evaluation.is_complete,
        goal_met=not reasons,
        reasons=reasons,
        warnings=record.warnings,
        failed_replans=sum(status.message.startswith(PLAN_KEPT) for status in record.solve_status),
        tracker_reports=tracker_reports(record),
    )


def tracker_reports(record: RunRecord) -> dict[str, int]:
    """Return the messages of ticks at which the tracker warned, in the order in which they came first, with counts."""
    counts: dict[str, int] = {}
    for status in record.solve_status:
        if status.level > 0 and not status.message.startswith(PLAN_KEPT):
            counts[status.message] = counts.get(status.message, 0) + 1
    return counts


def statistics(values: FloatArray) -> dict[str, float] | None:
    """Return {median, p90, p99, max} of the finite values; None without any."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    found = np.percentile(finite, [50.0, 90.0, 99.0, 100.0])
    return dict(zip(STATISTICS, (float(value) for value in found), strict=True))


def solve_times_ms(record: RunRecord) -> FloatArray:
    """Return `solve_ms` of every solve that states it, ms."""
    return np.array([status.number("solve_ms") for status in record.solve_status if "solve_ms" in status.values])


def mpc_rate_hz(record: RunRecord) -> float | None:
    """Return plans per second of their stamps; None for fewer than two."""
    stamps = [plan.stamp_ns for plan in record.plans]
    if len(stamps) < 2 or stamps[-1] <= stamps[0]:
        return None
    return (len(stamps) - 1) / ((stamps[-1] - stamps[0]) * 1e-9)


def real_time_factor(record: RunRecord) -> float | None:
    """Return stamped time over time of receipt of the joint states; None if either does not advance."""
    states = record.joint_states
    if states is None or len(states) < 2:
        return None
    stamped, received = (int(t[-1] - t[0]) for t in (states.t_ns, states.receive_ns))
    return stamped / received if stamped > 0 and received > 0 else None


def bridge_lateness_ms(record: RunRecord) -> dict[str, float] | None:
    """Return the lateness that the bridge last stated in /diagnostics, ms; None where it did not."""
    stated = [status for status in record.diagnostics if status.name.endswith(BRIDGE)]
    found = {name: stated[-1].number(f"lateness_{name}_ms") for name in STATISTICS} if stated else {}
    return found if found and np.isfinite(list(found.values())).all() else None


def lateness_ms(record: RunRecord) -> FloatArray:
    """Return for each command its receipt against the grid of the stamps, ms (n,).

    The offset between the two clocks is the least (receipt - stamp) within the same and the preceding second, so that
    a simulation that falls behind for good is forgotten. Empty where commands are not stamped.
    """
    commands = record.commands
    if commands is None or not commands.labelled or not len(commands):
        return np.zeros(0)
    offset = commands.receive_ns - commands.t_ns
    window = (commands.receive_ns - commands.receive_ns[0]) // LATENESS_WINDOW_NS
    least = np.full(int(window.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, window, offset)
    least[1:] = np.minimum(least[1:], least[:-1].copy())
    return (offset - least[window]) * 1e-6


def missed_ticks(record: RunRecord) -> int | None:
    """Return how many joint states in the bag no command answers; None where commands are not stamped."""
    commands, states = record.commands, record.joint_states
    if commands is None or states is None or not commands.labelled or not len(commands):
        return None
    inside = (states.t_ns >= commands.t_ns.min()) & (states.t_ns <= commands.t_ns.max())
    return int(np.count_nonzero(~np.isin(np.unique(states.t_ns[inside]), commands.t_ns)))


def count_limit_violations(record: RunRecord, system: System) -> dict[str, int]:
    """Return how often commands were beyond the limits of the system, per kind, one per joint and message.

    Efforts and position commands are those on the wire; in effort mode the position and rate behind the effort are
    those of `command_bridge/applied`.
    """
    beyond: dict[str, Callable[[FloatArray], Any]] = {
        "effort": lambda tau: np.abs(tau) > system.tau_max_nm * (1.0 + LIMIT_TOLERANCE),
        "position": lambda u: (u < system.q_min - LIMIT_TOLERANCE) | (u > system.q_max + LIMIT_TOLERANCE),
        "velocity": lambda du: np.abs(du) > system.v_max * (1.0 + LIMIT_TOLERANCE),
    }
    sent = sent_commands(record, system)
    counts = {kind: int(np.count_nonzero(beyond[kind](values))) for kind, (_, values) in sent.items()}
    counts["non_finite"] = sum(int(np.count_nonzero(~np.isfinite(values))) for _, values in sent.values())
    return counts


def sent_commands(record: RunRecord, system: System) -> dict[str, tuple[IntArray, FloatArray]]:
    """Return stamps (n,) ns and values (n, n_a) of what left the bridge: effort N m, position rad, velocity rad/s."""
    sent: dict[str, tuple[IntArray, FloatArray]] = {}
    applied = record.applied
    if applied is not None:
        for kind in ("position", "velocity", "effort"):
            if getattr(applied, kind).shape[1]:
                sent[kind] = applied.t_ns, applied.select(kind, system.joint_names)
    for kind, series in (("effort", record.effort_commands), ("position", record.position_commands)):
        if series is not None and series.values.shape[1] == system.n_a:
            sent[kind] = series.t_ns, series.values
    return sent


def _faults(record: RunRecord, evaluation: ObjectEvaluation) -> tuple[str, ...]:
    """Return every fault of the bridge once; that states stop coming once the run has ended is none."""
    end_ns = _receipt_of_end(record, evaluation)
    counted = [
        status.message
        for status in record.safety
        if status.message.startswith(FAULT_STATE)
        and not (STATE_LOST in status.message and end_ns is not None and status.receive_ns >= end_ns)
    ]
    return tuple(dict.fromkeys(counted))


def _receipt_of_end(record: RunRecord, evaluation: ObjectEvaluation) -> int | None:
    """Return when the first joint state at or after the end of the hold was received, ns; None without one."""
    states = record.joint_states
    if states is None or not evaluation.is_complete:
        return None
    after = np.flatnonzero(states.t_ns >= evaluation.end_ns)
    return int(states.receive_ns[after[0]]) if len(after) else None


def _worst_in_hold(evaluation: ObjectEvaluation, errors: FloatArray) -> float | None:
    t_ns = evaluation.judged.t_ns
    inside = (t_ns >= evaluation.motion_end_ns) & (t_ns <= evaluation.end_ns)
    return float(errors[inside].max()) if inside.any() else None


def _reasons(
    evaluation: ObjectEvaluation, task: TaskConfig, angle_deg: float, distance_mm: float, *, dropped: bool
) -> tuple[str, ...]:
    checks = [
        (evaluation.is_complete, "the bag ends before the hold does"),
        (not dropped, f"the object was more than {100 * task.drop_distance_m:.0f} cm from its reference"),
        (angle_deg <= task.tolerance_deg, f"angle error {angle_deg:.2f} deg > {task.tolerance_deg:g} deg"),
        (distance_mm <= task.tolerance_mm, f"position error {distance_mm:.2f} mm > {task.tolerance_mm:g} mm"),
    ]
    return tuple(text for passed, text in checks if not passed)
