"""When the steps of a plan are made: as fast as commands and objects may move, with rests to let go and to grip.

A quasi-dynamic plan says where things go, not how fast: its objects stop after each step. What moves them for real has
inertia, and follows the better the slower the plan. Free fingers have no such limit, and their steps, which get smaller
the nearer they pass an object, take no longer than their way.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

BoolArray = NDArray[np.bool_]


class TimingConfig(BaseModel):
    """Limits that a plan keeps to."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    command_rad_per_s: float = Field(default=1.0, gt=0.0, description="fastest change of a command, rad/s (m/s)")
    object_m_per_s: float = Field(default=0.05, gt=0.0, description="fastest translation of an object, m/s")
    object_rad_per_s: float = Field(default=0.3, gt=0.0, description="fastest rotation of an object, rad/s")
    held_step_s: float = Field(default=0.05, gt=0.0, description="shortest step while an object is held, s")
    free_step_s: float = Field(default=0.02, gt=0.0, description="shortest step between grasps, s")
    change_s: float = Field(default=0.4, gt=0.0, description="shortest step that lets go, or grips, s")


def step_times(system: System, q: FloatArray, u: FloatArray, is_free: BoolArray, config: TimingConfig) -> FloatArray:
    """Return the times (N,), s, of the steps between the rows of a plan.

    Parameters
    ----------
    q, u : (N + 1, n_q), (N + 1, n_a) array
        Configurations and commands.
    is_free : (N,) array
        Whether the step that ends with row k + 1 is one between grasps, where objects do not count.
    config : TimingConfig
        Limits.
    """
    turns = system.tree.dof_kind[: system.n_v_u] == REVOLUTE
    moved = np.array([system.difference(a, b)[: system.n_v_u] for a, b in zip(q[:-1], q[1:], strict=True)])
    moved = np.abs(moved.reshape(-1, system.n_v_u)) * ~is_free[:, None]
    limits = np.where(turns, config.object_rad_per_s, config.object_m_per_s)
    changes = np.diff(is_free, prepend=is_free[:1])
    return np.maximum.reduce([
        np.max(np.abs(np.diff(u, axis=0)), axis=1, initial=0.0) / config.command_rad_per_s,
        np.max(moved / limits, axis=1, initial=0.0),
        np.where(is_free, config.free_step_s, config.held_step_s),
        np.where(changes, config.change_s, 0.0),
    ])  # fmt: skip
