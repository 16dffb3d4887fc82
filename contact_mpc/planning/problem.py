"""Planning problems: where an object starts and shall go, and how the tree is grown (config/planning/*.yaml)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.model.kinematic_tree import FREE, REVOLUTE
from contact_mpc.model.resources import resource
from contact_mpc.model.rotations import matrix_to_quaternion, rotation_from_rpy
from contact_mpc.model.system import System, load_system
from contact_mpc.model.system_config import read_yaml, validate
from contact_mpc.model.urdf import Urdf
from contact_mpc.planning.timing import TimingConfig

FloatArray = NDArray[np.float64]
FREE_COORDINATES = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")
Range = tuple[float, float]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CoordinateConfig(_Frozen):
    """One coordinate of an object: where it starts, where it shall go, the range that samples are drawn from."""

    start: float
    goal: float
    range: Range = Field(description="range of samples; nodes further out by half its width are refused")

    @model_validator(mode="after")
    def _check_range(self) -> "CoordinateConfig":
        if self.range[0] > self.range[1]:
            raise ValueError(f"range {self.range}: expected lower <= upper")
        return self


class RrtConfig(_Frozen):
    """Parameters of the tree."""

    nodes: int = Field(default=1000, ge=1, le=1_000_000, description="nodes of all trees of a plan at most")
    stage_nodes: int = Field(
        default=300, ge=1, le=1_000_000, description="nodes after which a tree goes on from one of its best alone"
    )
    h_s: float = Field(default=0.1, gt=0.0, le=1.0, description="time step of the model, s")
    step_rad: float = Field(default=0.2, gt=0.0, description="largest |du| of an extension, Euclidean, rad (m)")
    gamma: float = Field(default=1e-4, gt=0.0, description="regularisation of the metric's Sigma")
    gamma_position: float | None = Field(
        default=None, gt=0.0, description="of its rows that are positions, (m/rad)^2; `gamma` where left out"
    )
    smoothed_kappa_per_j: float = Field(default=3e3, gt=0.0, description="barrier weight of metric and extension, 1/J")
    check_kappa_per_j: float = Field(
        default=1e6, gt=0.0, description="barrier weight that counts as unsmoothed while the tree grows, 1/J"
    )
    run_steps: int = Field(default=1, ge=1, le=1000, description="extensions in a row towards one target, at most")
    goal_probability: float = Field(default=0.3, ge=0.0, le=1.0, description="of the goal as sample")
    contact_probability: float = Field(default=0.2, ge=0.0, le=1.0, description="of contact sampling")
    candidates: int = Field(default=3, ge=1, le=100, description="grasps drawn per contact sample, the best is kept")
    least_progress: float = Field(
        default=0.2, ge=0.0, le=1.0, description="share of the smoothed step's progress that the unsmoothed step keeps"
    )
    progress_halvings: int = Field(
        default=2, ge=0, le=2, description="how often the command of an extension that keeps less is halved"
    )
    effort_share: float = Field(
        default=1.0, gt=0.0, le=1.0, description="of the effort limits, for |K (u - q_a)| at the end of a step"
    )
    limit_margin_rad: float = Field(default=0.02, ge=0.0, description="distance from the joint limits, rad (m)")
    length_m: float = Field(gt=0.0, description="motion in m that counts as 1 rad in the global metric")
    deepest_m: float = Field(
        default=2e-3, gt=0.0, description="penetration after a step, from linearised gaps, above which it is refused, m"
    )
    metric: str = Field(
        default="local", pattern="^(local|global)$", description="metric of the nearest node and of progress towards it"
    )
    selective: bool = Field(
        default=True,
        description="refuse extensions without progress and nodes that refuse; else every possible step is a node",
    )


class ApproachConfig(_Frozen):
    """A pusher that starts on a circle about the object and moves straight towards a point near it."""

    joints: tuple[str, str] = Field(description="prismatic joints along the world's axes `axes`")
    axes: tuple[int, int] = Field(default=(0, 1), description="world axes of the two joints")
    radius_m: float = Field(gt=0.0, description="of the circle, outside everything")
    spread_m: float = Field(ge=0.0, description="half width of the square of points aimed at")


class CloseConfig(_Frozen):
    """A posture with fingers open, and how each closes until it touches."""

    open_rad: dict[str, Range] = Field(description="joint -> range of the open posture, rad (m)")
    close_rad: dict[str, Range] = Field(description="joint -> range of the motion of closing, rad (m)")
    fingers: dict[str, tuple[str, ...]] = Field(description="finger -> the joints that close it")
    follow_m: dict[str, tuple[float, float, float]] = Field(
        default_factory=dict, description="joint -> factors of the object's world position, added to the posture"
    )
    weight: float = Field(default=1.0, gt=0.0, description="how often this posture is drawn, relative to the others")


class ContactConfig(_Frozen):
    """How contacts are sampled: by an approach or by closing fingers from one of several postures."""

    approach: ApproachConfig | None = None
    close: tuple[CloseConfig, ...] = ()
    preload_rad: float = Field(default=0.0, ge=0.0, description="norm of the closing command beyond touch, rad (m)")
    clearance_m: float = Field(default=0.003, gt=0.0, description="gap that fingers in free motion keep, m")
    all_fingers_probability: float = Field(
        default=1.0, ge=0.0, le=1.0, description="of moving all fingers; else a random part of them moves, others hold"
    )
    least_touching: int = Field(default=1, ge=1, description="fingers that touch after contact sampling, at least")
    hold_m: float = Field(
        default=0.003, gt=0.0, description="largest motion of the object while fingers are away, and when they press, m"
    )

    @model_validator(mode="after")
    def _check_kind(self) -> "ContactConfig":
        if (self.approach is None) == (not self.close):
            raise ValueError("give either `approach` or a list `close`")
        return self


class TrajoptCaseConfig(_Frozen):
    """A short motion for the trajectory optimisation from a trivial start."""

    goal: dict[str, float] = Field(description="coordinate -> goal, in place of those of `objects`")
    steps: int = Field(default=20, ge=1, le=1000, description="steps of the horizon")
    settings: dict[str, float | int | str] = Field(default_factory=dict, description="of the trajectory optimisation")


class ProblemFile(_Frozen):
    """The keys of a planning file."""

    name: str
    description: str = ""
    system: str = Field(description="name of a system or path of its YAML")
    friction: float | None = Field(default=None, ge=0.0, description="of all pairs; the system's where left out")
    objects: dict[str, CoordinateConfig] = Field(
        description="per joint of an object, NAME_rad or NAME_m; of a free object NAME_x_m .. NAME_yaw_rad"
    )
    start_joints_rad: dict[str, float] = Field(
        default_factory=dict, description="robot at the start, rad (m); a contact sample where left out"
    )
    tolerance_deg: float = Field(gt=0.0, le=180.0)
    tolerance_mm: float = Field(gt=0.0, le=1000.0)
    rrt: RrtConfig
    contacts: ContactConfig
    plan_step_rad: float = Field(
        default=1.0, gt=0.0, description="largest change of a command per step of a plan while it holds, rad (m)"
    )
    timing: TimingConfig = TimingConfig()
    refinement: dict[str, float | int | str] = Field(
        default_factory=dict, description="parameters of the trajectory optimisation of segments"
    )
    trajopt: TrajoptCaseConfig | None = Field(default=None, description="a short motion, planned without a tree")


@dataclass(frozen=True)
class Problem:
    """A planning file bound to its system.

    start_u, goal_u : (n_q_u,);  lower, upper : (n_x,) of the coordinates x that `object_from_coordinates` takes
    start_a : (n_a,) or None where contact sampling gives the start;  turns : (n_v_u,) which tangent rows are rotations
    """

    file: ProblemFile
    path: Path
    system: System
    start_u: FloatArray
    goal_u: FloatArray
    lower: FloatArray
    upper: FloatArray
    start_a: FloatArray | None
    turns: NDArray[np.bool_]

    def configuration(self, q_u: FloatArray, q_a: FloatArray | None = None) -> FloatArray:
        """Return q (n_q,) of an object and a robot, at its default posture where not given."""
        return np.concatenate([q_u, self.system.q_default[self.system.n_q_u :] if q_a is None else q_a])

    def errors(self, q: FloatArray) -> tuple[float, float]:
        """Return the angle (deg) and the distance (mm) from q_u of q (n_q,) to the goal."""
        e = self.system.difference(self.configuration(self.goal_u), q)[: self.system.n_v_u]
        return float(np.rad2deg(np.linalg.norm(e[self.turns]))), float(1e3 * np.linalg.norm(e[~self.turns]))

    def is_reached(self, q: FloatArray) -> bool:
        """Whether the object in q (n_q,) is within the tolerances of the goal."""
        angle, distance = self.errors(q)
        return angle <= self.file.tolerance_deg and distance <= self.file.tolerance_mm


def coordinate_names(system: System) -> tuple[str, ...]:
    """Return the names of the objects' coordinates x, in the order of v_u but position before rotation."""
    names: list[str] = []
    for item in system.config.objects:
        if item.mobility == "free":
            names += [f"{item.name}_{coordinate}" for coordinate in FREE_COORDINATES]
        names += _joint_names(system.urdfs[item.name], system.urdfs[item.name].root)
    return tuple(names)


def _joint_names(urdf: Urdf, link: str) -> list[str]:
    """Return the names with units of the moving joints beyond a link, in the order of q."""
    names: list[str] = []
    for joint in (joint for joint in urdf.joints if joint.parent == link):
        own = [] if joint.kind == "fixed" else [f"{joint.name}_{'m' if joint.kind == 'prismatic' else 'rad'}"]
        names += own + _joint_names(urdf, joint.child)
    return names


def object_from_coordinates(system: System, x: FloatArray) -> FloatArray:
    """Return q_u (n_q_u,) of coordinates x (n_x,)."""
    q_u, i, j = np.empty(system.n_q_u), 0, 0
    while i < system.n_q_u:
        body = int(np.flatnonzero(system.tree.i_q == i)[0])
        if system.tree.joint[body] == FREE:
            quaternion = matrix_to_quaternion(rotation_from_rpy(x[j + 3 : j + 6]))
            q_u[i : i + 7] = np.concatenate([quaternion, x[j : j + 3]])
            i, j = i + 7, j + 6
        else:
            q_u[i] = x[j]
            i, j = i + 1, j + 1
    return q_u


def load_problem(name: str | Path) -> Problem:
    """Load a planning problem by the name of a file in config/planning or by the path of a YAML.

    Raises
    ------
    ConfigError
        No such file, an unknown key, a value out of range, or coordinates and joints that are not the system's.
    """
    path = resource("planning", name)
    file = validate(ProblemFile, read_yaml(path), path)
    beside = path.parent / file.system
    system = load_system(beside if beside.is_file() else file.system)
    return build_problem(file, path, system)


def with_ranges(problem: Problem, ranges: dict[str, Range]) -> Problem:
    """Return a problem with the ranges of some of its coordinates replaced, by name.

    Raises
    ------
    InputError
        A start or goal outside its range.
    """
    items = problem.file.objects.items()
    objects = {name: item.model_copy(update={"range": ranges.get(name, item.range)}) for name, item in items}
    return build_problem(problem.file.model_copy(update={"objects": objects}), problem.path, problem.system)


def with_rrt(problem: Problem, **values: Any) -> Problem:
    """Return a problem with some parameters of its trees replaced, by name."""
    rrt = problem.file.rrt.model_copy(update=values)
    return replace(problem, file=problem.file.model_copy(update={"rrt": rrt}))


def with_goal(problem: Problem, goals: dict[str, float]) -> Problem:
    """Return a problem with some of its goal coordinates replaced, by name.

    Raises
    ------
    ConfigError, InputError
        An unknown coordinate, or a goal outside its range.
    """
    unknown = sorted(set(goals) - set(problem.file.objects))
    if unknown:
        known = ", ".join(problem.file.objects)
        raise ConfigError(f"goal of '{unknown[0]}': system '{problem.system.name}' has no such coordinate, but {known}")
    items = problem.file.objects.items()
    objects = {name: item.model_copy(update={"goal": goals.get(name, item.goal)}) for name, item in items}
    return build_problem(problem.file.model_copy(update={"objects": objects}), problem.path, problem.system)


def build_problem(file: ProblemFile, path: Path, system: System) -> Problem:
    """Bind a validated file to its system."""
    names = coordinate_names(system)
    if set(file.objects) != set(names):
        raise ConfigError(
            f"{path}: objects do not match system '{system.name}': found {sorted(file.objects)}; expected {list(names)}"
        )
    items = [file.objects[name] for name in names]
    start, goal = (np.array([getattr(item, key) for item in items]) for key in ("start", "goal"))
    lower, upper = (np.array([item.range[k] for item in items]) for k in (0, 1))
    for key, values in (("start", start), ("goal", goal)):
        outside = np.flatnonzero(~((values >= lower) & (values <= upper)))
        if len(outside):
            i = int(outside[0])
            raise InputError(
                f"{path}: {key} of {names[i]} = {values[i]:g} is outside its range [{lower[i]:g}, {upper[i]:g}]: "
                f"move it inside or widen the range"
            )
    start_a = _start_joints(file, path, system) if file.start_joints_rad else None
    turns = system.tree.dof_kind[: system.n_v_u] == REVOLUTE
    start_u, goal_u = object_from_coordinates(system, start), object_from_coordinates(system, goal)
    return Problem(file, path, system, start_u, goal_u, lower, upper, start_a, turns)


def _start_joints(file: ProblemFile, path: Path, system: System) -> FloatArray:
    if set(file.start_joints_rad) != set(system.joint_names):
        raise ConfigError(f"{path}: start_joints_rad needs exactly the joints {', '.join(system.joint_names)}")
    q_a = np.array([file.start_joints_rad[name] for name in system.joint_names])
    outside = np.flatnonzero((q_a < system.q_min) | (q_a > system.q_max))
    if len(outside):
        i = int(outside[0])
        raise InputError(
            f"{path}: start_joints_rad.{system.joint_names[i]} = {q_a[i]:g} is outside its limits "
            f"[{system.q_min[i]:.4f}, {system.q_max[i]:.4f}]"
        )
    return q_a
