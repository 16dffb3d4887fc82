"""The same robots, objects, fixed shapes and gravity, described in a world frame that is turned and shifted."""

from typing import Any

import numpy as np

from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.rotations import rotation_from_rpy, rpy_from_rotation
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import build_system
from contact_mpc.model.system_config import FixedConfig, ObjectConfig, RobotConfig
from contact_mpc.settings.arrays import FloatArray


def is_turnable(system: System) -> bool:
    """Whether a system file can describe the turned system: `base_slides` are axes of the world."""
    return not any(robot.base_slides for robot in system.config.robots)


def turn_system(system: System, R: FloatArray, t: FloatArray) -> System:
    """Return the system of which every position p is R p + t; the state's joints keep their values."""

    def moved(item: RobotConfig | ObjectConfig | FixedConfig) -> Any:
        keys = ("base_position_m", "base_rpy_rad") if isinstance(item, RobotConfig) else ("position_m", "rpy_rad")
        p, rpy = (np.array(getattr(item, key)) for key in keys)
        values = R @ p + t, rpy_from_rotation(R @ rotation_from_rpy(rpy))
        return item.model_copy(update={key: tuple(value.tolist()) for key, value in zip(keys, values, strict=True)})

    config = system.config
    update = {kind: tuple(moved(item) for item in getattr(config, kind)) for kind in ("robots", "objects", "fixed")}
    gravity = tuple((R @ np.array(config.gravity_m_s2)).tolist())
    return build_system(config.model_copy(update={**update, "gravity_m_s2": gravity}), system.path)


def turn_state(system: System, q: FloatArray, R: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return q (n_q,) in the turned world, and T (n_v, n_v) that turns displacements."""
    turned, T = q.copy(), np.eye(system.n_v)
    half = _quaternion(R)
    for kind, i, j in zip(system.tree.joint, system.tree.i_q, system.tree.i_v, strict=True):
        if kind == FREE:
            turned[i : i + 4] = _product(half, q[i : i + 4])
            turned[i + 4 : i + 7] = R @ q[i + 4 : i + 7] + t
            T[j : j + 3, j : j + 3] = T[j + 3 : j + 6, j + 3 : j + 6] = R
    return turned, T


def _quaternion(R: FloatArray) -> FloatArray:
    """Return the quaternion wxyz of a rotation by less than half a turn."""
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array([w, *(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w))])


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])
