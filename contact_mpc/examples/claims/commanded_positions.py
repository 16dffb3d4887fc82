"""Setting q_a = q_cmd can violate non-penetration, a force cannot, and a spring between both repairs it (seeds/001).

The left finger of the parallel gripper is told to go into the ball, which the right one holds. Taken as a position,
the finger is where it was told, inside the ball. As a force under Newton's second law, whatever its size, and as the
command of a spring, it stays outside; the spring's force is balanced by the contact: k (u - x) + f = 0.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.parallel_gripper import STIFFNESS_N_PER_M, start
from contact_mpc.examples.plotting import BLUE, GREY, ORANGE, RED, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed, relative_row
from contact_mpc.examples.trajectory import make_dynamics, write_run
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("lcp", "qp", "socp")
H_S, FORCE_H_S, FORCE_STEPS = 0.01, 1e-3, 20
DEPTHS_M = np.linspace(-0.01, 0.03, 21)


def squeezed(system: System, depth_m: float) -> FloatArray:
    """Return the command (3,) of both fingers a depth beyond the faces of the ball, m."""
    values = {"left_x": depth_m, "right_x": -depth_m, "lift": 0.0}
    return start(system)[2:] + np.array([values[name] for name in system.joint_names])


def deepest_by_force(system: System, force_n: float) -> float:
    """Return the least gap, m, while joint torques (here forces) press both fingers for FORCE_STEPS steps."""
    dynamics = make_dynamics(system, "second_order", FORCE_H_S, "quasidynamic")
    q, v, least = start(system), np.zeros(system.n_v), np.inf
    direction = np.sign(squeezed(system, 1.0) - start(system)[2:])
    for _ in range(FORCE_STEPS):
        result = dynamics.step(q, q[2:], tau_a=force_n * direction, velocity=v)
        v, q = system.difference(q, result.q_next) / FORCE_H_S, result.q_next
        least = min(least, float(dynamics.step(q, q[2:]).gaps[:2].min()))
    return least


def commanded_positions(settings: Settings) -> ExampleResult:
    """Sweep the depth of the command, and press with forces."""
    check_allowed(settings, "commanded_positions", FORMULATIONS, 0.1)
    formulation, h_s = settings.formulation or "qp", settings.h_s or H_S
    system = load_system("parallel_gripper")
    dynamics, q = make_dynamics(system, formulation, h_s, "quasistatic"), start(system)
    told, sprung, normal = [], [], []
    for depth in DEPTHS_M:
        u = squeezed(system, float(depth))
        result = dynamics.step(q, u)
        told.append(dynamics.step(np.concatenate([q[:2], u]), u).gaps[:2].min())
        sprung.append(dynamics.step(result.q_next, u).gaps[:2].min())
        normal.append(np.linalg.norm(result.impulses[0]) / h_s)
    told_m, sprung_m, normal_n = np.array(told), np.array(sprung), np.array(normal)
    forces_n = (1.0, 100.0, 1e4)
    by_force_m = [deepest_by_force(system, force) for force in forces_n]
    expected = np.maximum(STIFFNESS_N_PER_M * DEPTHS_M, 0.0)
    rows = [
        relative_row("q_a = q_cmd: gap at 30 mm", float(told_m[-1]), -DEPTHS_M[-1], 1e-6, "m"),
        Row("with a spring: least gap", f"{sprung_m.min():.1e} m", "not below -1e-8 m", bool(sprung_m.min() > -1e-8)),
        Row(
            "with a spring: force, off k (u - x) by at most",
            f"{np.abs(normal_n - expected).max():.1e} N",
            "1e-5 N",
            bool(np.abs(normal_n - expected).max() < 1e-5),
        ),
        Row(
            "by a force of 1, 100, 10000 N: least gap",
            f"{min(by_force_m):.1e} m",
            "not below -1e-8 m",
            min(by_force_m) > -1e-8,
        ),
    ]
    figures: dict[str, Any] = {"formulation": formulation, "h_s": h_s, "least_gap_by_force_m": min(by_force_m)}
    arrays = {"depth_m": DEPTHS_M, "gap_told_m": told_m, "gap_sprung_m": sprung_m, "normal_force_n": normal_n}
    plots = {"commanded_positions": partial(_draw, told_m, sprung_m, normal_n, (forces_n, by_force_m))}
    return ExampleResult(rows, figures, arrays, plots, {"commanded_positions": partial(_animate, formulation, h_s)})


def _animate(formulation: str, h_s: float, folder: Path) -> Path:
    """Write how the fingers are told to go into the ball, on springs, deeper from step to step."""
    system = load_system("parallel_gripper")
    dynamics, steps = make_dynamics(system, formulation, h_s, "quasistatic"), len(DEPTHS_M)

    def command(t_s: float) -> FloatArray:
        return squeezed(system, float(DEPTHS_M[min(round(t_s / h_s), steps) - 1]))

    return write_run("commanded_positions", dynamics, start(system), command, steps * h_s, folder)


def _draw(
    told_m: FloatArray, sprung_m: FloatArray, normal_n: FloatArray, by_force: tuple[tuple[float, ...], list[float]]
) -> "Figure":
    figure, axes = new_figure(1, 3, "A finger is told to go into the ball", 11.0, 2.8)
    axes[0, 0].plot(1e3 * DEPTHS_M, 1e3 * told_m, color=RED, label="q_a = q_cmd")
    axes[0, 0].plot(1e3 * DEPTHS_M, 1e3 * sprung_m, color=BLUE, label="command of a spring")
    axes[0, 0].axhline(0.0, color=GREY, linewidth=0.8)
    label(axes[0, 0], "Gap of finger and ball", "command beyond the surface, mm", "mm")
    axes[0, 1].plot(1e3 * DEPTHS_M, normal_n, color=BLUE, label="contact")
    axes[0, 1].plot(1e3 * DEPTHS_M, np.maximum(STIFFNESS_N_PER_M * DEPTHS_M, 0.0), "--", color=GREY, label="k (u - x)")
    label(axes[0, 1], "Force, with the spring", "command beyond the surface, mm", "N")
    axes[0, 2].semilogx(by_force[0], 1e3 * np.array(by_force[1]), "o-", color=ORANGE, label="second order, least gap")
    axes[0, 2].set_ylim(-1.0, 1.0)
    label(axes[0, 2], "Pressed by a force", "N", "mm")
    for axis in axes[0]:
        axis.legend()
    return figure
