"""What it was: robots that are told velocities push well, and cannot grasp (seeds/003).

A pusher at the side of a box on a support with an ellipsoidal limit surface: it sticks where its velocity is in the
motion cone, and the box turns to the side that the ray of pushing and the edges of the friction cone vote for. The
force is known up to a factor only. Two fingers that are told to squeeze a ball have no solution at all, and fingers
that lift it leave the grip open. With a spring between command and joint (`parallel_gripper`) both are settled.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.dynamics.analysis.velocity_command import (
    SQUARE_SUPPORT,
    motion_cone,
    push_by_velocity,
    squeezes,
)
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.examples.film import Film, write_animation
from contact_mpc.examples.parallel_gripper import start
from contact_mpc.examples.plotting import BLUE, GREY, ORANGE, RED, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP_M, SIDE_M, HEIGHT_M = 1e-3, 1.0, 0.1
SLOPES = np.linspace(-2.4, 2.4, 61)
SHOWN_SLOPE, SHOWN_STEPS, SHOWN_STEP_S = 0.1, 400, 0.01
W = np.diag([1.0, 1.0, (SQUARE_SUPPORT * SIDE_M) ** 2])


def touching_start(dynamics: ContactDynamics, height_m: float) -> FloatArray:
    """Return q with the pusher at the box's left face, above its centre."""
    q = np.array([0.0, 0.0, 0.0, -SIDE_M, height_m])
    q[3] += dynamics.step(q, q[3:]).gaps[0]
    return q


def pusher_contact(height_m: float) -> StepProblem:
    """Return the contact of a pusher at the box's left face, above its centre."""
    dynamics = ContactDynamics(load_system("planar_pushing"), "lcp")
    q = touching_start(dynamics, height_m)
    return dynamics.assemble(q, q[3:])


def held_ball(fingers_m: FloatArray) -> tuple[StepProblem, FloatArray]:
    """Return the contacts of the ball between the gripper's fingers, off the ground, and d_a of (left, right, lift)."""
    system = load_system("parallel_gripper")
    q, names = start(system), system.joint_names
    q[1] += 0.1
    q[2 + names.index("lift")] += 0.1
    told = dict(zip(("left_x", "right_x", "lift"), fingers_m, strict=True))
    return ContactDynamics(system, "lcp").assemble(q, q[2:]), np.array([told[name] for name in names])


def sweep(problem: StepProblem) -> tuple[FloatArray, FloatArray]:
    """Return the sliding of the pusher and the turn of the box over the direction of pushing, per step."""
    slips, turns = [], []
    for slope in SLOPES:
        d_a = STEP_M * np.array([1.0, slope])
        found = push_by_velocity(problem, d_a, W)
        d = problem.displacements(np.concatenate([found.d_u, d_a]))[0]
        slips.append((d - (d @ problem.n[0]) * problem.n[0])[1])
        turns.append(found.d_u[2])
    return np.array(slips), np.array(turns)


def velocity_command(settings: Settings) -> ExampleResult:
    """Push in many directions, then grasp."""
    check_allowed(settings, "velocity_command", (), 1.0)
    problem = pusher_contact(HEIGHT_M)
    mu, c = float(problem.mu[0]), SQUARE_SUPPORT * SIDE_M
    low, high = motion_cone(mu, c, -0.5 * SIDE_M, HEIGHT_M)
    slips, turns = sweep(problem)
    is_inside = (low < SLOPES) & (high > SLOPES)
    moments = [np.sign(-0.5 * SIDE_M * slope - HEIGHT_M) for slope in (SLOPES, mu, -mu)]
    votes = np.sign(sum(moments))
    once, ten = (push_by_velocity(problem, STEP_M * np.array([1.0, 0.0]), factor * W) for factor in (1.0, 10.0))
    grasp, squeeze = held_ball(np.array([STEP_M, -STEP_M, 0.0]))
    told = push_by_velocity(grasp, squeeze, np.eye(2))
    carried, lift = held_ball(np.array([0.0, 0.0, STEP_M]))
    open_grips = squeezes(carried, push_by_velocity(carried, lift, np.eye(2)), lift)
    ratio = float(np.linalg.norm(ten.force) / np.linalg.norm(once.force))
    sticks = bool(np.array_equal(np.abs(slips) < 1e-12, is_inside))
    rows = [
        Row("sticks in the motion cone alone", f"v_t / v_n in ({low:.3f}, {high:.3f})", "all 61 directions", sticks),
        Row("turns as Mason's vote says", f"{np.mean(np.sign(turns) == votes):.0%}", "100 %",
            bool(np.all(np.sign(turns) == votes))),
        Row("force with ten times the metric, same motion", f"{ratio:.6f} times", "10", abs(ratio - 10.0) < 1e-6),
        Row("fingers told to squeeze", told.status, "no solution", told.status != "converged"),
        Row("fingers told to lift: grips that fit", f"{open_grips} free forces", "at least 1", open_grips >= 1),
    ]  # fmt: skip
    figures: dict[str, Any] = {
        "friction": mu, "c_m": c, "motion_cone": [low, high], "force_ratio": ratio, "squeeze_status": told.status,
        "free_grip_forces": open_grips,
    }  # fmt: skip
    arrays = {"slopes": SLOPES, "slip_m": slips, "turn_rad": turns, "vote": votes}
    plots = {"velocity_command": partial(_draw, slips, turns, (low, high), mu)}
    return ExampleResult(rows, figures, arrays, plots, {"velocity_command": _write_push})


def push_on(slope: float) -> Film:
    """Return a push in one direction, step after step; the force's size is free, so its direction alone is shown."""
    dynamics = ContactDynamics(load_system("planar_pushing"), "lcp")
    watcher, q, d_a = make_newton(dynamics.model), touching_start(dynamics, HEIGHT_M), STEP_M * np.array([1.0, slope])
    rows = []
    for k in range(SHOWN_STEPS):
        problem = dynamics.assemble(q, q[3:])
        found = push_by_velocity(problem, d_a, W)
        measure_gaps(dynamics.model, watcher, q)
        force = np.zeros_like(watcher.con.p)
        force[problem.pair] = dynamics.model.pairs.sign[problem.pair, None] * found.force
        force /= max(np.linalg.norm(force, axis=1).max(), 1e-300)
        rows.append((k * SHOWN_STEP_S, q.copy(), watcher.con.p.copy(), force))
        q = q + np.concatenate([found.d_u, d_a])
    times_s, configurations, points, forces = (np.array(column) for column in zip(*rows, strict=True))
    return Film(times_s, configurations, points, forces)


def _write_push(folder: Path) -> Path:
    shown = "the direction of the contact's force on the box (its size is free)"
    return write_animation("velocity_command", load_system("planar_pushing"), push_on(SHOWN_SLOPE), folder, shown=shown)


def _draw(slips: FloatArray, turns: FloatArray, cone: tuple[float, float], mu: float) -> "Figure":
    title = f"A pusher told a velocity, 0.1 m above the centre of a box of 1 m, mu = {mu:g}"
    figure, axes = new_figure(1, 2, title, 10.0, 2.8)
    axes[0, 0].plot(SLOPES, 1e3 * slips, color=BLUE, label="simulated")
    axes[0, 0].axvspan(*cone, color=ORANGE, alpha=0.25, label="motion cone")
    label(axes[0, 0], "Sliding of the pusher per mm forwards", "v_t / v_n", "mm")
    axes[0, 1].plot(SLOPES, np.rad2deg(turns), color=BLUE, label="simulated")
    for slope, name in ((mu, "edge of the friction cone"), (-mu, ""), (-2.0 * HEIGHT_M / SIDE_M, "through the centre")):
        colour = RED if name.startswith("through") else GREY
        axes[0, 1].axvline(slope, color=colour, linestyle=":", label=name or None)
    axes[0, 1].axhline(0.0, color=GREY, linewidth=0.8)
    label(axes[0, 1], "Turn of the box per mm forwards", "v_t / v_n", "degrees")
    for axis in axes[0]:
        axis.legend()
    return figure
