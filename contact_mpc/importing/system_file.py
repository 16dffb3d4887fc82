"""System files that a person can read, in the schema of config/systems: at most twenty lines, units in the keys."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import yaml

from contact_mpc.importing.proposals import Gains
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class RobotPart:
    """The robot of a system file: URDF beside the file, base, gains per joint, fingertips."""

    name: str
    urdf: str
    base_rpy_rad: tuple[float, float, float]
    gains: Gains
    default_joints_rad: dict[str, float]
    fingertips: tuple[str, ...]


@dataclass(frozen=True)
class TaskPart:
    """What a kind of task adds to its files: where the object lies (m, rad) and in words, lines of both files.

    has_start tells whether `lines` have a start, or a search has to find it.
    """

    position_m: list[float]
    where: str
    lines: list[str]
    settings: tuple[str, ...] = ()
    has_start: bool = False


def robot_lines(part: RobotPart) -> list[str]:
    """Return the lines of one robot."""
    gains = part.gains
    return [
        f"  - name: {_word(part.name)}",
        f"    urdf: {_word(part.urdf)}",
        f"    base_rpy_rad: {_list(part.base_rpy_rad)}",
        f"    joint_stiffness_nm_per_rad: {_gain(gains.stiffness)}   # proposed from the effort limits",
        f"    joint_damping_nms_per_rad: {_gain(gains.damping)}   # proposed, above critical",
        f"    joint_reflected_inertia_kg_m2: {_gain(gains.rotor)}   # assumed; physics engines only",
        f"    default_joints_rad: {_flow(part.default_joints_rad)}",
        f"    fingertips: {_flow(list(part.fingertips))}",
    ]


def system_text(name: str, heading: str, robots: Iterable[str], objects: Iterable[str], settings: Iterable[str]) -> str:
    """Return the text of a system file."""
    objects = list(objects)
    return "\n".join([
        f"# {heading} SI units; every key carries its unit.",
        f"name: {_word(name)}",
        *settings,
        "friction: {default: 1.0}",
        "robots:",
        *robots,
        *(["objects:", *objects] if objects else ["objects: []   # `contact-mpc new task` adds one"]),
    ]) + "\n"  # fmt: skip


def default_posture(system: System) -> dict[str, float]:
    """Return the middle of every joint's range, rad (m), by name."""
    middle = 0.5 * (system.q_min + system.q_max)
    return {name: round(float(value), 4) for name, value in zip(system.joint_names, middle, strict=True)}


def _word(text: str) -> str:
    return yaml.safe_dump(text, width=1000).splitlines()[0]


def _flow(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=100000).strip()


def _list(values: Iterable[float]) -> str:
    return _flow([round(float(value), 6) + 0.0 for value in values])


def _gain(values: FloatArray) -> str:
    """Return one number where all joints have the same."""
    plain = [float(value) for value in values]
    return repr(plain[0]) if np.ptp(values) == 0.0 else _flow(plain)
