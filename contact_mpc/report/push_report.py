"""The page of ``contact-mpc study push``: the figures of the paper from our data, and the table of final errors.

Joint tracking and tool position (figures 5 and 6 of seeds/004), normal force and percussion as planned and as measured
(figures 8 and 9), errors at the end (figure 10). Percussion is the integral of the normal force over time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.report.plotting.figures import ESTIMATED, REFERENCE, TRUE, Figure, axis
from contact_mpc.report.summary_page import write_page
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

TOOL_LINK = "tool"
SCENE_CAPTION = (
    "The true motion of the plant. Translucent knobs: where the tips of the object's axes belong at the end."
)
COLOURS = {"playback": TRUE, "receding_horizon": ESTIMATED}


class Series(Protocol):
    """A run over time: see `contact_mpc.evaluation.push_trial.PushSeries`."""

    @property
    def t_s(self) -> FloatArray:
        """Time (n,), s."""

    @property
    def q(self) -> FloatArray:
        """Configuration (n, n_q)."""

    @property
    def u(self) -> FloatArray:
        """Position references (n, n_a), rad."""

    @property
    def force(self) -> FloatArray:
        """Force of the tool on the object (n, 3), N."""


@dataclass(frozen=True)
class PushRun:
    """One run to draw: its name, the plan that it was given, and what happened."""

    name: str
    plan: Plan
    series: Series


def write_push_report(result: dict[str, Any], system: System, runs: Sequence[PushRun], folder: Path) -> Path:
    """Write push.html into a folder from the command's JSON result and one run per row, and return its path."""
    subtitle = (
        f"{result['task']} on {result['plant']} · seed {result['seed']} · {result['trials']} perturbed runs per row; "
        "plots over time show the first of them"
    )
    figures = [_errors(result)]
    for k, run in enumerate(runs):
        figures += [_joints(k, run, system), _tool(k, run, system), _force(k, run), _percussion(k, run)]
    tables = {"Errors at the end": _table(result)}
    return write_page(folder.expanduser() / "push.html", "Pushes", subtitle, figures, tables, result)


def _errors(result: dict[str, Any]) -> Figure:
    figure = Figure("errors", "Errors at the end", "Object against goal, every run; figure 10.", is_wide=True)
    for mode, colour in COLOURS.items():
        rows = [row for row in result["rows"] if row["mode"] == mode]
        x = [f"{row['displacement'] or 'own'}" for row in rows for _ in row["runs"]]
        y = [run["position_error_mm"] for row in rows for run in row["runs"]]
        marker = {"color": colour, "size": 9}
        figure.traces.append({"type": "scatter", "mode": "markers", "name": mode, "x": x, "y": y, "marker": marker})
    figure.layout.update(
        xaxis=axis(title="displacement", type="category"), yaxis=axis(title="error, mm", rangemode="tozero"),
        hovermode="closest",
    )  # fmt: skip
    return figure


def _joints(k: int, run: PushRun, system: System) -> Figure:
    figure = Figure(f"joints{k}", f"Joint tracking, {run.name}", "Solid: measured; dashed: reference.", is_wide=True)
    figure.panels(list(system.joint_names), "angle, rad")
    for joint in range(system.n_a):
        style = {"panel": joint + 1, "showlegend": joint == 0}
        figure.line(run.series.t_s, run.series.q[:, system.n_q_u + joint], "measured", TRUE, **style)
        figure.line(run.series.t_s, run.series.u[:, joint], "reference", REFERENCE, dash="dash", **style)
    figure.legend_below()
    return figure


def _tool(k: int, run: PushRun, system: System) -> Figure:
    figure = Figure(f"tool{k}", f"Tool position, {run.name}", "World frame; dashed: of the reference.", is_wide=True)
    figure.panels(["x", "y", "z"], "position, m")
    tracks = {"measured": run.series.q[:, system.n_q_u :], "reference": run.series.u}
    for name, q_a in tracks.items():
        p = _tool_positions(system, q_a)
        for i in range(3):
            colour, dash = (TRUE, "solid") if name == "measured" else (REFERENCE, "dash")
            figure.line(run.series.t_s, p[:, i], name, colour, panel=i + 1, dash=dash, showlegend=i == 0)
    figure.legend_below()
    return figure


def _tool_positions(system: System, q_a: FloatArray) -> FloatArray:
    """Return positions (n, 3) of the tool's frame in the world, m."""
    body, X_BT = system.links[system.config.robots[0].name, TOOL_LINK]
    q, found = system.q_default.copy(), np.empty((len(q_a), 3))
    for i, row in enumerate(q_a):
        q[system.n_q_u :] = row
        R, p = forward_kinematics(system.tree, q)
        found[i] = R[body] @ X_BT.p + p[body]
    return found


def _planned_force(plan: Plan) -> tuple[FloatArray, FloatArray]:
    """Return edges in time, s, and planned force, N, as a staircase."""
    step_s = float(plan.provenance["step_s"])
    sizes = plan.impulse_sizes
    t_s, force = [0.0], [0.0]
    for end_s, size in zip(plan.times_s[sizes > 0.0], sizes[sizes > 0.0], strict=True):
        t_s += [end_s - step_s, end_s - step_s, end_s, end_s]
        force += [0.0, size / step_s, size / step_s, 0.0]
    return np.array([*t_s, plan.times_s[-1]]), np.array([*force, 0.0])


def _force(k: int, run: PushRun) -> Figure:
    figure = Figure(f"force{k}", f"Normal force, {run.name}", "Dashed: as the first plan has it, constant over a step.")
    figure.axes("force, N", rangemode="tozero")
    figure.line(run.series.t_s, np.linalg.norm(run.series.force, axis=1), "measured", TRUE)
    figure.line(*_planned_force(run.plan), "planned", REFERENCE, dash="dash")
    return figure


def _percussion(k: int, run: PushRun) -> Figure:
    figure = Figure(f"percussion{k}", f"Normal percussion, {run.name}", "Force integrated over time.")
    figure.axes("percussion, N s", rangemode="tozero")
    t_s, force = run.series.t_s, np.linalg.norm(run.series.force, axis=1)
    figure.line(t_s, np.cumsum(force) * float(t_s[1] - t_s[0]), "measured", TRUE)
    edges, planned = _planned_force(run.plan)
    area = np.concatenate([[0.0], np.cumsum(0.5 * (planned[1:] + planned[:-1]) * np.diff(edges))])
    figure.line(edges, area, "planned", REFERENCE, dash="dash")
    return figure


def _table(result: dict[str, Any]) -> list[list[str]]:
    head = ["displacement, mode", "median mm", "largest mm", "within target", "hits as planned", "errors, mm", "seeds"]
    rows = []
    for row in result["rows"]:
        errors = row["position_error_mm"]
        rows.append([
            f"{row['displacement'] or 'own'}, {row['mode']}", f"{errors['median']:.1f}", f"{errors['max']:.1f}",
            f"{row['within_target']} of {result['trials']} (<= {row['target_mm']:g} mm, {row['target_deg']:g} deg)",
            f"{row['hits_as_planned']} of {row['hits']}",
            ", ".join(f"{run['position_error_mm']:.1f}" for run in row["runs"]),
            ", ".join(str(run["seed"]) for run in row["runs"]),
        ])  # fmt: skip
    return [head, *rows]
