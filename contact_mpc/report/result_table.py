"""The result of a run as rows of text: the same in the terminal and in the report."""

from dataclasses import dataclass
from typing import Any

from contact_mpc.bags.metrics import RunMetrics
from contact_mpc.task.task import TaskConfig

UNKNOWN = "unknown"


@dataclass(frozen=True)
class ResultRow:
    """One line: what, value, limit ("" without one) and whether the limit is kept (None: not judged)."""

    name: str
    value: str
    limit: str = ""
    passed: bool | None = None


def result_rows(metrics: RunMetrics, task: TaskConfig) -> list[ResultRow]:
    """Return the rows for a run and the limits of its task."""
    judged = "" if metrics.error_source == "plant" else " (estimated)"
    angle, distance = metrics.angle_error_deg, metrics.position_error_mm
    violations, missed = metrics.limit_violations, metrics.missed_ticks
    return [
        ResultRow("Angle error at the end" + judged, f"{angle:.3f} deg", *_within(angle, task.tolerance_deg, "deg")),
        ResultRow("… worst during the hold", _number(metrics.worst_hold_angle_error_deg, "deg", 3)),
        ResultRow(
            "Position error at the end" + judged, f"{distance:.3f} mm", *_within(distance, task.tolerance_mm, "mm")
        ),
        ResultRow("… worst during the hold", _number(metrics.worst_hold_position_error_mm, "mm", 3)),
        ResultRow(
            "Object kept", _yes(not metrics.dropped), f"within {100 * task.drop_distance_m:.0f} cm", not metrics.dropped
        ),
        ResultRow("Ran to the end of the hold", _yes(metrics.completed), "", metrics.completed),
        ResultRow("Commands beyond limits", str(violations), "0", violations == 0),
        ResultRow("Bridge faults", str(len(metrics.faults)), "0", not metrics.faults),
        ResultRow("States without a command", UNKNOWN if missed is None else str(missed), "0", _none_or(missed)),
        ResultRow("MPC solve time, median / p99", _pair(metrics.mpc_solve_ms, "median", "p99", "ms")),
        ResultRow("MPC rate (stamps)", _number(metrics.mpc_rate_hz, "Hz", 1)),
        ResultRow("Plans that asked to hold", str(metrics.hold_plans)),
        ResultRow("Motion waited while the bridge held", f"{metrics.waited_s:.2f} s"),
        ResultRow("Plans searched again in vain", str(metrics.failed_replans)),
        ResultRow("Tracker warned (ticks)", _counted(metrics.tracker_reports)),
        *_contacts(metrics),
        *_lateness(metrics),
        ResultRow("Real-time factor", _number(metrics.real_time_factor, "", 3)),
    ]


def _counted(reports: dict[str, int]) -> str:
    return "; ".join(f"{message} ({count})" for message, count in reports.items()) or "never"


def _contacts(metrics: RunMetrics) -> list[ResultRow]:
    found = metrics.contacts
    if found is None:
        return []
    hits, sequence = found["hits"], found["is_sequence_as_planned"]
    count = [sum(hit[kind] is not None for hit in hits) for kind in ("planned", "measured")]
    rows = [ResultRow("Hits, planned / measured", f"{count[0]} / {count[1]}", "as many", sequence)]
    for number, hit in enumerate(hits, start=1):
        name = f"… hit {number}, planned / measured s, N s"
        rows.append(ResultRow(name, describe_hit(hit), "30 ms, 20 %", hit["is_as_planned"]))
    return rows


def describe_hit(hit: dict[str, Any]) -> str:
    """Return planned and measured instant and impulse of a hit."""
    cells = ("none" if item is None else f"{item['t_s']:.3f}, {item['impulse_ns']:.2f}" for item in
             (hit["planned"], hit["measured"]))  # fmt: skip
    return " / ".join(cells)


def _within(value: float, limit: float, unit: str) -> tuple[str, bool]:
    return f"≤ {limit:g} {unit}", value <= limit


def _lateness(metrics: RunMetrics) -> list[ResultRow]:
    if metrics.bridge_lateness_ms is None:
        return []
    return [ResultRow("Bridge lateness, median / p99", _pair(metrics.bridge_lateness_ms, "median", "p99", "ms"))]


def _number(value: float | None, unit: str, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f} {unit}".strip()


def _pair(statistics: dict[str, float] | None, first: str, second: str, unit: str) -> str:
    return UNKNOWN if statistics is None else f"{statistics[first]:.2f} / {statistics[second]:.2f} {unit}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _none_or(count: int | None) -> bool | None:
    return None if count is None else count == 0
