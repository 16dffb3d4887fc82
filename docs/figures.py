"""Figures of the concept pages, from the package's own systems: `make figures` writes docs/images/*.png."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.model.system_builder import load_system
from contact_mpc.task.task import load_task

IMAGES = Path(__file__).resolve().parent / "images"
KAPPAS_PER_J = (1e2, 1e3, 1e4)


def draw_smoothing(path: Path) -> None:
    """Displacement of the block of `pusher_1d` in one step against the finger's command, exact and smoothed."""
    system = load_system("pusher_1d")
    q = system.q_default
    commands = q[system.n_q_u] + np.linspace(-0.02, 0.06, 81)
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    models = [(f"log barrier, kappa = {k:g} / J", ContactDynamics(system, kappa=k)) for k in KAPPAS_PER_J]
    models.append(("socp", ContactDynamics(system, "socp")))
    for label, dynamics in models:
        moved = []
        for command in commands:
            u = q[system.n_q_u :].copy()
            u[0] = command
            moved.append(1e3 * system.difference(q, dynamics.step(q, u).q_next)[0])
        axes.plot(1e3 * (commands - q[system.n_q_u]), moved, "k--" if label == "socp" else "-", label=label)
    axes.set(xlabel="command of the finger beyond its position, mm", ylabel="displacement of the block, mm")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def draw_derivatives(path: Path) -> None:
    """Largest difference of A, B to central differences against their step, at the start of `allegro_ball`."""
    task = load_task("allegro_ball")
    system, q, u = task.system, task.start_q, task.start_u
    dynamics = ContactDynamics(system, tolerance=1e-12)
    linear = dynamics.linearize(q, u)
    steps, errors = np.logspace(-2, -7, 16), []
    for step in steps:
        columns = []
        for j in range(system.n_a):
            du = np.zeros(system.n_a)
            du[j] = step
            ends = [dynamics.step(q, u + sign * du).q_next for sign in (1.0, -1.0)]
            columns.append((system.difference(q, ends[0]) - system.difference(q, ends[1])) / (2.0 * step))
        errors.append(np.max(np.abs(np.array(columns).T - linear.B)))
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.loglog(steps, errors, "o-", label="B of allegro_ball")
    axes.loglog(steps, errors[0] * (steps / steps[0]) ** 2, "k:", label="slope 2")
    axes.set(xlabel="step of the central difference, rad", ylabel="largest difference")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    draw_smoothing(IMAGES / "smoothing.png")
    draw_derivatives(IMAGES / "derivatives.png")
