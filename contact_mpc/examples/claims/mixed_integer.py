"""A global piecewise-affine controller on small systems, and how it scales (seeds/003, "Global PWA Formulation").

A pusher 2 cm from a block shall bring it to 3 cm: the program over all contact modes finds the optimum, 2^T pieces for
T steps of one contact. The tracker's local problem (one smoothed linearisation per iteration) is given the same task;
its commands, played through the same exact model, cost a little more. On the planar hand with a
disc (two contacts, four rays) the pieces are 16^T, and the solver takes 30 to 400 ms for 1 to 8 steps: too slow for
control, fast enough to judge by.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.control.tracking.comparison.complementarity_model import Lineariser
from contact_mpc.control.tracking.comparison.mixed_integer import (
    MixedIntegerPlan,
    MixedIntegerProblem,
    solve_mixed_integer,
)
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.examples.plotting import BLUE, GREY, ORANGE, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WANTED_M, STEPS, MOST_COMMAND_M = 0.03, 5, -0.065  # the pusher's tip at 5 mm less than the goal, by itself
PUSHER_Q = np.array([0.0, -0.12])
HAND_Q = np.array([-0.005, 0.356, 0.0, -0.5606, -1.2576, 0.1893, 2.2652])
HAND_STEPS, TURN_RAD, REACH_RAD, LIMIT_S = (1, 2, 4, 6, 8), 0.1, 0.3, 10.0
MOST_N, MOST_M = 200.0, 1.0


def push(T: int) -> MixedIntegerPlan:
    """Bring the block to WANTED_M within T steps."""
    system = load_system("pusher_1d")
    lcs = Lineariser(system, ContactDynamics(system).model, 4, MOST_M, 0.0).linearise(PUSHER_Q)
    error = np.full((T, 1), -WANTED_M)
    problem = MixedIntegerProblem(error, np.ones(1), np.array([-0.3]), np.array([MOST_COMMAND_M]), MOST_N, MOST_M)
    return solve_mixed_integer(lcs, problem)


def greedy_cost(T: int) -> float:
    """Return what a command held at the limit of one step of the smoothed model's choice costs in the exact model.

    Per step the command that brings the block nearest to its goal by the linearisation at the present state, with the
    trust of one gap: what a local controller does.
    """
    system = load_system("pusher_1d")
    smoothed, exact = ContactDynamics(system, kappa=1e4), ContactDynamics(system, "qp")
    q, u, cost = PUSHER_Q.copy(), PUSHER_Q[1:].copy(), 0.0
    for _ in range(T):
        for _ in range(10):  # Gauss-Newton on the next state alone
            linear = smoothed.linearize(q, u)
            step = (WANTED_M - linear.step.q_next[0]) / max(linear.B[0, 0], 1e-3)
            u = np.clip(u + np.clip(step, -0.02, 0.02), -0.3, MOST_COMMAND_M)
        q = exact.step(q, u).q_next
        cost += abs(q[0] - WANTED_M)
    return cost


def turn(T: int) -> tuple[MixedIntegerPlan, int]:
    """Turn the disc in the planar hand; return the plan and the rays."""
    system = load_system("planar_hand_ball")
    lcs = Lineariser(system, ContactDynamics(system).model, 4, 0.03, 1e-3).linearise(HAND_Q)
    error = np.zeros((T, 3))
    error[:, 2] = -TURN_RAD * np.arange(1, T + 1) / T
    u = HAND_Q[3:]
    problem = MixedIntegerProblem(error, np.ones(3), u - REACH_RAD, u + REACH_RAD, MOST_N, MOST_M)
    return solve_mixed_integer(lcs, problem, LIMIT_S), len(lcs.c)


def timed(solve: Any, T: int) -> tuple[Any, float]:
    """Return what solve(T) gives and its CPU time, s."""
    began = time.process_time()
    found = solve(T)
    return found, time.process_time() - began


def mixed_integer(settings: Settings) -> ExampleResult:
    """Push to optimality, compare, and count time over the horizon."""
    check_allowed(settings, "mixed_integer", (), 1.0)
    push(1)  # loads the solver
    pushes = [timed(push, T) for T in range(1, STEPS + 1)]
    turns = [timed(turn, T) for T in HAND_STEPS]
    plan, local = pushes[-1][0], greedy_cost(STEPS)
    exact, q, off = ContactDynamics(load_system("pusher_1d"), "qp"), PUSHER_Q, 0.0
    for u, x in zip(plan.u, plan.x, strict=True):
        q = exact.step(q, u).q_next
        off = max(off, float(np.abs(q - PUSHER_Q - x).max()))
    rays = turns[0][0][1]
    pieces = [2.0 ** (rays * T) for T in HAND_STEPS]
    rows = [
        Row("push: optimum proven, no limit met", str(plan.is_optimal and not plan.is_cut), "True",
            plan.is_optimal and not plan.is_cut),
        Row("push: plan off the exact model", f"{off:.1e} m", "1e-6 m", off < 1e-6),
        Row("push: sum of errors, global", f"{1e3 * plan.cost:.3f} mm"),
        Row("push: the same, one smoothed step at a time", f"{1e3 * local:.3f} mm", "not below the global",
            local >= plan.cost - 1e-6),
        Row("push: CPU at T = 1 to 5", ", ".join(f"{1e3 * t:.0f}" for _, t in pushes) + " ms"),
        *(
            Row(f"disc: T = {T}, {rays} rays, {count:.0e} pieces",
                f"{1e3 * t:.0f} ms, {found.nodes} nodes, {'optimal' if found.is_optimal else 'not proven'}")
            for T, count, ((found, _), t) in zip(HAND_STEPS, pieces, turns, strict=True)
        ),
    ]  # fmt: skip
    figures: dict[str, Any] = {
        "push_cost_m": plan.cost, "local_cost_m": local, "push_cpu_s": [t for _, t in pushes], "rays": rays,
        "disc_cpu_s": [t for _, t in turns], "disc_nodes": [found[0].nodes for found, _ in turns],
        "disc_optimal": [found[0].is_optimal for found, _ in turns],
    }  # fmt: skip
    arrays = {"push_u_m": plan.u, "push_x_m": plan.x, "push_closed": plan.closed.astype(float)}
    times = (np.array([t for _, t in pushes]), np.array([t for _, t in turns]))
    return ExampleResult(rows, figures, arrays, {"mixed_integer": partial(_draw, plan, times, rays)})


def _draw(plan: MixedIntegerPlan, times: tuple[FloatArray, FloatArray], rays: int) -> "Figure":
    figure, axes = new_figure(1, 2, "All contact modes at once: a mixed-integer program by HiGHS", 10.0, 2.8)
    steps = np.arange(1, len(plan.x) + 1)
    axes[0, 0].plot(steps, 1e3 * plan.x[:, 0], "o-", color=BLUE, label="block")
    axes[0, 0].plot(steps, 1e3 * (plan.x[:, 1] - 20.0e-3), "o-", color=ORANGE, label="pusher's tip")
    axes[0, 0].axhline(1e3 * WANTED_M, color=GREY, linestyle="--", label="goal")
    label(axes[0, 0], "Optimal push", "step", "mm")
    axes[0, 1].semilogy(steps, 1e3 * times[0], "o-", color=BLUE, label="pusher and block, 2^T pieces")
    axes[0, 1].semilogy(HAND_STEPS, 1e3 * times[1], "o-", color=ORANGE, label=f"planar hand, 2^({rays} T) pieces")
    axes[0, 1].axhline(1e3 / 240.0, color=GREY, linestyle="--", label="240 Hz")
    label(axes[0, 1], "CPU time of the solver", "horizon, steps", "ms")
    for axis in axes[0]:
        axis.legend()
    return figure
