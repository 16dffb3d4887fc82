"""Planning problems: where an object starts and shall go, and how the tree is grown (config/planning/*.yaml)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.model.kinematic_tree import FREE, REVOLUTE
from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix, rotation_from_rpy, rpy_from_rotation
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.urdf import Urdf
from contact_mpc.planning.tree.problem_config import ProblemFile, Range
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml, validate

FREE_COORDINATES = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")


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

    @property
    def metric_weight(self) -> FloatArray:
        """Factors (n_v_u,) on changes of q_u whose length is the global metric, rad: 1 of turns, 1/L of ways."""
        return np.where(self.turns, 1.0, 1.0 / self.file.rrt.length_m)

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


def coordinates_of_object(problem: Problem, q: FloatArray) -> dict[str, float]:
    """Return the coordinates of q (n_q,) by name, as in `objects`; turns of free objects are those next to the goal's.

    The inverse of `object_from_coordinates`.
    """
    system, x = problem.system, list[float]()
    names = coordinate_names(system)
    for kind, i in zip(system.tree.joint, system.tree.i_q, strict=True):
        if i >= system.n_q_u:
            break
        if kind == FREE:
            goal = np.array([problem.file.objects[name].goal for name in names[len(x) + 3 : len(x) + 6]])
            rpy = rpy_from_rotation(quaternion_to_matrix(q[i : i + 4]))
            x += [*q[i + 4 : i + 7], *(rpy + 2.0 * np.pi * np.round((goal - rpy) / (2.0 * np.pi)))]
        else:
            x.append(q[i])
    return dict(zip(names, map(float, x), strict=True))


def object_bounds(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return bounds (n_v_u,) of q_u minus the goal: the ranges and half their width more, none on free rotations."""
    system, goal = problem.system, problem.goal_u
    lower, upper = np.full(system.n_v_u, -np.inf), np.full(system.n_v_u, np.inf)
    margin = 0.5 * (problem.upper - problem.lower)
    low, high = problem.lower - margin, problem.upper + margin
    j = 0
    for kind, i, i_v in zip(system.tree.joint, system.tree.i_q, system.tree.i_v, strict=True):
        if i >= system.n_q_u:
            break
        if kind == FREE:
            rows, x, goal_x = slice(i_v + 3, i_v + 6), slice(j, j + 3), goal[i + 4 : i + 7]
        else:
            rows, x, goal_x = slice(i_v, i_v + 1), slice(j, j + 1), goal[i : i + 1]
        lower[rows], upper[rows] = low[x] - goal_x, high[x] - goal_x
        j += 6 if kind == FREE else 1
    return lower, upper


def lost_object(problem: Problem, q: FloatArray) -> str:
    """Return where the object of q (n_q,) is, if it is lost: too far from all that trees go through; "" if not.

    Further beyond the bounds of trees than `parts.lost_rad` in the global metric; 1 rad is about the object's own size.
    """
    system, (lower, upper) = problem.system, object_bounds(problem)
    e = system.difference(problem.configuration(problem.goal_u), q)[: system.n_v_u]
    beyond = float(np.linalg.norm(problem.metric_weight * np.maximum(np.maximum(lower - e, e - upper), 0.0)))
    if beyond <= problem.file.parts.lost_rad:
        return ""
    angle, distance = problem.errors(q)
    return f"the object is lost: {angle:.0f} deg and {distance:.0f} mm from the goal, far outside its ranges"


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


def with_tolerances(problem: Problem, tolerance_deg: float, tolerance_mm: float) -> Problem:
    """Return a problem with tighter or looser tolerances of its goal."""
    file = problem.file.model_copy(update={"tolerance_deg": tolerance_deg, "tolerance_mm": tolerance_mm})
    return replace(problem, file=file)


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
