"""The rejected paper: where joint impedance comes to rest in contact, and a command that keeps it passive (seeds/001).

(a) The steady joint angles for a small change of the command solve min 1/2 (dq - dq_cmd)' K (dq - dq_cmd) with
J_f dq = 0. Two fingers touch a held disc without force, and their command goes into and along it: against the nonlinear
equilibrium (`dynamics.analysis.equilibrium`) this is off by the square of the command, since contacts are curved.
(b) Its torque K (dq - dq_cmd) = J_f' f is what the joints feel, off by the square, too.
(c) The passivity tweak: a load that draws energy (a damper) from a pusher whose command swings gets more and more of
it; with the command that pays from a tank (`dynamics.analysis.passive_command`) it gets what was in the tank.
The slides show figures (a) and (b) without numbers; these are ours.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.dynamics.analysis.equilibrium import linearised_equilibrium, solve_equilibrium
from contact_mpc.dynamics.analysis.passive_command import PassiveCommand
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.examples.parallel_gripper import fit_order
from contact_mpc.examples.plotting import BLUE, GREY, ORANGE, RED, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.examples.trajectory import write_run
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES_RAD = np.logspace(-3.0, -0.7, 8)
ORDER_UP_TO_RAD = 0.05
TANK_J, SWING_M, SWING_RAD_S, LOAD_NS_M, H_S, DURATION_S = 0.05, 0.1, 10.0, 20.0, 0.005, 2.0
CLOSED_M = 1e-6
PRESS_S = 2.0  # of the animation
# Planar hand and disc: (y, z, turn) of the disc, joints beside it, and a command that presses on it.
NEAR_Q = (-0.005, 0.356, 0.0, -0.569, -1.240, 0.192, 2.223)
PRESSING_U = (-0.644, -1.348, 0.251, 2.273)
ALONG = (0.3, -0.3, 0.3, -0.3)  # what also moves the fingers over the disc


def touching_fingers() -> tuple[FloatArray, FloatArray]:
    """Return q of the planar hand with both fingers at the disc without force, and a direction (n_a,) into it."""
    system = load_system("planar_hand_ball")
    pressed = solve_equilibrium(system, np.array(NEAR_Q), np.array(PRESSING_U), friction=0.0)
    inwards = np.array(PRESSING_U) - pressed.q[system.n_q_u :]
    way = inwards / np.linalg.norm(inwards) + np.array(ALONG)
    return pressed.q, way / np.linalg.norm(way)


def compare() -> dict[str, FloatArray]:
    """Return errors of angles, rad, and torques, N m, of the linear solution over the size of the command."""
    system = load_system("planar_hand_ball")
    q, inwards = touching_fingers()
    dynamics = ContactDynamics(system, "socp")
    problem = dynamics.assemble(q, q[system.n_q_u :])
    closed = np.flatnonzero(problem.phi < CLOSED_M)
    J_f = np.einsum("ki,kiv->kv", problem.n[closed], problem.J[closed])[:, system.n_v_u :]
    angles, torques, moved = [], [], []
    for size in SIZES_RAD:
        dq_cmd = size * inwards
        dq, force = linearised_equilibrium(system.kp, J_f, dq_cmd)
        exact = solve_equilibrium(system, q, q[system.n_q_u :] + dq_cmd, friction=0.0)
        angles.append(np.abs(dq - (exact.q - q)[system.n_q_u :]).max())
        torques.append(np.abs(J_f.T @ force - exact.torque).max())
        moved.append(np.abs(exact.q - q).max())
    return {"angle_error_rad": np.array(angles), "torque_error_nm": np.array(torques), "moved_rad": np.array(moved)}


def swing(is_governed: bool) -> tuple[FloatArray, FloatArray]:
    """Return the energy that the load has drawn (N,), J, and the command (N,), m, over time."""
    system = load_system("pusher_1d")
    dynamics = ContactDynamics(system, "second_order", h_s=H_S)
    q, v, u = np.array([0.0, -1.0]), np.zeros(2), np.array([-1.0])
    tank, drawn, damped = PassiveCommand(system.kp, TANK_J, TANK_J), [0.0], 0.0
    commands = []
    for k in range(round(DURATION_S / H_S)):
        wanted = np.array([-1.0 + SWING_M * np.sin(SWING_RAD_S * k * H_S)])
        u = tank.advance(u, wanted, q[1:], damped) if is_governed else wanted
        load = -LOAD_NS_M * v[1:]
        result = dynamics.step(q, u, tau_a=load, velocity=v)
        v, q = (result.q_next - q) / H_S, result.q_next
        damped = H_S * float(system.kd @ v[1:] ** 2)
        drawn.append(drawn[-1] - H_S * float(load @ v[1:]))
        commands.append(u[0] + 1.0)
    return np.array(drawn[1:]), np.array(commands)


def steady_state(settings: Settings) -> ExampleResult:
    """Compare angles and torques over the command, then swing with and without a tank."""
    check_allowed(settings, "steady_state", (), 1.0)
    found = compare()
    small = SIZES_RAD <= ORDER_UP_TO_RAD
    orders = [fit_order(SIZES_RAD[small], found[key][small]) for key in ("angle_error_rad", "torque_error_nm")]
    (drawn, command), (governed, governed_command) = swing(False), swing(True)
    rows = [
        Row(f"(a) order of the angles' error, up to {ORDER_UP_TO_RAD:g} rad", f"{orders[0]:.2f}", "2 within 0.15",
            abs(orders[0] - 2.0) < 0.15),
        Row(f"(b) order of the torques' error, up to {ORDER_UP_TO_RAD:g} rad", f"{orders[1]:.2f}", "2 within 0.15",
            abs(orders[1] - 2.0) < 0.15),
        Row("(a) error at a command of 0.05 rad", f"{np.interp(0.05, SIZES_RAD, found['angle_error_rad']):.1e} rad"),
        Row("(c) drawn in 2 s, command as it is", f"{drawn[-1]:.3f} J"),
        Row("(c) drawn in 2 s, with a tank of 0.05 J", f"{governed.max():.4f} J", "0.05 J",
            bool(governed.max() <= TANK_J)),
    ]  # fmt: skip
    figures: dict[str, Any] = {
        "orders": orders, "drawn_j": float(drawn[-1]), "drawn_with_tank_j": float(governed.max()),
        "sizes_rad": SIZES_RAD.tolist(),
    }  # fmt: skip
    arrays = {"sizes_rad": SIZES_RAD, **found, "drawn_j": drawn, "drawn_with_tank_j": governed}
    plots = {"steady_state": partial(_draw, found, (drawn, governed), (command, governed_command))}
    return ExampleResult(rows, figures, arrays, plots, {"steady_state": _write_press})


def _write_press(folder: Path) -> Path:
    """Play (a): fingers that touch the disc are told to go into it, further and further."""
    dynamics = ContactDynamics(load_system("planar_hand_ball"), "socp", h_s=0.02)
    q, inwards = touching_fingers()
    return write_run(
        "steady_state",
        dynamics,
        q,
        lambda t: q[-len(inwards) :] + t / PRESS_S * SIZES_RAD[-1] * inwards,
        PRESS_S,
        folder,
    )


def _draw(
    found: dict[str, FloatArray], drawn: tuple[FloatArray, FloatArray], commands: tuple[FloatArray, FloatArray]
) -> "Figure":
    figure, axes = new_figure(1, 4, "Rest in contact, linear and true; a command that pays for its energy", 13.0, 2.8)
    for axis, key, title, unit in (
        (axes[0, 0], "angle_error_rad", "(a) Error of the angles", "rad"),
        (axes[0, 1], "torque_error_nm", "(b) Error of the torques", "N m"),
    ):
        axis.loglog(SIZES_RAD, found[key], "o-", color=BLUE, label="linear against true")
        axis.loglog(SIZES_RAD, found[key][0] * (SIZES_RAD / SIZES_RAD[0]) ** 2, "--", color=GREY, label="slope 2")
        label(axis, title, "size of the command, rad", unit)
    t = H_S * np.arange(1, len(drawn[0]) + 1)
    for energy, command, colour, name in zip(drawn, commands, (RED, ORANGE), ("as it is", "with a tank"), strict=True):
        axes[0, 2].plot(t, energy, color=colour, label=name)
        axes[0, 3].plot(t, 1e3 * command, color=colour, label=name)
    axes[0, 2].axhline(TANK_J, color=GREY, linestyle="--", linewidth=1, label="tank")
    label(axes[0, 2], "(c) Energy drawn by a load", "time, s", "J")
    label(axes[0, 3], "Its command", "time, s", "mm")
    for axis in axes[0]:
        axis.legend()
    return figure
