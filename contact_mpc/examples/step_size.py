"""The quasi-static convex model (CQDC) against Drake's SAP with steps of 10 ms to 0.5 s, on a box that is pushed.

Both solve a convex program per step. CQDC has positions only and closes no gap by force: large steps cost it little
accuracy and no penetration, at the price of a lift of h mu v_t while it slides. Contact in SAP acts only on what
penetrates at the start of a step: lifted off once, the box falls freely for all of the next step, into the ground.
Truth is SAP with steps of 1 ms; its box rests in the ground before the push (seeds/001, last figures).
"""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.examples.box_pushing import ground_contacts
from contact_mpc.examples.drake_reference import Reference, require_drake, simulate_drake
from contact_mpc.examples.plotting import COLOURS, GREY, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.examples.trajectory import make_dynamics, simulate, write_run
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("socp", "qp", "log_barrier")
STEPS_H_S, TRUTH_H_S, DURATION_S = (0.01, 0.1, 0.5), 0.001, 2.0
PUSH_M, PUSH_S = 0.15, 1.0
END_TOLERANCE_M = 0.02
SETTLING_S = 0.5  # the ground of SAP carries the box before the push
METHODS = ("CQDC", "SAP")


def start(q_default: FloatArray) -> FloatArray:
    """Return q with the pusher's tip at the box's left face, 0.15 m above the ground."""
    return np.concatenate([q_default[:7], [-0.18, 0.0, 0.15]])


def command(time_s: float) -> FloatArray:
    """Return u (3,) at a time: a push of 0.15 m within 1 s, then rest."""
    return np.array([-0.18 + PUSH_M * min(time_s / PUSH_S, 1.0), 0.0, 0.15])


def step_size(settings: Settings, duration_s: float = DURATION_S) -> ExampleResult:
    """Push the box with both methods and every step (or with one h)."""
    check_allowed(settings, "step_size", FORMULATIONS, 1.0)
    require_drake()
    formulation = settings.formulation or "socp"
    system = load_system("box_pushing")
    q = start(system.q_default)
    steps = STEPS_H_S if settings.h_s is None else (settings.h_s,)
    settled = simulate_drake(system, q, lambda _: command(0.0), SETTLING_S, TRUTH_H_S).q[-1]
    truth = simulate_drake(system, settled, command, duration_s, TRUTH_H_S)
    runs: dict[tuple[str, float], Reference] = {}
    for h_s in steps:
        runs["CQDC", h_s] = _simulate_cqdc(formulation, h_s, duration_s)
        runs["SAP", h_s] = simulate_drake(system, settled, command, duration_s, h_s)
    found = {key: _figures(run, truth) for key, run in runs.items()}
    figures: dict[str, Any] = {"formulation": formulation, "truth_wall_s": truth.wall_s / duration_s}
    figures["runs"] = [{"method": method, "h_s": h_s, **item} for (method, h_s), item in found.items()]
    arrays = {"truth_times_s": truth.times_s, "truth_q": truth.q}
    for (method, h_s), run in runs.items():
        arrays |= {f"{method.lower()}_{h_s:g}_times_s": run.times_s, f"{method.lower()}_{h_s:g}_q": run.q}
    plots = {"step_size": partial(_draw, runs, truth, found)}
    pages = {"step_size": partial(_animate, formulation, duration_s)}
    return ExampleResult(_rows(found, truth, duration_s), figures, arrays, plots, pages)


def _animate(formulation: str, duration_s: float, folder: Path) -> Path:
    """Write the quasi-static run with the smallest step."""
    system = load_system("box_pushing")
    dynamics = make_dynamics(system, formulation, STEPS_H_S[0], "quasistatic")
    return write_run("step_size", dynamics, start(system.q_default), command, duration_s, folder)


def _simulate_cqdc(formulation: str, h_s: float, duration_s: float) -> Reference:
    """Simulate twice: once timed without bookkeeping, once for the forces."""
    system = load_system("box_pushing")
    dynamics = make_dynamics(system, formulation, h_s, "quasistatic")
    q = start(system.q_default)
    dynamics.step(q, command(0.0))  # compiles
    begin = time.perf_counter()
    for k in range(round(duration_s / h_s)):
        q = dynamics.step(q, command((k + 1) * h_s)).q_next
    wall_s = time.perf_counter() - begin
    run = simulate(dynamics, start(system.q_default), command, duration_s)
    if run.status != "converged":
        wall_s = float("nan")
    return Reference(run.times_s, run.q, np.zeros((len(run.q), 3)), np.zeros((len(run.q), 3)), wall_s)


def _figures(run: Reference, truth: Reference) -> dict[str, Any]:
    system = load_system("box_pushing")
    dynamics = make_dynamics(system, "qp", 0.1, "quasistatic")
    watcher = make_newton(dynamics.model)
    at = [int(np.argmin(np.abs(truth.times_s - t))) for t in run.times_s]
    gaps = np.array([measure_gaps(dynamics.model, watcher, q).copy() for q in run.q])
    error = np.linalg.norm(run.q[:, 4:7] - truth.q[at, 4:7], axis=1)
    return {
        "error_largest_m": float(error.max()),
        "error_end_m": float(error[-1]),
        "lift_m": float(max(0.0, gaps[:, ground_contacts(system)].min(axis=1).max())),
        "penetration_m": float(max(0.0, -gaps.min())),
        "wall_ms_per_s": 1e3 * run.wall_s / float(run.times_s[-1]),
        "wall_us_per_step": 1e6 * run.wall_s / len(run.times_s),
    }


def _rows(found: dict[tuple[str, float], dict[str, Any]], truth: Reference, duration_s: float) -> list[Row]:
    rows = [Row("SAP, h = 0.001 s (truth)", f"{1e3 * truth.wall_s / duration_s:.1f} ms of computing per s")]
    for (method, h_s), item in found.items():
        text = (
            f"off by {1e3 * item['error_largest_m']:.2f} mm at most, {1e3 * item['error_end_m']:.2f} mm at the end; "
            f"penetration {1e3 * item['penetration_m']:.2f} mm, lift {1e3 * item['lift_m']:.2f} mm; "
            f"{item['wall_ms_per_s']:.1f} ms of computing per s"
        )
        met = item["error_end_m"] < END_TOLERANCE_M if method == "CQDC" else None
        rows.append(Row(f"{method}, h = {h_s:g} s", text, "20 mm at the end" if met is not None else "", met))
    return rows


def _draw(
    runs: dict[tuple[str, float], Reference], truth: Reference, found: dict[tuple[str, float], dict[str, Any]]
) -> "Figure":
    title = "A pushed box: quasi-static steps (CQDC) against second-order steps (SAP)"
    figure, axes = new_figure(2, 3, title, 11.5, 2.6)
    steps = sorted({h_s for _, h_s in runs})
    for row, method in zip(axes, METHODS, strict=True):
        row[0].plot(truth.times_s, 1e3 * truth.q[:, 4], color=GREY, linewidth=3, alpha=0.4, label="SAP, h = 0.001 s")
        for h_s, colour in zip(steps, COLOURS, strict=False):
            run = runs[method, h_s]
            marker = "o" if h_s >= 0.1 else ""
            q = np.vstack([truth.q[:1], run.q])
            t = np.concatenate([[0.0], run.times_s])
            row[0].plot(t, 1e3 * q[:, 4], marker=marker, markersize=3, color=colour, label=f"h = {h_s:g} s")
        label(row[0], f"{method}: box along x", "time, s", "mm")
        row[0].legend(loc="lower right" if method == "CQDC" else "upper left")
    _draw_bars(axes[0, 1], found, steps, "error_largest_m", 1e3, "Largest error of the position", "mm")
    _draw_bars(axes[0, 2], found, steps, "lift_m", 1e3, "Largest gap below the box", "mm")
    _draw_bars(axes[1, 1], found, steps, "penetration_m", 1e3, "Deepest penetration", "mm")
    _draw_bars(axes[1, 2], found, steps, "wall_ms_per_s", 1.0, "Computing per simulated second", "ms")
    return figure


def _draw_bars(
    axis: Any,
    found: dict[tuple[str, float], dict[str, Any]],
    steps: list[float],
    key: str,
    scale: float,
    title: str,
    unit: str,
) -> None:
    place = np.arange(len(steps))
    for offset, method, colour in ((-0.2, "CQDC", COLOURS[0]), (0.2, "SAP", COLOURS[1])):
        values = [round(scale * found[method, h_s][key], 6) for h_s in steps]
        bars = axis.bar(place + offset, values, 0.38, color=colour, label=method)
        axis.bar_label(bars, fmt="%.3g", fontsize=7)
    axis.set_xticks(place, [f"h = {h_s:g} s" for h_s in steps])
    label(axis, title, "", unit)
    axis.margins(y=0.15)
    axis.legend()
