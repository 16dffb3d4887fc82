"""A task from a robot, an object and a turn: a system file and a task file of at most twenty lines each."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from contact_mpc.errors import ConfigError
from contact_mpc.importing.objects import NewObject, make_object, write_object
from contact_mpc.importing.placement import place_object
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.robot import import_robot
from contact_mpc.importing.robot_source import SUFFIXES
from contact_mpc.importing.system_file import system_text, write_text
from contact_mpc.model.fingertips import last_links
from contact_mpc.model.system_builder import build_system, load_system
from contact_mpc.model.system_config import SystemConfig
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml, validate

DEG_PER_S = 10.0
LEAST_DURATION_S, HOLD_S = 2.0, 2.0
TOLERANCE_DEG, TOLERANCE_MM = 5.0, 5.0


@dataclass(frozen=True)
class NewTask:
    """What was written, and what was assumed for it."""

    task_file: Path
    system_file: Path
    item: NewObject
    position_m: tuple[float, float, float]
    assumptions: tuple[str, ...]


def read_turn(text: str) -> tuple[tuple[float, float, float], float]:
    """Return axis and angle (deg) of AXIS:DEG, e.g. z:30 or -y:20."""
    name, _, number = text.partition(":")
    axis = {"x": 0, "y": 1, "z": 2}.get(name.lstrip("+-"))
    try:
        angle = float(number)
    except ValueError:
        angle = np.nan
    if axis is None or not 0.0 < abs(angle) <= 180.0:
        raise ConfigError(
            f"--turn {text}: expected AXIS:DEG with an axis x, y or z of the world and up to 180, e.g. z:30"
        )
    x, y, z = (-1.0 if name.startswith("-") else 1.0) * np.eye(3)[axis] + 0.0
    return (float(x), float(y), float(z)), angle


def new_task(
    robot: str, thing: str, turn: str, name: str, into: Path, mass_kg: float | None, options: JointOptions, seed: int
) -> NewTask:
    """Write the system and the task of turning an object with a robot, and the object's URDF; import the robot first.

    Raises
    ------
    ConfigError, ModelError
        What was asked for cannot be; one line that names the file and what to do.
    """
    axis, angle = read_turn(turn)
    item = make_object(thing, mass_kg)
    robots_file, notes = _robot_system(robot, into, options)
    robots = _robots(robots_file, into)
    name = name or f"{robots[0]['name']}_{item.name}"
    system_file, task_file = into / f"{name}_system.yaml", into / f"{name}.yaml"
    write_object(item, into)
    config = validate(
        SystemConfig, {"name": name, "friction": {"default": 1.0}, "robots": robots, "objects": []}, "robots"
    )
    alone = build_system(config, system_file)
    tips = tuple(robots[0].get("fingertips") or last_links(alone, robots[0]["name"]))
    x, y, z = place_object(alone, robots[0]["name"], tips, item.half_extent_m, seed)
    place = (float(x), float(y), float(z))
    lines = [f"  - {{name: {item.name}, urdf: {item.name}.urdf, mobility: free, position_m: {list(place)}}}"]
    heading = f"Robot and {item.name} of `contact-mpc new task`: the {item.name} lies where the fingertips reach it."
    write_text(system_file, system_text(name, heading, _robot_lines(robots), lines, ()))
    load_system(system_file)
    write_text(task_file, _task_text(name, system_file.name, item, axis, angle))
    notes += [item.note] if item.note else []
    return NewTask(task_file, system_file, item, place, tuple(notes))


def _robot_system(robot: str, into: Path, options: JointOptions) -> tuple[Path, list[str]]:
    """Return the system file of a robot: given as such, by its name in config/systems, or imported now."""
    if robot.endswith((".yaml", ".yml")) or not (":" in robot or robot.endswith(SUFFIXES)):
        return resource("systems", robot), []
    found = import_robot(robot, "", into, options)
    return found.system_file, list(found.assumptions)


def _robots(system_file: Path, into: Path) -> list[dict[str, Any]]:
    """Return the robots of a system file, with paths that hold from the folder `into`."""
    robots = list(read_yaml(system_file).get("robots", []))
    for robot in robots:
        beside = system_file.parent / str(robot.get("urdf", ""))
        if beside.is_file():
            robot["urdf"] = os.path.relpath(beside.resolve(), into.resolve())
    if not robots:
        raise ConfigError(f"{system_file}: no robots in it")
    return robots


def _robot_lines(robots: list[dict[str, Any]]) -> list[str]:
    lines = []
    for robot in robots:
        for index, (key, value) in enumerate(robot.items()):
            lines.append(("  - " if index == 0 else "    ") + f"{key}: {_flow(value)}")
    return lines


def _flow(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=100000).splitlines()[0]


def _task_text(name: str, system: str, item: NewObject, axis: tuple[float, float, float], angle: float) -> str:
    duration = max(LEAST_DURATION_S, round(abs(angle) / DEG_PER_S, 1))
    return "\n".join([
        "# Written by `contact-mpc new task`. Its start comes from `contact-mpc plan THIS_FILE --grasp --write`.",
        f"name: {name}",
        f"description: turn a {item.name} of {1e3 * item.mass_kg:.0f} g by {angle:g} degrees",
        f"system: {system}",
        f"goal: {{rotation_axis: {list(axis)}, rotation_deg: {angle:g}}}   # axis of the world",
        f"duration_s: {duration}",
        f"hold_s: {HOLD_S}",
        f"tolerance_deg: {TOLERANCE_DEG}",
        f"tolerance_mm: {TOLERANCE_MM}",
    ]) + "\n"  # fmt: skip
