"""A task as if it had no start: its object lies among the fingertips, where `new task` would put it."""

from dataclasses import replace

import numpy as np

from contact_mpc.geometry.extent import half_extent
from contact_mpc.geometry.fingers import finger_of_pairs
from contact_mpc.importing.placement import place_object
from contact_mpc.model.fingertips import fingertips_of
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.support import upwards
from contact_mpc.planning.methods import grips_anew
from contact_mpc.task.task import TaskConfig


def without_start(task: TaskConfig, seed: int | tuple[int, ...]) -> TaskConfig:
    """Return the task as if it had no start, its object where `place_object` puts it.

    Where several robots hold it together, it is where the system's file has it.

    Raises
    ------
    ConfigError
        As `place_object`.
    """
    system, q = task.system, task.system.q_default.copy()
    robot, *others = system.config.robots
    if not others:
        margin_m = GraspSearchConfig().lying_margin_m
        up = upwards(system, finger_of_pairs(system)) if grips_anew(task) else np.zeros(3)
        place = place_object(system, robot.name, fingertips_of(system, robot), half_extent(system), seed, up, margin_m)
        q[: system.n_q_u] = system.q_from_object_pose(system.object_pose(q)[0], place, q)
    return replace(task, start_q=q, start_u=q[system.n_q_u :].copy(), has_start=False)
