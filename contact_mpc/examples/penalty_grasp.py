"""A gripper takes an object of 0.2 kg and holds it, by penalty forces and in Bullet (seeds/002, III-A).

Fingers close with 20 N each (the paper's force is not printed) at mu = 0.2. Friction as a function of velocity lets the
object creep by atanh(load / (mu n f)) / gamma; --h bounds the steps of Radau. The paper's figure 3 shows both methods
at the same steady force, its figure 4 a failure of Bullet's at 7.7 s with a two-finger revolute gripper and a ball:
Bullet's row says what was seen.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.examples.film import write_animation
from contact_mpc.examples.grasp.bullet import simulate_bullet
from contact_mpc.examples.grasp.grippers import FRICTION, GRIPPERS, MASS_KG, Grasp, build_grasp
from contact_mpc.examples.grasp.run import GRIP_N, Record, simulate_penalty, touching_start
from contact_mpc.examples.plotting import COLOURS, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.plants.penalty.engine import PenaltyEngine
from contact_mpc.plants.penalty.parameters import PenaltyParameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DURATION_S, LONGEST_S, LONGEST_STEP_S = 1.0, 60.0, 1e-3
HELD_M, FORCE_TOLERANCE, LAST_S = 0.01, 0.01, 0.1
WEIGHT_N = MASS_KG * 9.81


def penalty_grasp(settings: Settings) -> ExampleResult:
    """Grasp and hold in both engines."""
    check_allowed(settings, "penalty_grasp", (), LONGEST_STEP_S)
    gripper, thing = settings.gripper or "2", settings.thing or "sphere"
    duration_s = settings.duration_s or DURATION_S
    if not 0.2 <= duration_s <= LONGEST_S:
        raise InputError(f"--duration {duration_s} s; expected 0.2 to {LONGEST_S:g} s")
    grasp = build_grasp(gripper, thing)
    penalty = simulate_penalty(grasp, duration_s, max_step_s=settings.h_s or LONGEST_STEP_S)
    q = touching_start(PenaltyEngine(grasp.system, meshes=grasp.meshes), grasp)
    bullet = simulate_bullet(grasp, q, duration_s)
    found = {
        "gripper": gripper, "object": thing, "duration_s": duration_s,
        "penalty": figures_of(penalty, duration_s), "bullet": figures_of(bullet, duration_s),
    }  # fmt: skip
    arrays = {
        f"{name}_{key}": np.array(getattr(run, key))
        for name, run in (("penalty", penalty), ("bullet", bullet))
        for key in ("times_s", "forces_n", "position_m")
    }
    title = f"{GRIPPERS[gripper]} fingers, {thing}" if gripper != "2p" else f"{GRIPPERS[gripper]}, {thing}"
    name = f"penalty_grasp_{gripper}_{thing}"
    pages = {name: partial(write_animation, name, grasp.system, penalty.film)} if penalty.times_s else {}
    plots = {"penalty_grasp": partial(_draw, penalty, bullet, title)}
    return ExampleResult(_rows(found, grasp), found, arrays, plots, pages)


def figures_of(run: Record, duration_s: float) -> dict[str, Any]:
    """Return what a run showed: whether it held, slip, forces of the last tenth of a second."""
    forces, t = np.array(run.forces_n), np.array(run.times_s)
    late = forces[t > duration_s - LAST_S] if len(t) else np.zeros((0, 1))
    is_whole = not run.error and len(t) > 0 and t[-1] >= duration_s - 0.01
    is_held = bool(is_whole and run.slip_m < HELD_M and np.all(late.mean(axis=0) > 0.0))
    return {
        "is_held": is_held,
        "slip_mm": 1e3 * run.slip_m if len(t) else None,
        "force_n": late.mean(axis=0).tolist() if len(late) else None,
        "peak_n": float(forces.max()) if len(t) else None,
        "real_time_factor": run.real_time_factor,
        "error": run.error,
    }


def _rows(found: dict[str, Any], grasp: Grasp) -> list[Row]:
    ours, bullet = found["penalty"], found["bullet"]
    rows = [Row("penalty: held", _held(ours), f"slip below {1e3 * HELD_M:g} mm", ours["is_held"])]
    if ours["force_n"] is not None:
        mean = float(np.mean(ours["force_n"]))
        is_prismatic = found["gripper"] == "2p"
        is_met = abs(mean / GRIP_N - 1.0) < FORCE_TOLERANCE if is_prismatic else None
        rows.append(Row("penalty: force of a finger", f"{mean:.3f} N", f"{GRIP_N:g} N" * is_prismatic, is_met))
        capacity = FRICTION * float(np.sum(ours["force_n"]))
        creep = np.arctanh(min(WEIGHT_N / capacity, 0.999)) / PenaltyParameters().scaling_s_per_m
        rows.append(Row("penalty: creep that friction predicts", f"{1e3 * creep:.3f} mm/s, were faces upright"))
        rows.append(Row("penalty: largest force", f"{ours['peak_n']:.1f} N"))
    rows.append(Row("penalty: real-time factor", f"{ours['real_time_factor']:.3f}"))
    rows.append(Row("Bullet: held", _held(bullet), "failed at 7.7 s in the paper (2, sphere)"))
    if bullet["force_n"] is not None:
        mean = float(np.mean(bullet["force_n"]))
        rows.append(Row("Bullet: force of a finger", f"{mean:.3f} N, largest {bullet['peak_n']:.1f} N"))
    rows.append(Row("Bullet: real-time factor", f"{bullet['real_time_factor']:.3f}"))
    return rows


def _held(figures: dict[str, Any]) -> str:
    slip = figures["slip_mm"]
    text = "yes" if figures["is_held"] else "no"
    return f"{text}, slip {slip:.2f} mm" if slip is not None else f"{text}: {figures['error']}"


def _draw(penalty: Record, bullet: Record, title: str) -> "Figure":
    figure, axes = new_figure(2, 1, f"Penalty and Bullet: {title}")
    for run, line, name in ((penalty, "-", "penalty"), (bullet, "--", "Bullet")):
        forces, p = np.array(run.forces_n), np.array(run.position_m)
        for i in range(forces.shape[1] if forces.ndim == 2 else 0):
            axes[0, 0].plot(run.times_s, forces[:, i], line, color=COLOURS[i % len(COLOURS)], label=f"{name}, {i}")
        if len(p):
            axes[1, 0].plot(run.times_s, 1e3 * np.linalg.norm(p - p[0], axis=1), line, label=name)
    label(axes[0, 0], "Normal force of each finger", "time, s", "N")
    label(axes[1, 0], "The object, from where it was", "time, s", "mm")
    for axis in axes[:, 0]:
        axis.legend(loc="best")
    axes[0, 0].set_ylim(0.0, 3.0 * GRIP_N)
    return figure
