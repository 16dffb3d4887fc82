"""A closer look at changes of mode: forces beside sliding velocities and beta, step by step (seeds/001).

The left contact of the parallel gripper by QP. In its plane, with the normal force N and the friction T along d, the
extreme rays of the cone carry beta_1 = (N + T / mu) / 2 and beta_2 = (N - T / mu) / 2, and

    0 <= beta_1 _|_ v_n + mu v_d + phi / h >= 0        (1)
    0 <= beta_2 _|_ v_n - mu v_d + phi / h >= 0        (2)

Sticking: both carry. Sliding starts: one of them drops to zero, and the gap opens by v_n. Still sliding: v_n is zero,
phi = h mu v_d. The slides' last two pictures, sliding about to stop and almost stopped: v_n < 0 closes the gap step by
step, and only when it is closed the other ray carries again.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.film import write_animation
from contact_mpc.examples.parallel_gripper import SLIDING_END_S, SLIDING_START_S, fingers, simulate_gripper
from contact_mpc.examples.plotting import BLUE, GREEN, GREY, ORANGE, RED, label, mark_times, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.examples.trajectory import Trajectory
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("qp",)
H_S, FRICTION, ALLOWED_N = 0.001, 0.8, 1e-6
# Times of the slides' pictures, s, in steps of h from the start and the end of sliding.
PICTURES = {
    "sticking": (SLIDING_START_S, -2),
    "sliding starts": (SLIDING_START_S, 2),
    "still sliding": (SLIDING_END_S, -5),
    "sliding about to stop": (SLIDING_END_S, 1),
    "almost stopped": (SLIDING_END_S, 5),
}


def rays_of(run: Trajectory, contact: int, sign: float, h_s: float) -> dict[str, FloatArray]:
    """Return per step v_n, v_d, the slacks of (1) and (2), m/s, and beta_1, beta_2, N; d is upwards.

    sign is that of the contact's forces on shape a against those on the object.
    """
    v_n, v_d = run.normal_velocity[:, contact], run.velocity[:, contact, 2]
    N, T = run.normal_force[:, contact], sign * run.friction[:, contact, 2]
    phi = np.concatenate([[0.0], run.gap[:-1, contact]])
    return {
        "v_n": v_n,
        "v_d": v_d,
        "slack_1": v_n + FRICTION * v_d + phi / h_s,
        "slack_2": v_n - FRICTION * v_d + phi / h_s,
        "beta_1": 0.5 * (N + T / FRICTION),
        "beta_2": 0.5 * (N - T / FRICTION),
    }


def mode_changes(settings: Settings) -> ExampleResult:
    """Follow the contact through sticking, sliding, sticking."""
    check_allowed(settings, "mode_changes", FORMULATIONS, 0.005)
    h_s = settings.h_s or H_S
    system, run = load_system("parallel_gripper"), simulate_gripper("qp", h_s)
    contact = fingers(system)[0]
    is_object_a = system.geometries[system.pairs[contact].geometry_a].owner in system.object_names
    found = rays_of(run, contact, 1.0 if is_object_a else -1.0, h_s)
    products = max(float(np.abs(found[f"beta_{i}"] * found[f"slack_{i}"]).max()) for i in (1, 2))
    least = min(float(found[f"beta_{i}"].min()) for i in (1, 2))
    open_m_s = min(float(found[f"slack_{i}"].min()) for i in (1, 2))
    rows = [
        Row("largest |beta (v_n +- mu v_d + phi / h)|", f"{products:.1e} W", "1e-6 W", products < 1e-6),
        Row("least beta", f"{least:.1e} N", "not below -1e-6 N", least > -ALLOWED_N),
        Row("least v_n +- mu v_d + phi / h", f"{open_m_s:.1e} m/s", "not below -1e-6 m/s", open_m_s > -1e-6),
    ]
    pictures = {}
    for name, (time_s, steps) in PICTURES.items():
        k = run.at(time_s + steps * h_s)
        pictures[name] = {"time_s": float(run.times_s[k]), **{key: float(values[k]) for key, values in found.items()}}
        values = pictures[name]
        rows.append(
            Row(
                f"{name}, {values['time_s']:.3f} s",
                f"v_n {1e3 * values['v_n']:.1f}, v_d {1e3 * values['v_d']:.1f} mm/s, "
                f"beta {values['beta_1']:.2f}, {values['beta_2']:.2f} N",
            )
        )
    figures: dict[str, Any] = {"h_s": h_s, "complementarity_w": products, "pictures": pictures}
    arrays = {"times_s": run.times_s, "gap_m": run.gap[:, contact], **found}
    plots = {"mode_changes": partial(_draw, run, contact, found, pictures)}
    pages = {"mode_changes": partial(write_animation, "mode_changes", system, run)}
    return ExampleResult(rows, figures, arrays, plots, pages)


def _draw(
    run: Trajectory, contact: int, found: dict[str, FloatArray], pictures: dict[str, dict[str, float]]
) -> "Figure":
    figure, axes = new_figure(
        3, 2, "Left contact of the gripper, QP: forces beside sliding velocities and beta", 10.5, 2.0
    )
    h = run.times_s[0]
    for column, middle in zip(axes.T, (SLIDING_START_S, SLIDING_END_S), strict=True):
        shown = np.abs(run.times_s - middle) < 10.5 * h
        t, style = 1e3 * run.times_s[shown], {"marker": "o", "markersize": 3}
        column[0].plot(t, 1e3 * found["v_d"][shown], color=BLUE, label="v_d, sliding", **style)
        column[0].plot(t, 1e3 * found["v_n"][shown], color=ORANGE, label="v_n, opening", **style)
        column[1].plot(t, found["beta_1"][shown], color=GREEN, label="beta_1", **style)
        column[1].plot(t, found["beta_2"][shown], color=RED, label="beta_2", **style)
        column[1].plot(t, run.normal_force[shown, contact], color=GREY, label="N = beta_1 + beta_2", linewidth=1.0)
        column[2].plot(t, 1e3 * found["slack_1"][shown], color=GREEN, label="(1)", **style)
        column[2].plot(t, 1e3 * found["slack_2"][shown], color=RED, label="(2)", **style)
        inside = {n: 1e3 * p["time_s"] for n, p in pictures.items() if abs(p["time_s"] - middle) < 10.5 * h}
        for axis in column:
            mark_times(axis, inside.values(), inside if axis is column[0] else ())
        label(column[0], "Velocities", "", "mm/s")
        label(column[1], "Force along the extreme rays", "", "N")
        label(column[2], "v_n +- mu v_d + phi / h", "time, ms", "mm/s")
    for axis in axes[:, 1]:
        axis.legend(loc="center right")
    return figure
