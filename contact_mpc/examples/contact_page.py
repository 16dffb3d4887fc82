"""A page with a robot that can be turned, the contacts that are true, and the minima that explain them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.estimation.contact_location.hypothesis import Hypothesis
from contact_mpc.estimation.contact_location.random_contacts import TrueContact
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.model.system import System
from contact_mpc.report.page import write_text
from contact_mpc.report.scene.animation import rod, scene_of_configurations
from contact_mpc.report.shown_page import render_animation
from contact_mpc.settings.arrays import FloatArray

IDENTITY = [1.0, 0.0, 0.0, 0.0]
HYPOTHESIS_COLOURS = ((0.0, 0.45, 0.7), (0.9, 0.62, 0.0), (0.0, 0.62, 0.45), (0.8, 0.47, 0.65), (0.34, 0.7, 0.91))
TRUE_COLOUR = (0.84, 0.1, 0.1)
KNOB_SHARE, ROD_SHARE = 0.006, 0.12  # of the robot's size


@dataclass(frozen=True)
class Scene:
    """A system at q (n_q,) with hypotheses and true contacts."""

    system: System
    q: FloatArray
    hypotheses: list[Hypothesis]
    truths: list[TrueContact]


def write_page(name: str, caption: str, scene: Scene, folder: Path) -> Path:
    """Write NAME.html into a folder; return its path."""
    return write_text(
        folder / f"{name}.html", render_animation(f"Contact discrimination, {name}", caption, draw(scene))
    )


def draw(scene: Scene) -> dict[str, Any]:
    """Return the scene as the page plays it: the robot stands still, objects are left out."""
    system = scene.system
    places = forward_kinematics(system.tree, scene.q)[1][
        [b for b in range(len(system.tree.parent)) if _is_robot(system, b)]
    ]
    middle = places.mean(axis=0)
    size = float(np.linalg.norm(np.ptp(places, axis=0)))
    goal = (np.array(IDENTITY), middle)
    drawn = scene_of_configurations(system, np.array([0.0, 1.0]), np.stack([scene.q, scene.q]), goal, middle[None])
    for body in drawn["bodies"]:
        if body["is_object"]:
            body["shapes"] = []
    drawn["markers"] = [
        _knob(p, (0.6 + item.likelihood) * KNOB_SHARE * size, HYPOTHESIS_COLOURS[k % len(HYPOTHESIS_COLOURS)])
        for k, item in enumerate(scene.hypotheses)
        for p in item.points
    ]
    for truth in scene.truths:
        drawn["markers"].append(_knob(truth.p, 1.6 * KNOB_SHARE * size, TRUE_COLOUR))
        drawn["markers"].append(_arrow(truth.p, truth.f, ROD_SHARE * size, 0.5 * KNOB_SHARE * size))
    return drawn


def _is_robot(system: System, body: int) -> bool:
    return any(item.body == body and item.owner not in system.object_names for item in system.geometries)


def _knob(p: FloatArray, radius: float, colour: tuple[float, float, float]) -> dict[str, Any]:
    shape = {"kind": "sphere", "size": [radius], "p": [0.0, 0.0, 0.0], "q": IDENTITY}
    return {"body": None, "p": p.tolist(), "q": IDENTITY, "color": [*colour, 1.0], "shapes": [shape]}


def _arrow(p: FloatArray, f: FloatArray, length: float, radius: float) -> dict[str, Any]:
    """Return a rod along f that ends at p."""
    z = f / np.linalg.norm(f)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    R = np.ascontiguousarray(np.column_stack([x, np.cross(z, x), z]))
    pose = {"p": (p - length * z).tolist(), "q": matrix_to_quaternion(R).tolist()}
    return {"body": None, **pose, "color": [*TRUE_COLOUR, 1.0], "shapes": [rod(2, radius, length)]}
