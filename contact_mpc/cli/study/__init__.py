"""``contact-mpc study``: questions answered by many runs, each in its own file, imported when it is called.

Trials and their statistics stand in `evaluation`, not here.
"""

import typer

from contact_mpc.cli.frame.lazy import Command, build_group, first_word

STUDIES: dict[str, Command] = {
    "execution": Command(
        "contact_mpc.cli.study.execution", "Plans through contact executed in a plant: open loop, tracked, replanned."
    ),
    "generality": Command("contact_mpc.cli.study.generality", "Hands x objects: grasp search, plan, disturbed turns."),
    "metric": Command("contact_mpc.cli.study.metric", "Coverage of trees: local metric, global metric, no grasps."),
    "penalty_grasp": Command(
        "contact_mpc.cli.study.penalty_grasp", "Grasps by penalty forces and in Bullet; energy over their parameters."
    ),
    "push": Command(
        "contact_mpc.cli.study.push", "Perturbed pushes without and with planning again: errors, hits, figures."
    ),
    "smoothing": Command("contact_mpc.cli.study.smoothing", "Smoothed, exact and randomized gradients: time and cost."),
    "tracking": Command(
        "contact_mpc.cli.study.tracking", "Ablation and sensitivity of the tracking loop; comparison of controllers."
    ),
}


def build_app(arguments: list[str]) -> typer.Typer:
    """Return the group of studies with the one imported that `arguments` name."""
    return build_group(STUDIES, first_word(arguments), prefix="study ", help="Study the method by many runs.")
