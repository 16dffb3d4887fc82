"""Tasks: a system, where it starts, how the object shall move, and when that counts as done (config/tasks/*.yaml)."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from contact_mpc.errors import ConfigError
from contact_mpc.model.rotations import random_rotation, rotation_exp, rotation_from_rpy, rotation_log, unit_vector
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.system_config import Vector3
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.names import FileName, Name
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml, validate
from contact_mpc.task.derived import derive_planner

TREE_PARTS = "tree"  # planner.method of a task whose parts are planned on the way
LONGEST_S, FURTHEST_M = 600.0, 10.0  # of a motion, and of an object from its reference
GOAL_STREAM = 1  # of a trial's seed: its goal is drawn apart from its disturbances
AxisName = Literal["+x", "-x", "+y", "-y", "+z", "-z"]
AXES_W: dict[str, tuple[float, float, float]] = {
    "+x": (1.0, 0.0, 0.0), "-x": (-1.0, 0.0, 0.0), "+y": (0.0, 1.0, 0.0), "-y": (0.0, -1.0, 0.0),
    "+z": (0.0, 0.0, 1.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip


def goal_generator(seed: int) -> np.random.Generator:
    """Return the generator that draws the goal of a seed, independent of the one that draws its disturbances."""
    return np.random.default_rng([seed, GOAL_STREAM])


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StartConfig(_Frozen):
    """Posture at the start: joints and commands by joint name, and the object's pose."""

    joints_rad: dict[str, float] = Field(description="measured joint positions, rad")
    commands_rad: dict[str, float] = Field(description="joint commands that hold the object there, rad")
    object_position_m: Vector3
    object_rpy_rad: Vector3 = (0.0, 0.0, 0.0)
    grip_n: float | None = Field(
        default=None, gt=0.0, description="least force per contact it was found with, N, where not the derived one"
    )


class GoalConfig(_Frozen):
    """Motion of the object: a rotation about a world axis through its own centre, and a translation."""

    rotation_axis: Vector3 = (0.0, 0.0, 1.0)
    rotation_deg: float = Field(ge=-180.0, le=180.0)
    translation_m: Vector3 = (0.0, 0.0, 0.0)
    rotation_axes: tuple[AxisName, ...] = Field(
        default=(), description="axes that an evaluation of the task turns about; none: only rotation_axis"
    )
    is_free: bool = Field(
        default=False, description="axis and translation are those of the grasp that `plan --grasp` finds"
    )
    is_random: bool = Field(default=False, description="every trial of an evaluation draws its rotation from SO(3)")
    is_random_angle: bool = Field(
        default=False, description="every trial draws its angle about rotation_axis, from -180 to 180 deg"
    )

    @model_validator(mode="after")
    def _check_draws(self) -> "GoalConfig":
        if self.is_random and self.is_random_angle:
            raise ValueError("give either is_random or is_random_angle")
        return self


class ReferenceConfig(_Frozen):
    """Where a task's plan comes from, if not from trajectory optimisation: a stored plan, or a tree from a seed."""

    plan_file: FileName | None = Field(default=None, description="plan file, beside the task file or by its path")
    problem: FileName | None = Field(default=None, description="name in config/planning, of the same system")
    seed: int = Field(default=0, ge=0, description="of the tree")

    @model_validator(mode="after")
    def _check_source(self) -> "ReferenceConfig":
        if (self.plan_file is None) == (self.problem is None):
            raise ValueError("give either plan_file or problem")
        return self


class TaskFile(_Frozen):
    """The keys of a task file."""

    name: Name
    description: str = ""
    system: FileName = Field(description="name of a system or path of its YAML")
    start: StartConfig | None = Field(default=None, description="none: `plan --grasp` finds one about the system's own")
    grasps: tuple[StartConfig, ...] = Field(
        default=(), description="more grasps of a task that grips anew, where the start's alone does not fit its object"
    )
    goal: GoalConfig
    duration_s: float = Field(gt=0.0, le=LONGEST_S, description="time of the motion, s")
    hold_s: float = Field(ge=0.0, le=600.0, description="time to hold at the goal, s")
    tolerance_deg: float = Field(gt=0.0, le=180.0)
    tolerance_mm: float = Field(gt=0.0, le=1000.0)
    drop_distance_m: float = Field(
        default=0.05,
        gt=0.0,
        le=FURTHEST_M,
        description="the object counts as dropped further than this from the reference",
    )
    planner: dict[str, Any] = Field(default_factory=dict, description="parameters of the trajectory optimisation")
    reference: ReferenceConfig | None = Field(default=None, description="source of the plan; optimised where left out")
    disturbance: dict[str, Any] = Field(
        default_factory=dict, description="ranges that trials of the task draw from, where not the package's"
    )
    nodes: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="parameters by node on top of the derived ones, where config/nodes has no file",
    )


@dataclass(frozen=True)
class Goal:
    """Rotation of angle_deg about axis_W (3,) through the object's origin, then translation_m (3,).

    Of one that is free a search of starts takes the angle alone, and finds the others.
    """

    axis_W: FloatArray
    angle_deg: float
    translation_m: FloatArray
    is_free: bool = False


@dataclass(frozen=True)
class TaskConfig:
    """A task bound to its system: start_q (n_q,), start_u (n_a,), goal, times in s, tolerances at the end.

    `axes` are those that an evaluation turns about, `axis` the one chosen of them; "" is the task's rotation_axis.
    `displacement` is the length of the translation or the angle, m or rad, where it is not the task's own.
    `grasps` are postures (n_q,) and commands (n_a,) beside the start's. Where `has_random_goal`, trials draw the goal's
    rotation, or its angle alone.
    """

    name: str
    path: Path
    description: str
    system: System
    start_q: FloatArray
    start_u: FloatArray
    goal: Goal
    duration_s: float
    hold_s: float
    tolerance_deg: float
    tolerance_mm: float
    planner: dict[str, Any] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    axis: str = ""
    displacement: float | None = None
    drop_distance_m: float = 0.05
    reference: ReferenceConfig | None = None
    disturbance: dict[str, Any] = field(default_factory=dict)
    has_random_goal: bool = False
    has_random_angle: bool = False
    grasps: tuple[tuple[FloatArray, FloatArray], ...] = ()
    has_start: bool = True
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def has_open_end(self) -> bool:
        """Whether duration_s is a limit: parts are planned on the way, and it ends once the goal is held for hold_s."""
        return bool(self.planner.get("method") == TREE_PARTS)

    def with_random_goal(self, seed: int) -> Self:
        """Return the task with the rotation of its goal drawn uniformly from SO(3), or its angle from a whole turn."""
        rng = goal_generator(seed)
        if self.has_random_angle:
            return replace(self, goal=replace(self.goal, angle_deg=float(rng.uniform(-180.0, 180.0))))
        turn = rotation_log(random_rotation(rng))
        angle = float(np.linalg.norm(turn))
        return replace(self, goal=replace(self.goal, axis_W=turn / angle, angle_deg=float(np.rad2deg(angle))))

    def about(self, axis: str) -> Self:
        """Return the task with its rotation about another axis of the world, of `AXES_W`; "" is the task's own.

        Raises
        ------
        ConfigError
            An unknown axis.
        """
        if not axis:
            return self
        if axis not in AXES_W:
            raise ConfigError(f"axis '{axis}' is unknown; allowed: {', '.join(AXES_W)}")
        return replace(self, goal=replace(self.goal, axis_W=np.array(AXES_W[axis])), axis=axis)

    def moved_by(self, displacement: float | None) -> Self:
        """Return the task with another length of its goal's translation, m, or else angle, rad; None: the task's own.

        Raises
        ------
        ConfigError
            Not a positive number.
        """
        if displacement is None:
            return self
        if not 0.0 < displacement < np.inf:
            raise ConfigError(f"displacement {displacement}: expected a positive number, m (rad)")
        length = float(np.linalg.norm(self.goal.translation_m))
        if length > 0.0:
            goal = replace(self.goal, translation_m=self.goal.translation_m * (displacement / length))
        else:
            goal = replace(self.goal, angle_deg=float(np.copysign(np.rad2deg(displacement), self.goal.angle_deg)))
        return replace(self, goal=goal, displacement=displacement)

    def goal_pose(self, fraction: float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Return (R_WB, p_WB) of the object after a fraction of the motion."""
        R, p = self.system.object_pose(self.start_q)
        turn = rotation_exp(self.goal.axis_W * np.deg2rad(fraction * self.goal.angle_deg))
        return turn @ R, p + fraction * self.goal.translation_m


def load_task(name: str | Path) -> TaskConfig:
    """Load a task by the name of a file in config/tasks or by the path of a YAML.

    Raises
    ------
    ConfigError
        No such task, an unknown key, a value out of range, or joints that are not those of the system.
    """
    path = resource("tasks", name)
    file = validate(TaskFile, read_yaml(path), path)
    beside = path.parent / file.system
    system = load_system(beside if beside.is_file() else file.system)
    if not system.config.objects:
        raise ConfigError(f"{path}: system '{system.name}' has no object to move; `contact-mpc new task` adds one")
    q, start_u = _start(system, file.start, path)
    axis = unit_vector(np.array(file.goal.rotation_axis))
    if axis is None:
        raise ConfigError(f"{path}: goal.rotation_axis = {file.goal.rotation_axis}; expected a direction")
    goal = Goal(axis, file.goal.rotation_deg, np.array(file.goal.translation_m), file.goal.is_free)
    if goal.is_free and [item.mobility for item in system.config.objects] != ["free"]:
        raise ConfigError(f"{path}: goal.is_free: allowed with one object that moves freely; give goal.rotation_axis")
    return TaskConfig(
        file.name,
        path,
        file.description,
        system,
        q,
        start_u,
        goal,
        file.duration_s,
        file.hold_s,
        file.tolerance_deg,
        file.tolerance_mm,
        _planner(system, file),
        file.goal.rotation_axes,
        drop_distance_m=file.drop_distance_m,
        reference=file.reference,
        disturbance=file.disturbance,
        has_random_goal=file.goal.is_random or file.goal.is_random_angle,
        has_random_angle=file.goal.is_random_angle,
        grasps=tuple(_start(system, item, path, "grasps") for item in file.grasps),
        has_start=file.start is not None,
        nodes=file.nodes,
    )


def _planner(system: System, file: TaskFile) -> dict[str, Any]:
    """Return the section `planner` with what follows from the system and from the start's grip, where not given."""
    if "method" in file.planner:
        return file.planner
    of_start = {} if file.start is None or file.start.grip_n is None else {"minimum_force_n": file.start.grip_n}
    return {**derive_planner(system, file.planner), **of_start, **file.planner}


def _start(
    system: System, start: StartConfig | None, path: Path, section: str = "start"
) -> tuple[FloatArray, FloatArray]:
    """Return q (n_q,) and u (n_a,) at the start or a grasp, those of the system where the task has none."""
    q = system.q_default.copy()
    if start is None:
        return q, q[system.n_q_u :].copy()
    q[system.n_q_u :] = _by_joint(system, start.joints_rad, f"{path}: {section}.joints_rad")
    R_WB = rotation_from_rpy(np.array(start.object_rpy_rad))
    q[: system.n_q_u] = system.q_from_object_pose(R_WB, np.array(start.object_position_m), q)
    return q, _by_joint(system, start.commands_rad, f"{path}: {section}.commands_rad")


def _by_joint(system: System, values: dict[str, float], source: str) -> FloatArray:
    missing, unknown = set(system.joint_names) - set(values), set(values) - set(system.joint_names)
    if missing or unknown:
        raise ConfigError(
            f"{source}: joints do not match system '{system.name}': missing {sorted(missing)}, unknown "
            f"{sorted(unknown)}; expected {', '.join(system.joint_names)}"
        )
    array = np.array([values[name] for name in system.joint_names])
    outside = (array < system.q_min) | (array > system.q_max)
    if np.any(outside):
        i = int(np.flatnonzero(outside)[0])
        raise ConfigError(
            f"{source}.{system.joint_names[i]} = {array[i]} rad is outside "
            f"[{system.q_min[i]:.4f}, {system.q_max[i]:.4f}] rad"
        )
    return array
