"""A ball that cannot turn is pushed over the ground, twice: a convex step wobbles where the contact changes its mode.

One contact with the ground, which sticks, slides while the pusher moves, and sticks again. Sliding opens the gap
h mu v_t; the ball climbs by it, and through the friction of the pusher, which does not slip on the ball, lifts the
pusher against its spring. So the force of the ground leaves the weight by K h mu v_t at every change of mode and comes
back in a transient of some steps. Amplitude and duration shrink with h; the LCP has none (seeds/001, "When it works").
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.film import write_animation
from contact_mpc.examples.plotting import BLUE, GREEN, GREY, ORANGE, label, mark_times, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.examples.trajectory import Trajectory, make_dynamics, simulate
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("qp", "socp")
STEPS_H_S = (0.01, 0.001)
DURATION_S, SPEED_M_S = 1.0, 0.1
PUSHES_S = ((0.1, 0.4), (0.6, 0.9))
WEIGHT_N = 9.81
PUSHER, GROUND = 0, 1  # contacts of the system
SETTLED_FRACTION = 0.01  # of the amplitude: a transient is over


def start() -> FloatArray:
    """Return q = (ball x, ball z, pusher x, pusher z) with the pusher at the ball's side."""
    return np.array([0.0, 0.0, -0.12, 0.1])


def command(time_s: float) -> FloatArray:
    """Return u (2,) at a time: two pushes to the right at constant height."""
    moved = sum(float(np.clip(time_s, begin, end)) - begin for begin, end in PUSHES_S)
    return start()[2:] + [SPEED_M_S * moved, 0.0]


def simulate_ball(formulation: str, h_s: float) -> Trajectory:
    """Push the ball with one formulation and time step."""
    dynamics = make_dynamics(load_system("sphere_no_rotation"), formulation, h_s, "quasistatic")
    return simulate(dynamics, start(), command, DURATION_S)


def figures_of(run: Trajectory, h_s: float) -> dict[str, Any]:
    """Return amplitude and duration of the wobble, of the ground's force and of the gap."""
    excess = np.abs(run.normal_force[:, GROUND] - WEIGHT_N)
    end = PUSHES_S[0][1]
    after = (run.times_s > end) & (run.times_s < PUSHES_S[1][0])
    above = np.flatnonzero(after & (excess > max(SETTLED_FRACTION * excess.max(), 1e-6)))
    return {
        "h_s": h_s,
        "status": run.status,
        "force_amplitude_n": float(excess.max()),
        "gap_amplitude_m": float(run.gap[:, GROUND].max()),
        "settling_time_s": float(run.times_s[above[-1]] - end) if len(above) else 0.0,
        "ground_transitions": run.transitions(GROUND),
    }


def sphere_no_rotation(settings: Settings) -> ExampleResult:
    """Push at h = 0.01 s and 0.001 s (or at h and h / 10), with the LCP beside."""
    check_allowed(settings, "sphere_no_rotation", FORMULATIONS, 0.05)
    formulation = settings.formulation or "qp"
    steps = STEPS_H_S if settings.h_s is None else (settings.h_s, 0.1 * settings.h_s)
    runs = {h_s: simulate_ball(formulation, h_s) for h_s in steps}
    reference = simulate_ball("lcp", steps[0])
    found = [figures_of(run, h_s) for h_s, run in runs.items()]
    ratio = found[0]["force_amplitude_n"] / found[1]["force_amplitude_n"]
    figures: dict[str, Any] = {
        "formulation": formulation,
        "runs": found,
        "lcp": figures_of(reference, steps[0]),
        "amplitude_ratio": ratio,
    }
    rows = [row for item in found for row in _rows(item)]
    still = figures["lcp"]["force_amplitude_n"]
    rows += [
        Row("LCP: amplitude of N", f"{still:.1e} N", "below 1e-6 N", still < 1e-6),
        Row("amplitudes, coarse / fine step", f"{ratio:.2f}", "10 within 5 %", abs(ratio - 10.0) < 0.5),
    ]
    arrays = {key: value for h_s, run in runs.items() for key, value in run.arrays(f"h_{h_s:g}").items()}
    plots = {"sphere_no_rotation": partial(_draw, runs, reference, formulation)}
    name = "sphere_no_rotation"
    pages = {name: partial(write_animation, name, load_system(name), runs[steps[0]])}
    return ExampleResult(rows, figures, arrays | reference.arrays("lcp"), plots, pages)


def _rows(found: dict[str, Any]) -> list[Row]:
    head = f"h = {found['h_s']:g} s"
    return [
        Row(f"{head}: end", found["status"], "converged", found["status"] == "converged"),
        Row(f"{head}: amplitude of N at the ground", f"{found['force_amplitude_n']:.4f} N"),
        Row(f"{head}: amplitude of the gap", f"{1e3 * found['gap_amplitude_m']:.4f} mm"),
        Row(f"{head}: settles within", f"{1e3 * found['settling_time_s']:.1f} ms"),
    ]


def _draw(runs: dict[float, Trajectory], reference: Trajectory, formulation: str) -> "Figure":
    title = f"Ball that cannot turn, pushed twice: {formulation.upper()}, quasi-static, mu = 0.8"
    figure, axes = new_figure(3, 2, title, 10.5, 2.2)
    for column, window in zip(axes.T, ((0.0, DURATION_S), (0.38, 0.48)), strict=True):
        for (h_s, run), colour, line in zip(runs.items(), (ORANGE, BLUE), ("o-", "-"), strict=True):
            shown = (run.times_s >= window[0]) & (run.times_s <= window[1])
            t, style = run.times_s[shown], {"color": colour, "markersize": 2.5, "label": f"h = {h_s:g} s"}
            column[0].plot(t, run.normal_force[shown, GROUND], line, **style)
            column[1].plot(t, 1e3 * run.gap[shown, GROUND], line, **style)
            column[2].plot(t, run.slip_speed[shown, GROUND], line, **style)
        shown = (reference.times_s >= window[0]) & (reference.times_s <= window[1])
        t = reference.times_s[shown]
        style = {"color": GREEN, "linewidth": 1.0, "label": f"LCP, h = {next(iter(runs)):g} s"}
        column[0].plot(t, reference.normal_force[shown, GROUND], "--", **style)
        column[1].plot(t, 1e3 * reference.gap[shown, GROUND], "--", **style)
        column[2].plot(t, reference.slip_speed[shown, GROUND], "--", **style)
        names = {time: name for push in PUSHES_S for time, name in zip(push, ("push", "stop"), strict=True)}
        inside = {time: name for time, name in names.items() if window[0] <= time <= window[1]}
        for axis in column:
            mark_times(axis, inside, inside.values() if axis is column[2] else ())
    axes[0, 0].axhline(WEIGHT_N, color=GREY, linewidth=0.8)
    for column, where in zip(axes.T, ("", ", the first stop"), strict=True):
        label(column[0], f"Normal force of the ground{where}", "", "N")
        label(column[1], "Gap to the ground", "", "mm")
        label(column[2], "Sliding speed", "time, s", "m/s")
    axes[0, 1].legend(loc="upper right")
    return figure
