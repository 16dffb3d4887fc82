"""What the outcomes of many trials amount to: rates with their uncertainty, by axis and by disturbance; compute."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.evaluation.statistics import statistics_of, wilson_interval
from contact_mpc.evaluation.trial_run import TrialOutcome, report_kind
from contact_mpc.evaluation.trials import Disturbance

BINS = 3


def summarise(outcomes: Sequence[TrialOutcome], disturbance: Disturbance, scale: float = 1.0) -> dict[str, Any]:
    """Return the figures of an evaluation with the keys of ``--json``, failures in the order of the trials.

    Parameters
    ----------
    outcomes : sequence of TrialOutcome
        At least one.
    disturbance : Disturbance
        The ranges, of which the table by disturbance takes the thirds.
    scale : float
        Factor on the ranges that the trials were drawn with; 0 leaves no table by disturbance.
    """
    return {
        **rates(outcomes),
        "angle_error_deg": statistics_of([item.angle_error_deg for item in outcomes]),
        "position_error_mm": statistics_of([item.position_error_mm for item in outcomes]),
        "reached_s": statistics_of([item.reached_s for item in outcomes]),
        **solve_times(outcomes),
        "reports": count_reports(outcomes),
        "by_axis": by_axis(outcomes),
        "by_disturbance": by_disturbance(outcomes, disturbance, scale) if scale > 0.0 else {},
        "failures": [
            {"seed": item.seed, "axis": item.axis, "reason": "; ".join((*item.reasons, *item.reports)), **item.drawn}
            for item in outcomes
            if not item.goal_met
        ],
    }


def badness(goal_met: bool, errors: Sequence[float | None], tolerances: Sequence[float]) -> tuple[bool, float]:
    """Return how bad a trial is, to compare by: a goal missed, then the largest error in tolerances."""
    shares = [
        np.inf if error is None or np.isnan(error) else error / limit
        for error, limit in zip(errors, tolerances, strict=True)
    ]
    return not goal_met, float(max(shares))


def describe_worst(outcomes: Sequence[TrialOutcome], tolerances: tuple[float, float]) -> dict[str, Any] | None:
    """Return the trial that came off worst against tolerances (deg, mm): seed, axis, errors, reasons; None of none."""
    if not outcomes:
        return None
    keys = ("angle_error_deg", "position_error_mm")
    worst = max(outcomes, key=lambda item: badness(item.goal_met, [getattr(item, key) for key in keys], tolerances))
    return {key: getattr(worst, key) for key in ("seed", "axis", "goal_met", *keys, "reasons")}


def solve_times(outcomes: Sequence[TrialOutcome]) -> dict[str, Any]:
    """Return the statistics of wall and CPU times per command, ms."""
    return {
        name: statistics_of([value for item in outcomes for value in getattr(item, name)])
        for name in ("solve_ms", "solve_cpu_ms")
    }


def count_reports(outcomes: Sequence[TrialOutcome]) -> dict[str, dict[str, int]]:
    """Return, per kind of report of the tracker, in how many trials it came, and how many of these met the goal."""
    found: dict[str, dict[str, int]] = {}
    for item in outcomes:
        for kind in {report_kind(report) for report in item.reports}:
            counts = found.setdefault(kind, {"trials": 0, "goal_met": 0})
            counts["trials"] += 1
            counts["goal_met"] += item.goal_met
    return dict(sorted(found.items()))


def describe_outcomes(outcomes: Sequence[TrialOutcome]) -> list[dict[str, Any]]:
    """Return every trial in a few words, in their order."""
    names = ("seed", "axis", "goal_met", "dropped", "angle_error_deg", "position_error_mm", "reached_s")
    return [{name: getattr(item, name) for name in names} for item in outcomes]


def rates(outcomes: Sequence[TrialOutcome]) -> dict[str, Any]:
    """Return trials, both success rates and the drops, with their 95 % intervals; rates of nothing are NaN."""
    count = len(outcomes)
    met, loosely = sum(item.goal_met for item in outcomes), sum(item.loosely_met for item in outcomes)
    drops = sum(item.dropped for item in outcomes)
    return {
        "trials": count,
        "success_rate": met / count if count else np.nan,
        "success_interval_95": list(wilson_interval(met, count)),
        "loose_success_rate": loosely / count if count else np.nan,
        "loose_success_interval_95": list(wilson_interval(loosely, count)),
        "drops": drops,
        "drop_interval_95": list(wilson_interval(drops, count)),
    }


def by_axis(outcomes: Sequence[TrialOutcome]) -> dict[str, Any]:
    """Return rates and errors by axis, in the order in which the axes first appear."""
    axes = dict.fromkeys(item.axis for item in outcomes)
    found = {axis: [item for item in outcomes if item.axis == axis] for axis in axes}
    return {axis or "own": _group(items) for axis, items in found.items()}


def by_disturbance(outcomes: Sequence[TrialOutcome], disturbance: Disturbance, scale: float) -> dict[str, Any]:
    """Return rates and errors by thirds of the range of each drawn quantity, in the units of `units`."""
    table = {}
    for name, (low, high, read) in _quantities(disturbance, scale).items():
        edges = np.linspace(low, high, BINS + 1)
        values = np.array([read(item) for item in outcomes])
        bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, BINS - 1)
        table[name] = [
            {"from": float(edges[k]), "to": float(edges[k + 1]), **_group(_chosen(outcomes, bins == k))}
            for k in range(BINS)
        ]
    return table


def _chosen(outcomes: Sequence[TrialOutcome], mask: NDArray[np.bool_]) -> list[TrialOutcome]:
    return [item for item, is_chosen in zip(outcomes, mask, strict=True) if is_chosen]


def _group(outcomes: Sequence[TrialOutcome]) -> dict[str, Any]:
    return {
        **rates(outcomes),
        "angle_error_deg": statistics_of([item.angle_error_deg for item in outcomes]),
        "position_error_mm": statistics_of([item.position_error_mm for item in outcomes]),
    }


def _quantities(
    disturbance: Disturbance, scale: float
) -> dict[str, tuple[float, float, Callable[[TrialOutcome], float]]]:
    """Return least and greatest value and the reader of each drawn quantity that is drawn from a range at all."""
    size, mass = 100.0 * scale * disturbance.size_fraction, 100.0 * scale * disturbance.mass_fraction
    offset = scale * disturbance.object_offset_mm

    def offset_along(axis: int) -> Callable[[TrialOutcome], float]:
        return lambda item: float(item.drawn["object_offset_mm"][axis])

    found: dict[str, tuple[float, float, Callable[[TrialOutcome], float]]] = {}
    if disturbance.friction_fraction is None:
        low, high = disturbance.friction_min, disturbance.friction_max
        found["friction"] = (low, high, lambda item: float(item.drawn["friction"]))
    else:
        share = 100.0 * scale * disturbance.friction_fraction
        found["friction_percent"] = (-share, share, lambda item: 100.0 * (item.drawn["friction_scale"] - 1.0))
    found |= {
        "size_percent": (-size, size, lambda item: 100.0 * (item.drawn["size_scale"] - 1.0)),
        "mass_percent": (-mass, mass, lambda item: 100.0 * (item.drawn["mass_scale"] - 1.0)),
    }
    found.update({f"offset_{name}_mm": (-offset, offset, offset_along(k)) for k, name in enumerate("xyz")})
    return {name: item for name, item in found.items() if item[1] > item[0]}
