"""Newton's second law beside balance of forces: a ball slides out, and how far h is from it (seeds/001, "2nd-order").

A ball that cannot turn starts at 1 m/s on the ground, mu = 0.8. With inertia it slows by mu g and stops after
v^2 / (2 mu g) = 63.7 mm; the way is of first order in h. A quasi-static step knows no velocity: the ball stays.
Pushed by the robot's spring at 0.1 m/s both balls follow, the one with inertia behind by what damper and mass take:
what drives the quasi-static ball is the command, not a force.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.film import write_animation
from contact_mpc.examples.parallel_gripper import fit_order
from contact_mpc.examples.plotting import COLOURS, GREY, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed, relative_row
from contact_mpc.examples.sphere_no_rotation import command, simulate_ball
from contact_mpc.examples.trajectory import Trajectory, make_dynamics, simulate
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS_H_S = (0.02, 0.01, 0.005, 0.0025)
SPEED_M_S, FRICTION, GRAVITY_M_S2, DURATION_S = 1.0, 0.8, 9.81, 0.2
STOP_M = SPEED_M_S**2 / (2.0 * FRICTION * GRAVITY_M_S2)
STOP_S = SPEED_M_S / (FRICTION * GRAVITY_M_S2)
FAR_AWAY = (-1.0, 0.5)  # of the pusher, m


def slide(h_s: float) -> Trajectory:
    """Let the ball slide out, its pusher far away."""
    dynamics = make_dynamics(load_system("sphere_no_rotation"), "second_order", h_s, "quasidynamic")
    q = np.array([0.0, 0.0, *FAR_AWAY])
    return simulate(dynamics, q, lambda _: q[2:], DURATION_S, v_start=np.array([SPEED_M_S, 0.0, 0.0, 0.0]))


def push(h_s: float) -> Trajectory:
    """Push the ball as the example sphere_no_rotation does, with inertia."""
    system = load_system("sphere_no_rotation")
    start = np.array([0.0, 0.0, -0.12, 0.1])
    return simulate(make_dynamics(system, "second_order", h_s, "quasidynamic"), start, command, 1.0)


def second_order(settings: Settings) -> ExampleResult:
    """Slide with four steps h, and push with and without inertia."""
    check_allowed(settings, "second_order", (), 0.05)
    steps = STEPS_H_S if settings.h_s is None else tuple(settings.h_s / 2.0**k for k in range(4))
    slides = {h: slide(h) for h in steps}
    ways = np.array([run.q[-1, 0] for run in slides.values()])
    order = fit_order(np.array(steps), np.abs(ways - STOP_M))
    h = steps[-1]
    pushed, balanced = push(h), simulate_ball("lcp", h)
    apart_m = float(np.abs(pushed.q[:, 0] - balanced.q[:, 0]).max())
    end_m = float(abs(pushed.q[-1, 0] - balanced.q[-1, 0]))
    slope = np.gradient(slides[h].velocity[:, 1, 0], h)[2 : int(0.8 * STOP_S / h)]
    rows = [
        relative_row("slows by mu g", float(-slope.mean()), FRICTION * GRAVITY_M_S2, 1e-4, "m/s^2"),
        relative_row(f"stops after, h = {h:g} s", float(ways[-1]), STOP_M, 0.03, "m"),
        Row("order of the way in h", f"{order:.2f}", "1 within 0.3", abs(order - 1.0) < 0.3),
        Row("gap of the sliding contact", f"{slides[h].gap[:, 1].max():.1e} m", "1e-8 m",
            bool(slides[h].gap[:, 1].max() < 1e-8)),
        Row("pushed: way with and without inertia differ by at most", f"{1e3 * apart_m:.3f} mm"),
        Row("pushed: at the end by", f"{1e3 * end_m:.3f} mm"),
    ]  # fmt: skip
    figures: dict[str, Any] = {
        "h_s": list(steps), "way_m": ways.tolist(), "stop_m": STOP_M, "order_in_h": order,
        "pushed_difference_m": apart_m, "pushed_difference_end_m": end_m,
    }  # fmt: skip
    arrays = {k: v for h_s, run in slides.items() for k, v in run.arrays(f"h_{h_s:g}").items()}
    arrays |= pushed.arrays("pushed") | balanced.arrays("pushed_balance")
    plots = {"second_order": partial(_draw, slides, pushed, balanced, ways)}
    system = load_system("sphere_no_rotation")
    pages = {"second_order_pushed": partial(write_animation, "second_order_pushed", system, pushed)}
    return ExampleResult(rows, figures, arrays, plots, pages)


def _draw(slides: dict[float, Trajectory], pushed: Trajectory, balanced: Trajectory, ways: FloatArray) -> "Figure":
    figure, axes = new_figure(1, 3, "With Newton's second law, and without", 11.0, 2.8)
    for colour, (h, run) in zip(COLOURS, slides.items(), strict=False):
        axes[0, 0].plot(run.times_s, run.q[:, 0] * 1e3, color=colour, label=f"h = {1e3 * h:g} ms")
    t = np.linspace(0.0, STOP_S, 50)
    exact = SPEED_M_S * t - 0.5 * FRICTION * GRAVITY_M_S2 * t**2
    axes[0, 0].plot(t, 1e3 * exact, "k--", label="v t - mu g t^2 / 2")
    axes[0, 0].axhline(0.0, color=GREY, linewidth=1.0, label="balance of forces: it stays")
    label(axes[0, 0], "Ball at 1 m/s slides out", "time, s", "mm")
    steps = np.array(list(slides))
    axes[0, 1].loglog(steps, 1e3 * np.abs(ways - STOP_M), "o-", color=COLOURS[0], label="way")
    axes[0, 1].loglog(steps, 1e3 * 0.5 * SPEED_M_S * steps, "--", color=GREY, label="v h / 2")
    label(axes[0, 1], "Error of the way", "h, s", "mm")
    axes[0, 2].plot(pushed.times_s, pushed.normal_force[:, 0], color=COLOURS[1], label="with inertia")
    axes[0, 2].plot(balanced.times_s, balanced.normal_force[:, 0], "k--", linewidth=1.0, label="balance of forces")
    label(axes[0, 2], "Force of the pusher, ball pushed twice", "time, s", "N")
    for axis in axes[0]:
        axis.legend()
    return figure
