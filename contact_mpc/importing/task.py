"""A task from a robot, an object and a turn: a system file and a task file of at most twenty lines each."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from contact_mpc.errors import ConfigError
from contact_mpc.importing.arms.push import read_push
from contact_mpc.importing.arms.push_part import push_part
from contact_mpc.importing.objects import NewObject, make_object, write_object
from contact_mpc.importing.placement import place_object
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.robot import import_robot
from contact_mpc.importing.robot_source import SUFFIXES, find_robot_file
from contact_mpc.importing.system_file import TaskPart, system_text
from contact_mpc.model.fingertips import fingertips_of
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import build_system, load_system
from contact_mpc.model.system_config import SystemConfig
from contact_mpc.settings.file_access import write_text
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml, validate

USUAL_TURN, ANY = "z:30", "any"
DEG_PER_S = 10.0
LEAST_DURATION_S, HOLD_S = 2.0, 2.0
TOLERANCE_DEG, TOLERANCE_MM = 5.0, 5.0
NEAR_M = 0.03  # a contact gives 7 mN there, but an object of many parts has thousands of them


@dataclass(frozen=True)
class NewTask:
    """What was written, and what was assumed for it."""

    task_file: Path
    system_file: Path
    item: NewObject
    position_m: tuple[float, float, float]
    assumptions: tuple[str, ...]
    has_start: bool


def read_turn(text: str) -> tuple[tuple[float, float, float], float]:
    """Return axis and angle (deg) of AXIS:DEG, e.g. z:30 or -y:20; of any:DEG zeros in place of the axis."""
    name, _, number = text.partition(":")
    axis = {"x": 0, "y": 1, "z": 2, ANY: 3}.get(name.lstrip("+-"))
    try:
        angle = float(number)
    except ValueError:
        angle = np.nan
    if axis is None or not 0.0 < abs(angle) <= 180.0:
        raise ConfigError(
            f"--turn {text}: expected AXIS:DEG with an axis x, y or z of the world, or {ANY} for the axis that a grasp "
            f"allows, and up to 180, e.g. z:30"
        )
    x, y, z = (-1.0 if name.startswith("-") else 1.0) * np.eye(4)[axis, :3] + 0.0
    return (float(x), float(y), float(z)), angle


def new_task(
    robot: str, thing: str, turn: str, name: str, into: Path, mass_kg: float | None, options: JointOptions, seed: int,
    push: str = "",
) -> NewTask:  # fmt: skip
    """Write the system and the task of moving an object with a robot, and the object's URDF; import the robot first.

    A hand turns what lies among its fingertips; with `push` an arm pushes what stands on a table, and may turn it.

    Raises
    ------
    ConfigError, ModelError
        What was asked for cannot be; one line that names the file and what to do.
    """
    axis, angle = ((0.0, 0.0, 1.0), 0.0) if push and not turn else read_turn(turn or USUAL_TURN)
    if push and not any(axis):
        raise ConfigError(f"--turn {turn}: a push needs an axis x, y or z of the world, e.g. z:30")
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
    owner, tips = robots[0]["name"], fingertips_of(alone, alone.config.robots[0])
    if push:
        part = push_part(alone, owner, tips, item, read_push(push, axis, angle), seed)
    else:
        part = _turn_part(alone, owner, tips, item, axis, angle, seed)
    lines = [f"  - {{name: {item.name}, urdf: {item.name}.urdf, mobility: free, position_m: {part.position_m}}}"]
    heading = f"Robot and {item.name} of `contact-mpc new task`: the {item.name} lies {part.where}."
    write_text(system_file, system_text(name, heading, _robot_lines(robots), lines, part.settings))
    load_system(system_file)
    write_text(task_file, _task_text(name, system_file.name, part))
    notes += [item.note] if item.note else []
    x, y, z = part.position_m
    return NewTask(task_file, system_file, item, (x, y, z), tuple(notes), part.has_start)


def _turn_part(
    alone: System, robot: str, tips: tuple[str, ...], item: NewObject, axis: tuple[float, float, float], angle: float,
    seed: int,
) -> TaskPart:  # fmt: skip
    """Return a turn among the fingertips."""
    place = place_object(alone, robot, tips, item.half_extent_m, seed)
    duration = max(LEAST_DURATION_S, round(abs(angle) / DEG_PER_S, 1))
    goal = f"{{rotation_axis: {list(axis)}, rotation_deg: {angle:g}}}   # axis of the world"
    if not any(axis):
        goal = f"{{rotation_deg: {abs(angle):g}, is_free: true}}   # axis and way are those of the grasp that is found"
    lines = [
        f"description: turn a {item.name} of {1e3 * item.mass_kg:.0f} g by {angle:g} degrees",
        f"goal: {goal}",
        f"duration_s: {duration}",
    ]
    near = f"activation_distance_m: {NEAR_M:g}   # pairs further apart are left out: forces of many would add up"
    return TaskPart([float(value) for value in place], "where the fingertips reach it", lines, (near,))


def require_robot(robot: str) -> None:
    """Raise ConfigError where a robot is neither a file nor a name of one."""
    if _is_system(robot):
        resource("systems", robot)
    else:
        find_robot_file(robot)


def _is_system(robot: str) -> bool:
    return robot.endswith((".yaml", ".yml")) or not (":" in robot or robot.endswith(SUFFIXES))


def _robot_system(robot: str, into: Path, options: JointOptions) -> tuple[Path, list[str]]:
    """Return the system file of a robot: given as such, by its name in config/systems, or imported now."""
    if _is_system(robot):
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


def _task_text(name: str, system: str, part: TaskPart) -> str:
    start = "" if part.has_start else " Its start comes from `contact-mpc plan THIS_FILE --grasp --write`."
    return "\n".join([
        f"# Written by `contact-mpc new task`.{start}",
        f"name: {name}",
        f"system: {system}",
        *part.lines,
        f"hold_s: {HOLD_S}",
        f"tolerance_deg: {TOLERANCE_DEG}",
        f"tolerance_mm: {TOLERANCE_MM}",
    ]) + "\n"  # fmt: skip
