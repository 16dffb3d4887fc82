"""Pages of ``contact-mpc study metric`` and ``study smoothing``: curves of coverage and of cost, and the tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contact_mpc.report.plotting.figures import ESTIMATED, LIMIT, REFERENCE, TRUE, Figure, axis, log_axis
from contact_mpc.report.summary_page import write_page

COLOURS = (ESTIMATED, TRUE, REFERENCE, LIMIT, "#2f855a", "#805ad5", "#b7791f")
MEASURES = {
    "visited": "Share of configurations with a node within the radius; bands: standard deviation of trees.",
    "packed": "The paper's packing ratio: share that some node could reach by a linearised step of any length.",
}
OWN_KAPPA = "at its own kappa, which rises: costs compare from where it is constant"


def share_text(spread: dict[str, float]) -> str:
    """Return the mean of a share and its standard deviation, %."""
    return f"{100.0 * spread['mean']:.1f} ± {100.0 * spread['std']:.1f}"


def ratio_text(item: dict[str, float]) -> str:
    """Return a ratio and its standard deviation."""
    return f"{item['ratio']:.2f} ± {item['std']:.2f}"


def write_metric_report(result: dict[str, Any], folder: Path) -> Path:
    """Write metric.html into a folder from the command's JSON result, and return its path."""
    figures, tables = [], {}
    for name, item in result["systems"].items():
        figures += [_coverage(name, item, result["counts"], measure) for measure in MEASURES]
        tables[f"{name}: visited, % (radius {item['radius_rad']:.3f} rad)"] = _coverage_rows(item, result["counts"])
    subtitle = f"{result['seeds']} trees per variant · seed {result['seed']} · {result['nodes']} nodes each"
    return write_page(
        folder.expanduser() / "metric.html", "Metric and contact sampling", subtitle, figures, tables, result
    )


def write_smoothing_report(result: dict[str, Any], folder: Path) -> Path:
    """Write smoothing.html into a folder from the command's JSON result, and return its path."""
    figures = []
    for name, row in result["problems"].items():
        figures += [_costs(name, row, "iteration", "iteration"), _costs(name, row, "times_s", "wall clock, s")]
    subtitle = f"{result['iterations']} iterations · seed {result['seed']} · {result['samples']} pairs of samples"
    path, tables = folder.expanduser() / "smoothing.html", {"Time and cost": _smoothing_rows(result["problems"])}
    return write_page(path, "Gradients of contact", subtitle, figures, tables, result)


def _coverage(name: str, item: dict[str, Any], counts: Sequence[int], measure: str) -> Figure:
    figure = Figure(f"{name}_{measure}", f"{name}: {measure}", MEASURES[measure])
    for colour, (variant, row) in zip(COLOURS, item["variants"].items(), strict=False):
        mean, std = ([100.0 * spread[key] for spread in row[measure]] for key in ("mean", "std"))
        low = [max(value - deviation, 0.0) for value, deviation in zip(mean, std, strict=True)]
        high = [min(value + deviation, 100.0) for value, deviation in zip(mean, std, strict=True)]
        band = {
            "type": "scatter", "mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": colour,
            "opacity": 0.15, "showlegend": False, "hoverinfo": "skip", "x": [*counts, *reversed(counts)],
            "y": [*high, *reversed(low)],
        }  # fmt: skip
        line = {"type": "scatter", "mode": "lines+markers", "name": variant, "line": {"color": colour}}
        figure.traces += [band, {**line, "x": list(counts), "y": mean}]
    figure.layout.update(xaxis=log_axis("nodes"), yaxis=axis(title=f"{measure}, %", rangemode="tozero"), height=420)
    return figure


def _coverage_rows(item: dict[str, Any], counts: Sequence[int]) -> list[list[str]]:
    rows = [["nodes", *map(str, counts)]]
    for variant, row in item["variants"].items():
        rows.append([variant, *map(share_text, row["visited"])])
    for key, ratios in item["ratios"].items():
        rows.append([f"ratio: {key}", *map(ratio_text, ratios)])
    return rows


def _costs(name: str, row: dict[str, Any], key: str, title: str) -> Figure:
    figure = Figure(f"{name}_{key}", f"{name}: cost over {title}", f"Cost of the iterate, {OWN_KAPPA}.")
    for colour, (kind, item) in zip(COLOURS, row.items(), strict=False):
        x = item["times_s"] if key == "times_s" else list(range(1, len(item["costs"]) + 1))
        line = {"type": "scatter", "mode": "lines+markers", "name": kind, "line": {"color": colour}}
        figure.traces.append({**line, "x": x, "y": item["costs"]})
    figure.layout.update(xaxis=log_axis(title) if key == "times_s" else axis(title), yaxis=log_axis("cost"))
    return figure


def _smoothing_rows(problems: dict[str, Any]) -> list[list[str]]:
    rows = [["", "gradients", "wall clock s", "cost, unsmoothed", "angle error deg", "position error mm"]]
    for name, row in problems.items():
        for kind, item in row.items():
            figures = (item[key] for key in ("elapsed_s", "cost", "angle_error_deg", "position_error_mm"))
            rows.append([name, kind, *("-" if value is None else f"{value:.4g}" for value in figures)])
    return rows
