"""The part of a new task's files that is a push of an arm: table, start, goal, and what pushing needs."""

import numpy as np
import yaml

from contact_mpc.errors import ConfigError
from contact_mpc.importing.arms.push import GAP_M, Push, start_push
from contact_mpc.importing.objects import NewObject
from contact_mpc.importing.system_file import TaskPart
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

SPEED_M_S, SPEED_DEG_S, LEAST_DURATION_S = 0.02, 6.0, 2.0


def push_part(
    alone: System, robot: str, tips: tuple[str, ...], item: NewObject, push: Push, seed: int
) -> TaskPart:  # fmt: skip
    """Return a push on a table; raises ConfigError as `start_push`, and for robots that are no arms."""
    if len(tips) != 1:
        raise ConfigError(
            f"{alone.path}: --push needs an arm with one end, '{robot}' has {len(tips)}: import it with --tool LINK=..."
        )
    start = start_push(alone, robot, tips[0], item, push, seed)
    joints = _flow({name: round(float(v), 4) for name, v in zip(alone.joint_names, start.q_a, strict=True)})
    place, turn_deg = _numbers(start.position_m), float(np.rad2deg(push.turn_rad))
    duration = max(LEAST_DURATION_S, push.way_m / SPEED_M_S, abs(turn_deg) / SPEED_DEG_S)
    lines = [
        f"description: push a {item.name} of {1e3 * item.mass_kg:.0f} g by {1e3 * push.way_m:g} mm, {turn_deg:g} deg",
        f"start:   # the end of the arm is {1e3 * GAP_M:g} mm behind the object",
        f"  joints_rad: {joints}",
        f"  commands_rad: {joints}",
        f"  object_position_m: {place}",
        f"  object_rpy_rad: {_numbers(np.array([0.0, 0.0, start.yaw_rad]))}",
        f"goal: {{rotation_deg: {turn_deg:.6g}, translation_m: {_numbers(push.way_m * push.direction)}}}   # about z",
        f"duration_s: {duration:.3g}",
        "planner: {initialisation: carried}   # the end of the arm pushes, it does not hold",
        f"disturbance: {{offset_upwards: false, standing_height_m: {place[2]}}}   # the object stands",
    ]
    return TaskPart(place, "on a table before the arm", lines, ("fixed: [{name: table, shape: half_space}]",), True)


def _numbers(values: FloatArray) -> list[float]:
    return [round(float(value), 5) + 0.0 for value in values]


def _flow(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=100000).strip()
