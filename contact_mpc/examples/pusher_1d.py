"""A pusher meets a block on a rail: the smoothed step against the exact one (seeds/003, "Smoothing").

With the gap g = q_u - q_a - 2 r before the step and the pusher's free displacement s = u - q_a, one step of

    min 1/2 K (dq_a - s)^2 + 1/2 (m / h^2) dq_u^2   s.t.   g + dq_u - dq_a >= 0

moves the block by max(0, K (s - g) / (K + m / h^2)). The smoothed step adds -(2 / kappa) log(g + dq_u - dq_a) (both
factors of the cone's quadratic without friction), whose stationary point is the root of a quadratic in the new gap:
both are closed forms, and the solvers are held against them.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.examples.plotting import COLOURS, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.examples.trajectory import make_dynamics, write_run
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("qp", "socp")
STIFFNESS_N_PER_M, MASS_KG, RADIUS_M, GAP_M, H_S = 100.0, 1.0, 0.05, 0.02, 0.1
PUSH_S, PUSH_M_S, PUSH_H_S = 2.0, 0.04, 0.02  # of the animation
KAPPAS = (100.0, 1e3, 1e4, 1e5)
EXACT_TOLERANCE_M, SMOOTH_TOLERANCE_M = 1e-7, 1e-9


def exact_displacement(s: FloatArray, gap_m: float, h_s: float) -> FloatArray:
    """Return the block's displacement, m, for free displacements s of the pusher, m."""
    return np.maximum(0.0, STIFFNESS_N_PER_M * (s - gap_m) / (STIFFNESS_N_PER_M + MASS_KG / h_s**2))


def smoothed_displacement(s: FloatArray, gap_m: float, h_s: float, kappa: float) -> FloatArray:
    """Return the block's displacement of the smoothed step, m.

    The force 2 / (kappa d) at the new gap d moves the block by f h^2 / m and the pusher back by f / K, so that
    d = g - s + (1/K + h^2/m) 2 / (kappa d).
    """
    compliance = 1.0 / STIFFNESS_N_PER_M + h_s**2 / MASS_KG
    half = 0.5 * (gap_m - s)
    root = np.sqrt(half**2 + 2.0 * compliance / kappa)
    d = np.where(half >= 0.0, half + root, 2.0 * compliance / kappa / (root - half))
    return h_s**2 / MASS_KG * 2.0 / (kappa * d)


def _sweep(dynamics: ContactDynamics, q: FloatArray, s: FloatArray) -> FloatArray:
    return np.array([dynamics.step(q, q[1:] + value).q_next[0] - q[0] for value in s])


def pusher_1d(settings: Settings) -> ExampleResult:
    """Sweep the command across the contact, exact and smoothed, and compare with the closed forms."""
    check_allowed(settings, "pusher_1d", FORMULATIONS, 10.0)
    formulation, h_s = settings.formulation or "qp", settings.h_s or H_S
    system = load_system("pusher_1d")
    q = np.array([0.0, -2.0 * RADIUS_M - GAP_M])
    s = np.linspace(-0.02, 0.08, 101)
    exact = _sweep(make_dynamics(system, formulation, h_s, "quasidynamic"), q, s)
    smooth = {kappa: _sweep(ContactDynamics(system, h_s=h_s, kappa=kappa), q, s) for kappa in KAPPAS}
    truth = exact_displacement(s, GAP_M, h_s)
    exact_error = float(np.max(np.abs(exact - truth)))
    smooth_error = max(float(np.max(np.abs(smooth[k] - smoothed_displacement(s, GAP_M, h_s, k)))) for k in KAPPAS)
    # At the corner the smoothed step is off by O(kappa^-1/2), away from it by O(1 / kappa).
    probe = (GAP_M, 0.08)
    gaps = {x: [float(abs(np.interp(x, s, smooth[k] - truth))) for k in KAPPAS] for x in probe}
    orders = {x: float(-np.polyfit(np.log(KAPPAS[1:]), np.log(gaps[x][1:]), 1)[0]) for x in probe}
    figures: dict[str, Any] = {
        "formulation": formulation,
        "h_s": h_s,
        "kappa_per_j": list(KAPPAS),
        "exact_error_m": exact_error,
        "smoothed_error_m": smooth_error,
        "order_at_the_corner": orders[GAP_M],
        "order_in_contact": orders[0.08],
        "difference_at_the_corner_m": gaps[GAP_M],
        "difference_in_contact_m": gaps[0.08],
    }
    corner, contact = orders[GAP_M], orders[0.08]
    rows = [
        _error_row(formulation.upper(), exact_error, EXACT_TOLERANCE_M),
        _error_row("log barrier", smooth_error, SMOOTH_TOLERANCE_M),
        Row("order in 1 / kappa at the corner", f"{corner:.3f}", "0.5 within 0.05", abs(corner - 0.5) < 0.05),
        Row("order in 1 / kappa in contact", f"{contact:.3f}", "1 within 0.05", abs(contact - 1.0) < 0.05),
    ]
    arrays = {"free_displacement_m": s, "exact_m": exact, "exact_closed_form_m": truth}
    arrays |= {f"smoothed_kappa_{k:g}_m": values for k, values in smooth.items()}
    plots = {"pusher_1d": partial(_draw, s, exact, smooth, h_s, formulation)}
    return ExampleResult(rows, figures, arrays, plots, {"pusher_1d": partial(_animate, formulation, q)})


def _animate(formulation: str, q: FloatArray, folder: Path) -> Path:
    """Write a push of the block: the gap, then 60 mm."""
    dynamics = make_dynamics(load_system("pusher_1d"), formulation, PUSH_H_S, "quasidynamic")
    return write_run("pusher_1d", dynamics, q, lambda t: q[1:] + PUSH_M_S * t, PUSH_S, folder)


def _error_row(name: str, error_m: float, tolerance_m: float) -> Row:
    return Row(f"{name} against the closed form", f"{error_m:.1e} m", f"{tolerance_m:.0e} m", error_m < tolerance_m)


def _draw(s: FloatArray, exact: FloatArray, smooth: dict[float, FloatArray], h_s: float, name: str) -> "Figure":
    figure, axes = new_figure(1, 2, f"Pusher and block on a rail, h = {h_s:g} s, gap {1e3 * GAP_M:g} mm", 10.0, 3.4)
    for colour, (kappa, moved) in zip(COLOURS, smooth.items(), strict=False):
        text = f"smoothed, kappa = 1e{np.log10(kappa):.0f} / J"
        axes[0, 0].plot(1e3 * s, 1e3 * moved, color=colour, label=text)
        axes[0, 1].plot(1e3 * s, np.gradient(moved, s), color=colour, label=text)
    axes[0, 0].plot(1e3 * s, 1e3 * exact, "k--", label=f"exact ({name.upper()})")
    axes[0, 1].plot(1e3 * s, np.gradient(exact, s), "k--", label=f"exact ({name.upper()})")
    label(axes[0, 0], "Displacement of the block in a step", "command beyond the pusher, mm", "mm")
    label(axes[0, 1], "Its derivative along the command", "command beyond the pusher, mm", "m / m")
    axes[0, 0].legend()
    return figure
