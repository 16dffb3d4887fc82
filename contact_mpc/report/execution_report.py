"""The pages of ``contact-mpc study execution``: a table of all problems, and the animation of the worst run of each."""

import html
import json
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.evaluation.execution import Execution
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.planning.plan_task import tolerances
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.report.page import page_head, player, write_text
from contact_mpc.report.plotting.figures import ESTIMATED, LIMIT, REFERENCE, TRUE, Figure, axis
from contact_mpc.report.result_table import ResultRow
from contact_mpc.report.run_report import SCENE_TITLE, fill_page, origin_html, result_html
from contact_mpc.report.scene.animation import scene_of_configurations
from contact_mpc.report.summary_page import write_page
from contact_mpc.settings.arrays import FloatArray

ERROR_FIGURES = (("Angle to the goal", "deg"), ("Distance to the goal", "mm"))
COLOURS = (LIMIT, REFERENCE, TRUE, ESTIMATED, "#3a9d6b", "#8a63b5", "#c9a227", "#7d8590")  # one for each way
MEDIANS = ("plan_cpu_s", "executed_s", "angle_error_deg", "position_error_mm")
BAR_GAP, BAR_SHARE = 0.2, 0.2  # of the width: between groups of bars; of a group where there are few
CAPTION = "The true motion of the plant, the worst of all runs. Translucent knobs: the goal."


def write_execution_report(
    result: dict[str, Any], worst: dict[str, tuple[Problem, Execution] | None], folder: Path
) -> Path:
    """Write execution.html and a page per problem into a folder, and return the path of the first."""
    folder = folder.expanduser()
    for name, item in worst.items():
        if item is not None:
            write_text(folder / f"{name}.html", _page(*item, result.get("command_line", "")))
    subtitle = f"{result['plant']} · disturbances x {result['disturbance_scale']:g} · seed {result['seed']}"
    pages = [["problem", "page"], *([name, f"{name}.html"] for name, item in worst.items() if item is not None)]
    tables = {"Success, %": _rows(result), "Worst run of each problem": pages, "Failures": _failures(result)}
    return write_page(folder / "execution.html", "Plans executed in physics", subtitle, [_bars(result)], tables, result)


def _bars(result: dict[str, Any]) -> Figure:
    names = list(result["systems"])
    figure = Figure("success", "Success", "Within the tolerances at the end.", is_wide=True)
    for way, colour in zip(result["ways"], cycle(COLOURS), strict=False):
        heights = [100.0 * result["systems"][name][f"{way}_success"] for name in names]
        label = way.replace("_", " ")
        figure.traces.append({"type": "bar", "name": label, "x": names, "y": heights, "marker": {"color": colour}})
    figure.layout.update(xaxis=axis(title="", type="category"), yaxis=axis(title="%"), barmode="group",
                         bargap=max(BAR_GAP, 1.0 - BAR_SHARE * len(names)))  # fmt: skip
    return figure


def _rows(result: dict[str, Any]) -> list[list[str]]:
    ways = result["ways"]
    heads = ("CPU per plan, s", "executed, s", "median deg", "median mm")
    rows = [["problem", "plans", *(way.replace("_", " ") for way in ways), *heads]]
    for name, item in result["systems"].items():
        rates = [f"{100 * item[f'{way}_success']:.0f}" for way in ways]
        times = [_number(item[key]["median"]) for key in MEDIANS]
        rows.append([name, f"{item['planned']} of {item['trials']}", *rates, *times])
    return rows


def _failures(result: dict[str, Any]) -> list[list[str]]:
    rows = [["problem", "seed", "way", "reason"]]
    for name, item in result["systems"].items():
        rows += [[name, str(f["seed"]), f["way"], f["reason"]] for f in item["failures"]]
    return rows


def _page(problem: Problem, item: Execution, repeat: str) -> str:
    system, (deg, mm) = problem.system, tolerances(problem)
    R, p = system.object_pose(problem.configuration(problem.goal_u))
    places = np.array([system.object_pose(item.q[0])[1], p])
    goal = (matrix_to_quaternion(np.ascontiguousarray(R)), p)
    rows = [
        ResultRow("Angle error at the end", f"{item.angle_error_deg:.2f} deg", f"≤ {deg:g} deg",
                  item.angle_error_deg <= deg),
        ResultRow("Position error at the end", f"{item.position_error_mm:.1f} mm", f"≤ {mm:g} mm",
                  item.position_error_mm <= mm),
        ResultRow("Time", f"{item.executed_s:.1f} s"),
    ]  # fmt: skip
    errors = np.array([problem.errors(q) for q in item.q])
    figures = [_error_figure(k, item, errors[:, k]) for k in range(len(ERROR_FIGURES))]
    settings = json.dumps(problem.file.model_dump(mode="json"), indent=2)
    fields = {
        "head": page_head(f"{problem.file.name}: contact_mpc study execution"),
        "heading": html.escape(problem.file.name),
        "subtitle": html.escape(f"{problem.file.description} · {item.way.replace('_', ' ')}"),
        "verdict": "Goal met" if item.is_success else "Goal missed",
        "verdict_class": "met" if item.is_success else "missed",
        "notes": f'<ul class="notes"><li>{html.escape(item.reason)}</li></ul>' if item.reason else "",
        "results": result_html(rows),
        "provenance": f"{origin_html(repeat)}<pre>{html.escape(settings)}</pre>",
        "player": player(SCENE_TITLE, CAPTION),
    }
    return fill_page(fields, scene_of_configurations(system, item.times_s, item.q, goal, places), figures)


def _error_figure(k: int, item: Execution, errors: FloatArray) -> Figure:
    """Return the angle (k = 0, deg) or the distance (1, mm) to the goal over time: units do not share an axis."""
    title, unit = ERROR_FIGURES[k]
    figure = Figure(f"errors_{unit}", title, "Of the true object.")
    trace = {"type": "scatter", "mode": "lines", "name": unit, "x": item.times_s.tolist(), "y": errors.tolist()}
    figure.traces.append(trace)
    figure.layout.update(xaxis=axis(title="time, s"), yaxis=axis(title=unit), showlegend=False)
    return figure


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
