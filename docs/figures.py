"""Figures of the pages, from the package's own systems and examples: `make figures` writes docs/images.

With names of figures or examples as arguments, these alone.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import contact_mpc
from contact_mpc.bags.object_track import evaluate_object
from contact_mpc.bags.poses import angles_deg
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.guard import CommandGuard
from contact_mpc.control.bridge.guard.limits import GuardLimits
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.examples.plotting import STYLE
from contact_mpc.examples.registry import EXAMPLES, run_example
from contact_mpc.examples.result import Settings
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.penalty.laws import friction_force
from contact_mpc.plants.penalty.parameters import PenaltyParameters
from contact_mpc.task.task import load_task

IMAGES = Path(__file__).resolve().parent / "images"
RADIUS_M, GAP_M = 0.05, 0.02  # of finger and block, and between them
KAPPAS_PER_J = (1e2, 1e3, 1e4)
OF_THE_TALKS = [name for name in EXAMPLES if ".claims." in EXAMPLES[name].target]


def draw_smoothing(path: Path) -> None:
    """Displacement of the block of `pusher_1d` in one step against the finger's command, exact and smoothed."""
    system = load_system("pusher_1d")
    q = np.array([0.0, -2.0 * RADIUS_M - GAP_M])  # block, finger
    commands = q[1] + np.linspace(-0.02, 0.06, 81)
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    models = [(f"log barrier, kappa = {k:g} / J", ContactDynamics(system, kappa=k)) for k in KAPPAS_PER_J]
    models.append(("socp", ContactDynamics(system, "socp")))
    for label, dynamics in models:
        moved = [1e3 * dynamics.step(q, np.array([command])).q_next[0] for command in commands]
        axes.plot(1e3 * (commands - q[1]), moved, "k--" if label == "socp" else "-", label=label)
    axes.set(xlabel="command of the finger beyond its position, mm", ylabel="displacement of the block, mm")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_derivatives(path: Path) -> None:
    """Largest difference of A, B to central differences against their step, at the start of `allegro_ball`."""
    task = load_task("allegro_ball")
    system, q, u = task.system, task.start_q, task.start_u
    dynamics = ContactDynamics(system, tolerance=1e-12)
    linear, q_next = dynamics.linearize(q, u), dynamics.step(q, u).q_next
    steps, errors = np.logspace(-2, -6, 13), []
    for step in steps:
        columns = []
        for j in range(system.n_a):
            du = np.zeros(system.n_a)
            du[j] = step
            ends = [dynamics.step(q, u + sign * du).q_next for sign in (1.0, -1.0)]
            columns.append((system.difference(q_next, ends[0]) - system.difference(q_next, ends[1])) / (2.0 * step))
        errors.append(np.max(np.abs(np.array(columns).T - linear.B)))
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.loglog(steps, errors, "o-", label="B of allegro_ball")
    axes.loglog(steps, errors[0] * (steps / steps[0]) ** 2, "k:", label="slope 2")
    axes.set(xlabel="step of the central difference, rad", ylabel="largest difference")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_formulations(path: Path) -> None:
    """Displacement of the disc between two fingers in one step against a finger's command, of every formulation."""
    task = load_task("planar_hand_ball")
    system, q = task.system, task.start_q
    changes = np.linspace(-0.15, 0.15, 31)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained", sharex=True)
    for name, style in (("lcp", "-"), ("qp", "--"), ("socp", ":"), ("log_barrier", "-.")):
        dynamics = ContactDynamics(system, name)
        moved = []
        for change in changes:
            u = task.start_u.copy()
            u[0] += change
            q_next = dynamics.step(q, u).q_next
            moved.append(system.object_pose(q_next)[1] - system.object_pose(q)[1])
        for axes, column in ((left, 1), (right, 2)):
            axes.plot(changes, 1e3 * np.array(moved)[:, column], style, label=name)
    left.set(xlabel="change of the left finger's command, rad", ylabel="disc to the side, mm")
    right.set(xlabel="change of the left finger's command, rad", ylabel="disc upwards, mm")
    left.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_order(path: Path) -> None:
    """Distance of the smoothed step to the SOCP's against kappa, at the start of `planar_hand_ball`."""
    task = load_task("planar_hand_ball")
    q, u = task.start_q, task.start_u
    exact = ContactDynamics(task.system, "socp", tolerance=1e-12).step(q, u).q_next
    kappas = np.logspace(2, 7, 11)
    errors = [float(np.abs(ContactDynamics(task.system, kappa=k).step(q, u).q_next - exact).max()) for k in kappas]
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.loglog(kappas, errors, "o-", label="largest difference of q")
    axes.loglog(kappas, errors[-1] * kappas[-1] / kappas, "k:", label="slope -1")
    axes.set(xlabel="kappa, 1/J", ylabel="rad (m)")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_feedback(path: Path) -> None:
    """Error of the disc to its reference in Drake with the tracker and with the plan played back, a wrong plant."""
    task = contact_mpc.load_task("planar_hand_ball")
    plan = task.plan()
    plant = contact_mpc.PlantPerturbation(mass_scale=1.2, friction=0.6, object_offset_m=(0.0, 0.003, 0.0))
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
    for controller in ("tracker", "playback"):
        run = contact_mpc.simulate(task, plan, plant="drake", perturbation=plant, controller=controller, seed=1)
        judged = evaluate_object(run.record, task)
        t_s = (judged.judged.t_ns - judged.start_ns) * 1e-9
        followed = judged.reference.at(judged.judged.t_ns)
        left.plot(t_s, angles_deg(judged.judged.quaternion_wxyz, followed.quaternion_wxyz), label=controller)
        right.plot(t_s, 1e3 * judged.reference_distance_m, label=controller)
    left.set(xlabel="time, s", ylabel="angle to the reference, deg")
    right.set(xlabel="time, s", ylabel="distance to the reference, mm")
    left.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_friction(path: Path) -> None:
    """Friction of the penalty engine over the speed of slip, and the creep of what is held at half the limit."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    speeds, out = np.logspace(-6, -1, 120), np.zeros(3)
    for gamma in (1.0, 1e3, 1e4):
        parameters = PenaltyParameters(scaling_s_per_m=gamma).as_array()
        shares = []
        for speed in speeds:
            friction_force(parameters, 0.5, 2.0, speed, 0.0, 0.0, 1.0, out)
            shares.append(-out[0])
        (line,) = axes.semilogx(1e3 * speeds, shares, label=f"gamma = {gamma:g} s/m")
        creep = np.arctanh(0.5) / gamma
        if creep < speeds[-1]:
            axes.plot(1e3 * creep, 0.5, "o", color=line.get_color())
    axes.axhline(0.5, color="k", linestyle=":", label="load: half the limit")
    axes.set(xlabel="speed of slip, mm/s", ylabel="friction, N (limit 1 N)")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_location(path: Path) -> None:
    """All places on an iiwa that explain its external torques, as the page's own example has them."""
    system, q = load_system("iiwa_box"), np.array([0.2, 0.6, 0.3, -1.3, 0.4, 0.9, 0.1])
    tau = np.array([-1.38, -7.97, -0.48, 5.9, -1.13, 0.02, 0.07])
    (arm,) = ContactLocator(system).locate(q, tau)
    whole = system.q_default.copy()
    whole[system.n_q_u :] = q
    joints = forward_kinematics(system.tree, whole)[1][-len(q) :]
    figure, axes = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
    axes.plot(joints[:, 0], joints[:, 2], "o-", color="0.7", label="joints of the arm")
    for item in arm.hypotheses:
        (dots,) = axes.plot(
            item.points[:, 0], item.points[:, 2], ".", label=f"{item.link}: {100 * item.likelihood:.0f} %"
        )
        tip = item.points[0] + 0.01 * item.forces[0]
        axes.annotate("", (tip[0], tip[2]), (item.points[0, 0], item.points[0, 2]),
                      arrowprops={"arrowstyle": "->", "color": dots.get_color()})  # fmt: skip
    axes.set(xlabel="x, m", ylabel="z, m", aspect="equal")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_guard(path: Path) -> None:
    """What the guard lets pass of a jump of the command, and of one of the torque: Allegro, its first joint."""
    system, dt_s = load_system("allegro_ball"), 1e-3
    limits = GuardLimits.from_config(system, BridgeConfig(gravity_compensation="robot"))
    guard, n = CommandGuard(limits, system.joint_names), system.n_a
    guard.start_from(0.5 * (system.q_min + system.q_max), np.zeros(n))
    start, asked = guard.u.copy(), guard.u + 0.04
    torque = np.full(n, 2.0 * float(system.tau_max_nm[0]))
    sent, sent_nm = [], []
    for _ in range(60):
        guard.pass_setpoint(asked, np.zeros(n), np.zeros(n), dt_s)
        guard.pass_torque(torque, dt_s)
        sent.append(guard.u[0] - start[0])
        sent_nm.append(guard.tau[0])
    t_ms = np.arange(1, 61)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
    left.plot(t_ms, sent, label="sent")
    left.axhline(asked[0] - start[0], color="k", linestyle=":", label="asked")
    left.set(xlabel="time, ms", ylabel="change of the command, rad")
    right.plot(t_ms, sent_nm, label="sent")
    right.axhline(torque[0], color="k", linestyle=":", label="asked")
    right.axhline(limits.tau_max[0], color="C3", linestyle="--", label="limit")
    right.set(xlabel="time, ms", ylabel="torque, N m")
    left.legend(frameon=False)
    right.legend(frameon=False)
    figure.savefig(path, dpi=120)


OF_THE_CONCEPTS = {
    "smoothing": draw_smoothing, "derivatives": draw_derivatives, "formulations": draw_formulations,
    "order": draw_order, "feedback": draw_feedback, "friction": draw_friction, "location": draw_location,
    "guard": draw_guard,
}  # fmt: skip


def draw_example(name: str, folder: Path) -> None:
    """Run an example and draw its figures, small enough for a page."""
    with plt.rc_context({**STYLE, "savefig.dpi": 80}):
        for title, draw in run_example(name, Settings()).plots.items():
            draw().savefig(folder / f"{title}.png")


if __name__ == "__main__":
    (IMAGES / "talks").mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or [*OF_THE_CONCEPTS, *OF_THE_TALKS]:
        if name in OF_THE_CONCEPTS:
            OF_THE_CONCEPTS[name](IMAGES / f"{name}.png")
        else:
            draw_example(name, IMAGES / "talks")
