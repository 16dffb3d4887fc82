"""Among all motions the least: the step over the fraction epsilon of inertia that objects keep (seeds/003).

Pusher and block on a rail: with the spring alone the block may be anywhere on the pusher's far side; epsilon M_u / h^2
makes the cost definite, and the block moves by K (s - g) / (K + epsilon m / h^2). epsilon = 1 is Mason's quasi-dynamic
step. The other end: Q's condition number grows as 1 / epsilon, and the weight of a ball on the ground that the
regularisation carries in place of the contact shrinks as epsilon.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.examples.film import write_animation
from contact_mpc.examples.parallel_gripper import fit_order
from contact_mpc.examples.plotting import BLUE, GREY, ORANGE, label, new_figure
from contact_mpc.examples.pusher_1d import (
    GAP_M,
    H_S,
    MASS_KG,
    PUSH_H_S,
    PUSH_M_S,
    PUSH_S,
    RADIUS_M,
    STIFFNESS_N_PER_M,
)
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.examples.trajectory import simulate
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("qp", "socp", "lcp")
EPSILONS = np.logspace(-9, 0, 19)
FREE_M = 0.05  # displacement of the pusher's command
TOLERANCE_M = 1e-7
SHOWN = {"regularization_default": 1e-6, "regularization_mason": 1.0}  # pages, and their epsilon


def block_displacement(epsilon: FloatArray, h_s: float) -> FloatArray:
    """Return K (s - g) / (K + epsilon m / h^2), m."""
    return np.asarray(STIFFNESS_N_PER_M * (FREE_M - GAP_M) / (STIFFNESS_N_PER_M + epsilon * MASS_KG / h_s**2))


def regularization(settings: Settings) -> ExampleResult:
    """Sweep epsilon."""
    check_allowed(settings, "regularization", FORMULATIONS, 10.0)
    formulation, h_s = settings.formulation or "qp", settings.h_s or H_S
    system = load_system("pusher_1d")
    q = np.array([0.0, -2.0 * RADIUS_M - GAP_M])
    moved, condition, left = [], [], []
    for epsilon in EPSILONS:
        dynamics = ContactDynamics(system, formulation, h_s=h_s, regularization="quasistatic", epsilon=float(epsilon))
        result = dynamics.step(q, q[1:] + FREE_M)
        moved.append(result.q_next[0])
        condition.append(np.linalg.cond(dynamics.assemble(q, q[1:]).Q))
        # What the contact presses with and nothing but epsilon's inertia balances.
        left.append(np.linalg.norm(result.impulses[0]) / h_s)
    moved_m, condition_of_Q, unbalanced_n = np.array(moved), np.array(condition), np.array(left)
    error = float(np.abs(moved_m - block_displacement(EPSILONS, h_s)).max())
    small = (EPSILONS > 1e-7) & (EPSILONS < 1e-3)
    lag_m = FREE_M - GAP_M - moved_m
    order = fit_order(EPSILONS[small], lag_m[small])
    force_order = fit_order(EPSILONS[small], unbalanced_n[small])
    rows = [
        Row(f"{formulation.upper()} against the closed form", f"{error:.1e} m", "1e-7 m", error < TOLERANCE_M),
        Row("order of what the block lags, in epsilon", f"{order:.3f}", "1 within 0.02", abs(order - 1.0) < 0.02),
        Row("order of the force that nothing else balances", f"{force_order:.3f}", "1 within 0.02",
            abs(force_order - 1.0) < 0.02),
        Row("lag at epsilon = 1e-6 (default), of the push", f"{lag_m[6] / (FREE_M - GAP_M):.1e}"),
        Row("lag at epsilon = 1 (Mason), of the push", f"{lag_m[-1] / (FREE_M - GAP_M):.2f}"),
        Row("condition of Q at 1e-9, 1e-6, 1", ", ".join(f"{condition_of_Q[k]:.1e}" for k in (0, 6, -1))),
    ]  # fmt: skip
    figures: dict[str, Any] = {
        "formulation": formulation, "h_s": h_s, "error_m": error, "order_of_lag": order, "order_of_force": force_order,
    }  # fmt: skip
    arrays = {
        "epsilon": EPSILONS,
        "displacement_m": moved_m,
        "condition": condition_of_Q,
        "unbalanced_force_n": unbalanced_n,
    }
    pages = {name: partial(_write_push, name, epsilon, formulation, q) for name, epsilon in SHOWN.items()}
    return ExampleResult(rows, figures, arrays, {"regularization": partial(_draw, arrays, h_s)}, pages)


def _write_push(name: str, epsilon: float, formulation: str, q: FloatArray, folder: Path) -> Path:
    """Play a steady push: what the contact presses with is what inertia takes, less of it the smaller epsilon is."""
    dynamics = ContactDynamics(
        load_system("pusher_1d"), formulation, h_s=PUSH_H_S, regularization="quasistatic", epsilon=epsilon
    )
    run = simulate(dynamics, q, lambda t: q[1:] + PUSH_M_S * t, PUSH_S, keep_unbalanced=True)
    return write_animation(name, dynamics.system, run, folder)


def _draw(found: dict[str, FloatArray], h_s: float) -> "Figure":
    figure, axes = new_figure(1, 3, "Pusher and block: how much inertia an object keeps", 11.0, 2.8)
    epsilon = found["epsilon"]
    axes[0, 0].semilogx(epsilon, 1e3 * found["displacement_m"], "o", color=BLUE, label="steps")
    axes[0, 0].semilogx(epsilon, 1e3 * block_displacement(epsilon, h_s), color=GREY, label="closed form")
    label(axes[0, 0], "Displacement of the block", "epsilon", "mm")
    axes[0, 1].loglog(epsilon, found["unbalanced_force_n"], "o-", color=ORANGE, label="force on the block")
    label(axes[0, 1], "Force that inertia alone balances", "epsilon", "N")
    axes[0, 2].loglog(epsilon, found["condition"], "o-", color=BLUE, label="of Q")
    label(axes[0, 2], "Condition number", "epsilon", "")
    axes[0, 0].legend()
    return figure
