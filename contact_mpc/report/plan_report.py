"""One self-contained HTML page about a plan through contact: result, animation, trees, commands, forces."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.model.rotations import matrix_to_quaternion, rotation_log
from contact_mpc.planning.tree.growth.arrays import REGRASP
from contact_mpc.planning.tree.plan import GlobalPlan
from contact_mpc.planning.tree.planner import GrownTree
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.report.page import page_head, player
from contact_mpc.report.plotting.figures import ESTIMATED, LIMIT, REFERENCE, TRUE, Figure, axis
from contact_mpc.report.result_table import ResultRow
from contact_mpc.report.run_report import SCENE_TITLE, fill_page, origin_html, result_html, write_page
from contact_mpc.report.scene.animation import FRAMES_PER_S, MAX_FRAMES, scene_of_configurations
from contact_mpc.report.scene.appearance import shades
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import interpolate_q

SCENE_CAPTION = (
    "Drag to turn, scroll to zoom, double-click to reset; click a plot to go to its time. Sticks are the object's axes "
    "(x red, y green, z blue), translucent knobs where their tips belong at the goal. The motion is that of the model."
)
TREE_COLOURS = ("#9db4c8", "#c8a59d", "#a9c89d", "#c3a0c8", "#c8c29d")


def write_plan_report(problem: Problem, found: GlobalPlan, out_dir: str | Path, repeat: str = "") -> Path:
    """Write `report.html` into a folder and return its path; raises InputError where that is impossible.

    `repeat` is the command that gives the plan again.
    """
    verdict = "Goal met" if found.is_valid else "Goal missed"
    fields = {
        "head": page_head(f"{problem.file.name}: contact_mpc plan"),
        "heading": html.escape(problem.file.name),
        "subtitle": html.escape(f"{problem.file.description} · seed {found.plan.provenance['seed']}"),
        "verdict": verdict,
        "verdict_class": "met" if found.is_valid else "missed",
        "notes": _notes(found),
        "results": result_html(_result(problem, found)),
        "provenance": origin_html(repeat) + _provenance(found.plan.provenance),
        "player": player(SCENE_TITLE, SCENE_CAPTION),
    }
    plots = (_plot_tree, _plot_way, _plot_commands, _plot_forces)
    figures = [plot(problem, found) for plot in plots]
    return write_page(fill_page(fields, _scene(problem, found), figures), out_dir)


def _scene(problem: Problem, found: GlobalPlan) -> dict[str, Any]:
    system, plan = problem.system, found.plan
    count = int(np.clip(round(plan.times_s[-1] * FRAMES_PER_S), 1, MAX_FRAMES)) + 1
    times_s = np.linspace(0.0, plan.times_s[-1], count)
    q = np.array([interpolate_q(system, plan.times_s, plan.q, t_s) for t_s in times_s])
    R, p = system.object_pose(problem.configuration(problem.goal_u))
    places = np.array([system.object_pose(plan.q[0])[1], p])
    return scene_of_configurations(system, times_s, q, (matrix_to_quaternion(np.ascontiguousarray(R)), p), places)


def _notes(found: GlobalPlan) -> str:
    notes = [] if found.status == "reached" else [f"The tree ended with status '{found.status}'."]
    notes += [f"Replayed with the unsmoothed model: {found.replay.failure}."] if found.replay.failure else []
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>' if notes else ""


def _result(problem: Problem, found: GlobalPlan) -> list[ResultRow]:
    file, rows = problem.file, []
    angle, distance = found.replay.angle_error_deg, found.replay.position_error_mm
    limit = f"≤ {file.tolerance_deg:g} deg", angle <= file.tolerance_deg
    rows.append(ResultRow("Angle error, unsmoothed model", f"{angle:.3f} deg", *limit))
    limit = f"≤ {file.tolerance_mm:g} mm", distance <= file.tolerance_mm
    rows.append(ResultRow("Position error", f"{distance:.3f} mm", *limit))
    nodes, calls = sum(len(item.tree.q) for item in found.trees), sum(item.dynamics_calls for item in found.trees)
    elapsed = sum(item.elapsed_s for item in found.trees)
    rows += [
        ResultRow("Trees, nodes", f"{len(found.trees)}, {nodes}"),
        ResultRow("Growth", f"{elapsed:.2f} s, {calls} dynamics calls"),
        ResultRow("Regrasps", str(int(np.sum(np.diff(found.is_free.astype(int)) == 1)))),
        ResultRow("Duration", f"{found.plan.times_s[-1]:.1f} s"),
    ]
    return rows


def _coordinates(problem: Problem, q: FloatArray) -> tuple[list[str], FloatArray]:
    """Return names and values (n, 3) of three coordinates that show where the object is: turns in deg, places in mm.

    Of a free object: position and the angle from the start; of a jointed one: its joints.
    """
    system, names = problem.system, list(problem.file.objects)
    if system.n_q_u != system.n_v_u:
        R0, p0 = system.object_pose(problem.configuration(problem.start_u))
        rows = [system.object_pose(row) for row in q]
        angle = [np.rad2deg(np.linalg.norm(rotation_log(np.ascontiguousarray(R @ R0.T)))) for R, _ in rows]
        moved = 1e3 * np.array([p - p0 for _, p in rows])
        return ["x, mm", "y, mm", "turn, deg"], np.column_stack([moved[:, :2], angle])
    scale = np.where(problem.turns, 180.0 / np.pi, 1e3)
    units = np.where(problem.turns, "deg", "mm")
    titles = [f"{name.rpartition('_')[0]}, {unit}" for name, unit in zip(names, units, strict=True)]
    values = np.asarray(q)[:, : system.n_q_u] * scale
    if values.shape[1] < 3:
        titles.append("")
        values = np.column_stack([values, np.zeros(len(values))])
    return titles[:3], values[:, :3]


def _plot_tree(problem: Problem, found: GlobalPlan) -> Figure:
    """All trees in the object's configuration space, the plan through them, start and goal."""
    figure = Figure(
        "tree",
        "Trees in the object's configuration space",
        "One colour per tree; dots are nodes after a regrasp; the thick line is the plan.",
        is_wide=True,
    )
    titles: list[str] = []
    for index, grown in enumerate(found.trees):
        titles, values = _coordinates(problem, grown.tree.q)
        colour = TREE_COLOURS[index % len(TREE_COLOURS)]
        figure.traces.append(_edges(grown, values, f"tree {index + 1}", colour))
        regrasps = values[grown.tree.kind == REGRASP]
        figure.traces.append(_points(regrasps, f"regrasps {index + 1}", colour, 2.5))
    _, way = _coordinates(problem, found.plan.q)
    figure.traces.append({**_line(way, "plan", TRUE), "line": {"color": TRUE, "width": 6}})
    ends = np.array([problem.configuration(problem.start_u), problem.configuration(problem.goal_u)])
    _, places = _coordinates(problem, ends)
    figure.traces.append(_points(places[:1], "start", REFERENCE, 6.0))
    figure.traces.append(_points(places[1:], "goal", LIMIT, 6.0))
    axes = {f"{key}axis": {"title": {"text": title}} for key, title in zip("xyz", titles, strict=True)}
    figure.layout = {"scene": axes, "height": 560, "hovermode": "closest", "xaxis": axis(title="")}
    return figure


def _edges(grown: GrownTree, values: FloatArray, name: str, colour: str) -> dict[str, Any]:
    children = np.flatnonzero(grown.tree.parent >= 0)
    gap = np.full((len(children), 3), np.nan)
    segments = np.stack([values[grown.tree.parent[children]], values[children], gap], axis=1).reshape(-1, 3)
    return {**_line(segments, name, colour), "line": {"color": colour, "width": 1.5}, "opacity": 0.7}


def _line(values: FloatArray, name: str, colour: str) -> dict[str, Any]:
    plain = np.round(values, 3).astype(object)
    plain[np.isnan(values)] = None
    columns = {key: plain[:, k].tolist() for k, key in enumerate("xyz")}
    return {"type": "scatter3d", "mode": "lines", "name": name, **columns, "line": {"color": colour}}


def _points(values: FloatArray, name: str, colour: str, size: float) -> dict[str, Any]:
    return {**_line(values, name, colour), "mode": "markers", "marker": {"color": colour, "size": size}}


def _plot_way(problem: Problem, found: GlobalPlan) -> Figure:
    """Distance to the goal over time."""
    figure = Figure("way", "Distance to the goal", "In the model the plan was made with.")
    figure.axes("error, deg and mm", rangemode="tozero")
    errors = np.array([problem.errors(q) for q in found.plan.q])
    figure.line(found.plan.times_s, errors[:, 0], "angle, deg", TRUE, width=2.0)
    figure.line(found.plan.times_s, errors[:, 1], "distance, mm", ESTIMATED, width=2.0)
    return figure


def _plot_commands(problem: Problem, found: GlobalPlan) -> Figure:
    """Commands over time."""
    figure = Figure("commands", "Commands", "Joint commands u.")
    figure.axes("command, rad (m)")
    for a, (name, colour) in enumerate(
        zip(problem.system.joint_names, shades(ESTIMATED, problem.system.n_a), strict=True)
    ):
        figure.line(found.plan.times_s, found.plan.u[:, a], name, colour, width=1.2, showlegend=False)
    return figure


def _plot_forces(_problem: Problem, found: GlobalPlan) -> Figure:
    """Sum of contact forces over time; zero between grasps."""
    figure = Figure("forces", "Contact forces", "Sum of the magnitudes over all contacts; fingers are free in between.")
    figure.axes("force, N", rangemode="tozero")
    dt = np.diff(found.plan.times_s)
    total = np.linalg.norm(found.plan.contact_impulses[1:], axis=2).sum(axis=1) / dt
    figure.line(found.plan.times_s[1:], total, "sum", TRUE)
    return figure


def _provenance(provenance: dict[str, Any]) -> str:
    known = {key: value for key, value in provenance.items() if key != "parameters"}
    rows = "".join(f"<tr><td>{html.escape(k)}</td><td>{html.escape(str(v))}</td></tr>" for k, v in known.items())
    parameters = html.escape(json.dumps(provenance["parameters"], indent=2))
    return (
        f"<table><tbody>{rows}</tbody></table><details><summary>Parameters</summary><pre>{parameters}</pre></details>"
    )
