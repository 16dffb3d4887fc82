"""A pusher against a planar cube on the ground: it slides at mu = 0.1 and tips at mu = 0.8 (seeds/001, more examples).

A pusher without friction presses at 0.19 m on a cube of side a = 0.2 m. A slow push tips the cube where
mu > a / (2 * 0.19 m) = 0.53. Beyond 45 degrees the weight pulls the tipping cube away from the pusher: nothing balances
it, and the quasi-static step has no solution. That is reported as the status of the run, with the angle.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.film import write_animation
from contact_mpc.examples.plotting import COLOURS, GREY, label, mark_times, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed, relative_row
from contact_mpc.examples.trajectory import Trajectory, make_dynamics, simulate
from contact_mpc.model.system_builder import build_system, load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("lcp", "qp", "socp")
H_S, DURATION_S, SPEED_M_S, PUSH_HEIGHT_M, SIDE_M = 0.001, 1.6, 0.15, 0.19, 0.2
WEIGHT_N = 9.81
BALANCE_DEG = 45.0
FRICTIONS = (0.1, 0.8)


def start(height_m: float = PUSH_HEIGHT_M) -> FloatArray:
    """Return q = (x, z, turn, pusher x, pusher z) with the pusher's tip at the cube's left face."""
    return np.array([0.0, 0.0, 0.0, -0.5 * SIDE_M - 0.02, height_m])


def command(time_s: float) -> FloatArray:
    """Return u (2,) at a time: push to the right, and up along with the edge that lifts."""
    return np.array([start()[3] + SPEED_M_S * time_s, PUSH_HEIGHT_M])


def simulate_cube(formulation: str, h_s: float, friction: float, duration_s: float = DURATION_S) -> Trajectory:
    """Push a cube over a ground of one friction coefficient with a pusher without friction."""
    system = load_system("cube")
    rough = system.config.friction.model_copy(update={"default": friction})
    system = build_system(system.config.model_copy(update={"friction": rough}), system.path)
    dynamics = make_dynamics(system, formulation, h_s, "quasistatic")
    return simulate(dynamics, start(), command, duration_s)


def cube(settings: Settings) -> ExampleResult:
    """Push the cube at both friction coefficients."""
    check_allowed(settings, "cube", FORMULATIONS, 0.05)
    formulation, h_s = settings.formulation or "qp", settings.h_s or H_S
    runs = {mu: simulate_cube(formulation, h_s, mu) for mu in FRICTIONS}
    figures: dict[str, Any] = {"formulation": formulation, "h_s": h_s}
    figures |= {f"mu_{mu:g}": figures_of(run) for mu, run in runs.items()}
    arrays = {key: value for mu, run in runs.items() for key, value in run.arrays(f"mu_{mu:g}").items()}
    rows = [*_sliding_rows(figures["mu_0.1"]), *_tipping_rows(figures["mu_0.8"])]
    pages = {
        f"mu_{mu:g}": partial(write_animation, f"cube_mu_{mu:g}", load_system("cube"), run) for mu, run in runs.items()
    }
    return ExampleResult(rows, figures, arrays, {"cube": partial(_draw, runs, formulation, h_s)}, pages)


def ground_contacts() -> list[int]:
    """Return the contacts of the cube's corners with the ground."""
    system = load_system("cube")
    ground = [i for i, pair in enumerate(system.pairs) if system.geometries[pair.geometry_b].owner == "ground"]
    return [c for c, contact in enumerate(system.contacts) if contact.pair in ground]


def figures_of(run: Trajectory) -> dict[str, Any]:
    """Return how a run ended and what the ground carried."""
    ground = ground_contacts()
    last = len(run.times_s) - 1
    return {
        "status": run.status,
        "end_time_s": float(run.times_s[last]),
        "end_angle_deg": float(np.rad2deg(run.q[last, 2])),
        "end_position_m": float(run.q[last, 0]),
        "ground_normal_n": float(run.normal_force[last, ground].sum()),
        "ground_friction_n": float(run.friction[last, ground, 0].sum()),
        "largest_gap_m": float(run.gap[:, ground].min(axis=1).max()),
        "deepest_penetration_m": float(-run.gap.min()),
    }


def _sliding_rows(found: dict[str, Any]) -> list[Row]:
    turned = abs(found["end_angle_deg"])
    return [
        Row("mu = 0.1: end", found["status"], "converged", found["status"] == "converged"),
        Row("mu = 0.1: turned by", f"{turned:.3f} deg", "below 1", turned < 1.0),
        relative_row(
            "mu = 0.1: friction / normal force of the ground",
            abs(found["ground_friction_n"] / found["ground_normal_n"]),
            0.1,
            0.01,
            "",
        ),
        Row("mu = 0.1: moved by", f"{1e3 * found['end_position_m']:.1f} mm"),
    ]


def _tipping_rows(found: dict[str, Any]) -> list[Row]:
    angle = found["end_angle_deg"]
    return [
        Row("mu = 0.8: end", found["status"], "no force balance", found["status"] != "converged"),
        Row(
            "mu = 0.8: at",
            f"{found['end_time_s']:.3f} s, {angle:.2f} deg",
            "45 deg within 3",
            abs(angle - BALANCE_DEG) < 3.0,
        ),
        Row("mu = 0.8: deepest penetration", f"{1e3 * found['deepest_penetration_m']:.4f} mm"),
    ]


def _draw(runs: dict[float, Trajectory], formulation: str, h_s: float) -> "Figure":
    title = f"Pushing a cube, quasi-static {formulation.upper()}, h = {h_s:g} s"
    figure, axes = new_figure(3, 2, title, 10.5, 2.3)
    ground = ground_contacts()
    for column, (mu, run), colour in zip(axes.T, runs.items(), COLOURS, strict=False):
        _draw_cubes(column[0], run, colour)
        column[0].set_xlim(-0.15, 0.36)
        column[0].set_title(f"mu = {mu:g}: {_ending(run)}")
        column[1].plot(run.times_s, np.rad2deg(run.q[:, 2]), color=colour)
        column[1].set_ylim(-2.0, 50.0)
        label(column[1], "Turn of the cube", "", "degrees")
        t = run.times_s
        column[2].plot(t, run.normal_force[:, ground].sum(axis=1), color=colour, label="normal")
        column[2].plot(t, run.friction[:, ground, 0].sum(axis=1), "--", color=colour, label="friction along x")
        column[2].axhline(WEIGHT_N, color=GREY, linewidth=1, linestyle=":", label="weight")
        label(column[2], "Force of the ground", "time, s", "N")
        column[2].legend(loc="center right")
        for axis in column[1:]:
            axis.set_xlim(0.0, DURATION_S)
            if run.status != "converged":
                mark_times(axis, [run.times_s[-1]], ["no force balance"])
    return figure


def _ending(run: Trajectory) -> str:
    if run.status == "converged":
        return "slides"
    return f"tips; no force balance from {run.times_s[-1]:.2f} s on"


def _draw_cubes(axis: Any, run: Trajectory, colour: str) -> None:
    corners = 0.5 * SIDE_M * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])
    for k, alpha in zip(np.linspace(0, len(run.times_s) - 1, 6).astype(int), np.linspace(0.25, 1.0, 6), strict=True):
        x, z, turn = run.q[k, :3]
        R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        outline = corners @ R.T + [x, 0.5 * SIDE_M + z]
        axis.plot(outline[:, 0], outline[:, 1], color=colour, alpha=alpha)
        axis.plot(run.q[k, 3], run.q[k, 4], "o", color=GREY, alpha=alpha, markersize=5)
    axis.axhline(0.0, color="black", linewidth=1)
    axis.set_aspect("equal")
    axis.set_xlabel("x, m")
    axis.set_ylabel("z, m")
