"""Figures of the pages, from the package's own systems and examples: `make figures` writes docs/images.

With names of examples as arguments, these examples' figures alone.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.examples.plotting import STYLE
from contact_mpc.examples.registry import EXAMPLES, run_example
from contact_mpc.examples.result import Settings
from contact_mpc.model.system_builder import load_system
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


def draw_example(name: str, folder: Path) -> None:
    """Run an example and draw its figures, small enough for a page."""
    with plt.rc_context({**STYLE, "savefig.dpi": 80}):
        for title, draw in run_example(name, Settings()).plots.items():
            draw().savefig(folder / f"{title}.png")


if __name__ == "__main__":
    (IMAGES / "talks").mkdir(parents=True, exist_ok=True)
    for example in sys.argv[1:] or OF_THE_TALKS:
        draw_example(example, IMAGES / "talks")
    if sys.argv[1:]:
        sys.exit()
    draw_smoothing(IMAGES / "smoothing.png")
    draw_derivatives(IMAGES / "derivatives.png")
