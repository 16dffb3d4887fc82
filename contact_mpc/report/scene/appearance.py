"""Fingers and colours: which joints belong together, and the same colour for a finger in plots and animation."""

from dataclasses import dataclass
from os.path import commonprefix

import numpy as np

from contact_mpc.model.system import System

FINGER_COLOURS = ("#3b6fb6", "#2a9d74", "#8e5bb5", "#c2703d", "#b23a6b", "#5b7f95", "#7d8a2e", "#a0522d")
BASE_COLOUR = "#4a4f57"
OBJECT_COLOUR = "#d1495b"
LIGHTEN_PER_LINK = 0.13


@dataclass(frozen=True)
class Finger:
    """A chain of actuated joints that starts at the base of a robot.

    Attributes
    ----------
    name : str
        What the names of its joints have in common, or the first of them.
    joints : tuple of int
        Indices in q_a, from the base outwards.
    colour : str
        "#rrggbb".
    """

    name: str
    joints: tuple[int, ...]
    colour: str


def fingers(system: System) -> tuple[Finger, ...]:
    """Return the fingers (or arms) of the system's robots in the order of q_a."""
    roots: dict[int, list[int]] = {}
    for joint in range(system.n_a):
        roots.setdefault(root_body(system, joint_body(system, joint)), []).append(joint)
    return tuple(
        Finger(_name([system.joint_names[joint] for joint in joints]), tuple(joints), _colour(index))
        for index, joints in enumerate(roots.values())
    )


def link_colour(system: System, owner: str, body: int) -> tuple[float, float, float]:
    """Return the colour (r, g, b), 0 to 1, of what `owner` has on a body: lighter the further out on a finger."""
    if owner in system.object_names:
        return rgb(OBJECT_COLOUR)
    if body < 0:
        return rgb(BASE_COLOUR)
    root = root_body(system, body)
    index = next(
        i for i, finger in enumerate(fingers(system)) if root_body(system, joint_body(system, finger.joints[0])) == root
    )
    depth = int(system.tree.chain_count[body]) - 1
    white = min(0.6, LIGHTEN_PER_LINK * depth)
    r, g, b = (value + white * (1.0 - value) for value in rgb(_colour(index)))
    return r, g, b


def joint_body(system: System, joint: int) -> int:
    """Return the body that an actuated joint moves."""
    return int(system.tree.dof_body[system.n_v_u + joint])


def root_body(system: System, body: int) -> int:
    """Return the first moving body on the way from the world to `body`."""
    while system.tree.parent[body] >= 0:
        body = int(system.tree.parent[body])
    return body


def rgb(colour: str) -> tuple[float, float, float]:
    """Return (r, g, b), 0 to 1, of "#rrggbb"."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue


def shades(colour: str, count: int) -> list[str]:
    """Return `count` colours from dark to light around one, for the joints of a finger."""
    mixed = []
    for t in np.linspace(-0.45, 0.5, count) if count > 1 else np.zeros(1):
        towards = 0.0 if t < 0.0 else 1.0
        mixed.append("#" + "".join(f"{round(255 * (v + abs(t) * (towards - v))):02x}" for v in rgb(colour)))
    return mixed


def _colour(index: int) -> str:
    return FINGER_COLOURS[index % len(FINGER_COLOURS)]


def _name(names: list[str]) -> str:
    return commonprefix(names).rstrip("_0123456789. ") or names[0]
