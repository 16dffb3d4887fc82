"""What one grasp does of a long way by turns and new grasps: the turns that a start of such a task must serve.

The fingers lift the object off its support and turn it by `turn_deg`; who rolled back before turns by as much more.
So a start serves both: on by `turn_deg`, and back by `back_deg`, about the goal's axis, or about all where goals are
drawn.
"""

from dataclasses import replace

import numpy as np

from contact_mpc.geometry.fingers import finger_of_pairs
from contact_mpc.planning.grasp.support import upwards
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.task import AXES_W, Goal, TaskConfig


def turns_of_one_grasp(task: TaskConfig) -> list[TaskConfig]:
    """Return the task with the goal of each turn that one grasp must serve, lifted and carried as far as it goes.

    Raises
    ------
    ConfigError
        A parameter of the section `planner` is unknown or out of range.
    """
    config = validate(ReorientationConfig, task.planner, f"{task.path}: planner")
    lift_m = config.lift_m * upwards(task.system, finger_of_pairs(task.system))
    way_m = _carried(task.goal.translation_m, config.carry_m) + lift_m
    if task.has_random_goal and not task.has_random_angle:
        axes = [(np.array(axis), max(config.turn_deg, config.back_deg)) for axis in AXES_W.values()]
    else:
        axis = np.copysign(1.0, task.goal.angle_deg) * task.goal.axis_W
        axes = [(axis, config.turn_deg), (-axis, config.back_deg)]
    return [replace(task, goal=Goal(axis, angle, way_m)) for axis, angle in axes if angle > 0.0]


def _carried(translation_m: FloatArray, carry_m: float) -> FloatArray:
    """Return the part (3,) of a goal's translation (3,), m, that one grasp carries the object."""
    length = float(np.linalg.norm(translation_m))
    return translation_m if length <= carry_m else carry_m / length * translation_m
