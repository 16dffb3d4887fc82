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
from contact_mpc.report.plotting.figures import ESTIMATED, LIMIT, REFERENCE, TRUE, Figure, axes_of, axis
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
        "provenance": _provenance(found.plan.provenance, repeat),
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
    """Return names and values (n, 2 or 3) of coordinates that show where the object is: turns in deg, places in mm.

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
    return titles[:3], values[:, :3]


def _plot_tree(problem: Problem, found: GlobalPlan) -> Figure:
    """All trees in the object's configuration space, the plan through them, start and goal; a panel per coordinate."""
    figure = Figure(
        "tree",
        "Trees in the object's configuration space",
        "One colour per tree; dots are nodes after a regrasp; the thick line is the plan.",
        is_wide=True,
    )
    titles, way = _coordinates(problem, found.plan.q)
    _, ends = _coordinates(problem, np.array([problem.configuration(q) for q in (problem.start_u, problem.goal_u)]))
    trees = [(grown, _coordinates(problem, grown.tree.q)[1]) for grown in found.trees]
    figure.panels(titles[1:], "")
    for panel in range(1, len(titles)):
        suffix = str(panel) if panel > 1 else ""
        figure.layout[f"xaxis{suffix}"]["title"] = {"text": titles[0]}
        figure.layout[f"yaxis{suffix}"] = axis("", anchor=f"x{suffix}")  # a scale of its own
        for index, (grown, values) in enumerate(trees):
            colour = TREE_COLOURS[index % len(TREE_COLOURS)]
            figure.traces.append(_edges(grown, values, f"tree {index + 1}", colour, panel))
            figure.traces.append(
                _points(values[grown.tree.kind == REGRASP], f"regrasps {index + 1}", colour, 5.0, panel)
            )
        figure.traces.append({**_line(way, "plan", TRUE, panel), "line": {"color": TRUE, "width": 4}})
        figure.traces.append(_points(ends[:1], "start", REFERENCE, 11.0, panel))
        figure.traces.append(_points(ends[1:], "goal", LIMIT, 11.0, panel))
    figure.legend_below()
    figure.layout.update(height=480, hovermode="closest")
    return figure


def _edges(grown: GrownTree, values: FloatArray, name: str, colour: str, panel: int) -> dict[str, Any]:
    children = np.flatnonzero(grown.tree.parent >= 0)
    gap = np.full((len(children), values.shape[1]), np.nan)
    segments = np.stack([values[grown.tree.parent[children]], values[children], gap], axis=1)
    line = _line(segments.reshape(-1, values.shape[1]), name, colour, panel)
    return {**line, "line": {"color": colour, "width": 1.5}, "opacity": 0.7}


def _line(values: FloatArray, name: str, colour: str, panel: int) -> dict[str, Any]:
    """Return a line of the coordinate of a panel over the first one."""
    plain = np.round(values, 3).astype(object)
    plain[np.isnan(values)] = None
    found = {"type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "showlegend": panel == 1}
    places = {"x": plain[:, 0].tolist(), "y": plain[:, panel].tolist()}
    return {**found, **places, "line": {"color": colour}, **axes_of(panel)}


def _points(values: FloatArray, name: str, colour: str, size: float, panel: int) -> dict[str, Any]:
    return {**_line(values, name, colour, panel), "mode": "markers", "marker": {"color": colour, "size": size}}


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


def _provenance(provenance: dict[str, Any], repeat: str) -> str:
    known = {key: value for key, value in provenance.items() if key != "parameters"}
    parameters = html.escape(json.dumps(provenance["parameters"], indent=2))
    return f"{origin_html(repeat, known)}<details><summary>Parameters</summary><pre>{parameters}</pre></details>"
