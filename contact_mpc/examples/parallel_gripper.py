"""Two plates squeeze a ball on the ground and pull it down: it sticks, slides, sticks (seeds/001, "parallel gripper").

Commands: left and right to -0.9 r and 0.9 r (a squeeze of 10 mm against springs of 1000 N/m), height to
max(-0.2 t, -0.03). Coulomb: N = 10 N per finger, the friction of both grows as 1000 * 0.2 t to 2 mu N = 16 N at 0.08 s,
slides until the command stops at 0.15 s, and the gripper ends at -0.03 + 16 / 1000 = -0.014 m.

A step of Anitescu's QP that slides at v_t opens a gap h mu v_t, which compresses the springs: N = K (0.01 + h mu v_t).
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.film import write_animation
from contact_mpc.examples.plotting import BLUE, GREY, ORANGE, label, mark_times, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed, relative_row
from contact_mpc.examples.trajectory import Trajectory, make_dynamics, simulate
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("lcp", "qp", "socp")
RADIUS_M, STIFFNESS_N_PER_M, FRICTION = 0.1, 1000.0, 0.8
SQUEEZE_M, PULL_M_S, PULL_END_M, DURATION_S = 0.01, 0.2, -0.03, 0.5
NORMAL_N = STIFFNESS_N_PER_M * SQUEEZE_M
FRICTION_N = 2.0 * FRICTION * NORMAL_N
SLIDING_START_S = FRICTION_N / (STIFFNESS_N_PER_M * PULL_M_S)
SLIDING_END_S = -PULL_END_M / PULL_M_S
FINAL_HEIGHT_M = PULL_END_M + FRICTION_N / STIFFNESS_N_PER_M
H_S = 0.001
SWEEP_H_S = (0.01, 0.005, 0.001)


def command(system: System, time_s: float) -> FloatArray:
    """Return u (3,) at a time, in the system's order of joints."""
    values = {
        "left_x": -0.9 * RADIUS_M,
        "right_x": 0.9 * RADIUS_M,
        "lift": max(-PULL_M_S * time_s, PULL_END_M),
    }
    return np.array([values[name] for name in system.joint_names])


def start(system: System) -> FloatArray:
    """Return q with the ball on the ground between the plates, which touch it."""
    values = {"left_x": -RADIUS_M, "right_x": RADIUS_M, "lift": 0.0}
    return np.array([0.0, RADIUS_M, *(values[name] for name in system.joint_names)])


def fingers(system: System) -> list[int]:
    """Return the contacts of the left and of the right finger."""
    links = [system.geometries[pair.geometry_b].link for pair in system.pairs]
    return [links.index("left_finger"), links.index("right_finger")]


def simulate_gripper(formulation: str, h_s: float) -> Trajectory:
    """Simulate the squeeze and the pull with one formulation and time step."""
    system = load_system("parallel_gripper")
    dynamics = make_dynamics(system, formulation, h_s, "quasistatic")
    return simulate(dynamics, start(system), partial(command, system), DURATION_S)


def figures_of(run: Trajectory, h_s: float) -> dict[str, Any]:
    """Return the quantities that the talk states, from one trajectory."""
    system = load_system("parallel_gripper")
    pair = fingers(system)
    sliding = (run.times_s > SLIDING_START_S + 2.5 * h_s) & (run.times_s < SLIDING_END_S - 0.5 * h_s)
    friction = np.abs(run.friction[:, pair, 2].sum(axis=1))
    normal, speed = run.normal_force[:, pair].mean(axis=1), run.slip_speed[:, pair].mean(axis=1)
    predicted = STIFFNESS_N_PER_M * (SQUEEZE_M + h_s * FRICTION * speed)
    sticking = run.at(SLIDING_START_S)
    return {
        "h_s": h_s,
        "status": run.status,
        "sticking_normal_n": float(normal[sticking]),
        "sticking_friction_n": float(friction[sticking]),
        "sliding_normal_n": float(normal[sliding].mean()),
        "sliding_normal_settled_n": float(normal[sliding][-1]),
        "sliding_friction_n": float(friction[sliding].mean()),
        "sliding_speed_m_s": float(speed[sliding].mean()),
        "sliding_gap_m": float(run.gap[sliding][:, pair].mean()),
        "hydroplaning_error": float(np.max(np.abs(normal[sliding] / predicted[sliding] - 1.0))),
        "final_height_m": float(run.q[-1, 2 + system.joint_names.index("lift")]),
        "transitions": run.transitions(pair[0]),
    }


def fit_order(h_s: FloatArray, error: FloatArray) -> float:
    """Return the slope of log error against log h."""
    return float(np.polyfit(np.log(h_s), np.log(error), 1)[0])


def parallel_gripper(settings: Settings) -> ExampleResult:
    """Run LCP and QP side by side, or one formulation, and sweep h for the error of the convex ones."""
    check_allowed(settings, "parallel_gripper", FORMULATIONS, 0.01)
    chosen = ("lcp", "qp") if settings.formulation is None else (settings.formulation,)
    h_s = settings.h_s or H_S
    runs = {name: simulate_gripper(name, h_s) for name in chosen}
    figures: dict[str, Any] = {name: figures_of(run, h_s) for name, run in runs.items()}
    rows = [row for name in chosen for row in _rows(name, figures[name])]
    convex = [name for name in chosen if name != "lcp"]
    for name in convex:
        sweep = [figures_of(simulate_gripper(name, h), h) for h in SWEEP_H_S]
        errors = np.array([item["sliding_normal_settled_n"] - NORMAL_N for item in sweep])
        figures[f"{name}_sweep"] = sweep
        figures[f"{name}_order_in_h"] = fit_order(np.array(SWEEP_H_S), errors)
        rows += _sweep_rows(name, sweep, figures[f"{name}_order_in_h"])
    arrays = {key: value for name, run in runs.items() for key, value in run.arrays(name).items()}
    plots = {"parallel_gripper": partial(_draw, runs, h_s)}
    if convex:
        plots["parallel_gripper_order"] = partial(_draw_order, {name: figures[f"{name}_sweep"] for name in convex})
    gripper = load_system("parallel_gripper")
    pages = {name: partial(write_animation, f"parallel_gripper_{name}", gripper, run) for name, run in runs.items()}
    return ExampleResult(rows, figures, arrays, plots, pages)


def _rows(name: str, found: dict[str, Any]) -> list[Row]:
    h_s, title = found["h_s"], name.upper()
    slope = PULL_M_S if name != "lcp" else 0.0
    normal = STIFFNESS_N_PER_M * (SQUEEZE_M + h_s * FRICTION * slope)
    names = ", ".join(f"{mode} from {time:.3f} s" for time, mode in found["transitions"])
    return [
        relative_row(f"{title}: N per finger at 0.08 s, sticking", found["sticking_normal_n"], NORMAL_N, 0.005, "N"),
        relative_row(f"{title}: friction of both at 0.08 s", found["sticking_friction_n"], FRICTION_N, 0.005, "N"),
        relative_row(f"{title}: N per finger, sliding", found["sliding_normal_n"], normal, 0.01, "N"),
        relative_row(
            f"{title}: friction of both, sliding", found["sliding_friction_n"], 2.0 * FRICTION * normal, 0.01, "N"
        ),
        relative_row(f"{title}: final height of the fingers", found["final_height_m"], FINAL_HEIGHT_M, 0.005, "m"),
        Row(f"{title}: modes of the left contact", names),
    ]


def _sweep_rows(name: str, sweep: list[dict[str, Any]], order: float) -> list[Row]:
    rows = []
    for item in sweep:
        error = item["hydroplaning_error"]
        rows.append(
            Row(
                f"{name.upper()}: N = K (0.01 + h mu v_t), h = {item['h_s']:g} s",
                f"{item['sliding_normal_settled_n']:.4f} N, off by {100 * error:.1e} %",
                "1 % in every step",
                error < 0.01,
            )
        )
    is_first = abs(order - 1.0) < 0.05
    return [*rows, Row(f"{name.upper()}: order of N - 10 N in h", f"{order:.3f}", "1 within 0.05", is_first)]


def _draw(runs: dict[str, Trajectory], h_s: float) -> "Figure":
    pair = fingers(load_system("parallel_gripper"))
    title = f"Parallel gripper, quasi-static, h = {h_s:g} s"
    figure, axes = new_figure(4, len(runs), title, width_in=5.2 * len(runs) + 0.6, height_in=2.0)
    for column, (name, run) in zip(axes.T, runs.items(), strict=True):
        changes = run.transitions(pair[0])[1:]
        for axis in column:
            mark_times(axis, [time for time, _ in changes], [mode for _, mode in changes] if axis is column[1] else ())
            axis.margins(x=0.01)
        t = run.times_s
        column[0].plot(t, np.abs(run.friction[:, pair, 2].sum(axis=1)), color=BLUE, label="both fingers")
        column[0].axhline(FRICTION_N, color=GREY, linestyle="--", linewidth=1, label="2 mu N = 16 N")
        column[1].plot(t, run.normal_force[:, pair[0]], color=BLUE, label="left finger")
        column[1].axhline(NORMAL_N, color=GREY, linestyle="--", linewidth=1, label="K x 10 mm = 10 N")
        column[1].set_ylim(9.8, max(10.4, 1.02 * run.normal_force[:, pair[0]].max()))
        column[2].plot(t, 1e3 * run.gap[:, pair[0]], color=ORANGE, label="left finger")
        column[2].axhline(1e3 * h_s * FRICTION * PULL_M_S, color=GREY, linestyle="--", linewidth=1, label="h mu v_t")
        column[3].plot(t, run.slip_speed[:, pair[0]], color=BLUE, label="tangential")
        column[3].plot(t, run.normal_velocity[:, pair[0]], color=ORANGE, label="normal")
        label(column[0], f"{name.upper()}: friction", "", "N")
        label(column[1], "Normal force", "", "N")
        label(column[2], "Distance", "", "mm")
        label(column[3], "Contact velocity", "time, s", "m/s")
        for axis, where in zip(column, ("lower right", "upper right", "center right", "upper right"), strict=True):
            axis.legend(loc=where)
    for row in axes:
        _share(row)
    return figure


def _share(row: Any) -> None:
    limits = np.array([axis.get_ylim() for axis in row])
    for axis in row:
        axis.set_ylim(limits[:, 0].min(), limits[:, 1].max())


def _draw_order(sweeps: dict[str, list[dict[str, Any]]]) -> "Figure":
    figure, axes = new_figure(1, 1, "Hydroplaning of the sliding gripper vanishes with h", 5.5, 3.4)
    axis = axes[0, 0]
    for colour, (name, sweep) in zip((BLUE, ORANGE), sweeps.items(), strict=False):
        h = np.array([item["h_s"] for item in sweep])
        excess = [item["sliding_normal_settled_n"] - NORMAL_N for item in sweep]
        axis.loglog(h, excess, "o-", color=colour, label=f"{name.upper()}, simulated")
    axis.loglog(h, STIFFNESS_N_PER_M * h * FRICTION * PULL_M_S, "--", color=GREY, label="K h mu v_t")
    label(axis, "Normal force above 10 N", "h, s", "N")
    axis.legend()
    return figure
