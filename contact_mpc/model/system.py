"""A system: robots and objects from a YAML and URDFs, with index maps, stiffness, limits and contact pairs."""

import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import ConfigError, InputError, ModelError
from contact_mpc.model.contact_points import ContactPair, PointBuilder, PointContact
from contact_mpc.model.kinematic_tree import FREE, Geometry, Tree, TreeBuilder
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.resources import resource
from contact_mpc.model.rotations import (
    matrix_to_quaternion,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    rotation_from_rpy,
    rotation_log,
)
from contact_mpc.model.system_config import GainSet, ObjectConfig, RobotConfig, SystemConfig, read_yaml, validate
from contact_mpc.model.urdf import Joint, Pose, Shape, Urdf, read_urdf
from contact_mpc.model.urdf_edit import robot_edit

FloatArray = NDArray[np.float64]
UNIT_QUATERNION_TOLERANCE = 1e-6
INVERSE_KINEMATICS_STEPS = 50


@dataclass(frozen=True)
class System:
    """Robots and objects; q = [q_u; q_a] with the objects first.

    A free object has q = (qw, qx, qy, qz, px, py, pz) and v = (omega_W, dp_W), the angular and linear velocity of its
    frame in the world frame. Built by `load_system`.
    """

    config: SystemConfig
    path: Path
    urdfs: dict[str, Urdf]
    tree: Tree
    geometries: tuple[Geometry, ...]  # as in the URDFs; the tree has the points that stand for some of them, too
    pairs: tuple[ContactPair, ...]
    contacts: tuple[PointContact, ...]  # what the pairs are reduced to, one per row of every contact array
    joints: tuple[Joint, ...]  # actuated, in the order of q_a
    links: dict[tuple[str, str], tuple[int, Pose]]  # (owner, link) -> body, pose of the link in it
    n_v_u: int
    n_q_u: int
    q_default: FloatArray

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.config.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the actuated joints in the order of q_a."""
        return tuple(joint.name for joint in self.joints)

    @property
    def object_names(self) -> tuple[str, ...]:
        """Names of the objects in the order of q_u."""
        return tuple(item.name for item in self.config.objects)

    @property
    def n_q(self) -> int:
        """Length of q."""
        return self.n_q_u + self.n_a

    @property
    def n_v(self) -> int:
        """Length of v."""
        return self.n_v_u + self.n_a

    @property
    def n_a(self) -> int:
        """Number of actuated joints."""
        return len(self.joints)

    @cached_property
    def q_min(self) -> FloatArray:
        """Lower joint limits (n_a,), rad (m)."""
        return np.array([joint.lower for joint in self.joints])

    @cached_property
    def q_max(self) -> FloatArray:
        """Upper joint limits (n_a,), rad (m)."""
        return np.array([joint.upper for joint in self.joints])

    @cached_property
    def v_max(self) -> FloatArray:
        """Joint velocity limits (n_a,), rad/s (m/s)."""
        return np.array([joint.velocity for joint in self.joints])

    @cached_property
    def tau_max_nm(self) -> FloatArray:
        """Joint effort limits (n_a,), N m (N)."""
        return np.array([joint.effort for joint in self.joints])

    @cached_property
    def kp(self) -> FloatArray:
        """Joint stiffness (n_a,), N m/rad."""
        return self._per_joint("joint_stiffness_nm_per_rad")

    @cached_property
    def kd(self) -> FloatArray:
        """Joint damping (n_a,), N m s/rad."""
        return self._per_joint("joint_damping_nms_per_rad")

    @cached_property
    def reflected_inertia(self) -> FloatArray:
        """Rotor inertia at the joint (n_a,), kg m^2."""
        return self._per_joint("joint_reflected_inertia_kg_m2")

    def gains(self, name: str = "") -> tuple[FloatArray, FloatArray]:
        """Return Kp, N m/rad, and Kd, N m s/rad, (n_a,) each: those of the `gain_sets` of this name, "": the own ones.

        Raises
        ------
        ConfigError
            A robot has no gain set of this name, or one with another number of joints.
        """
        if not name:
            return self.kp, self.kd
        for robot in self.config.robots:
            if name not in robot.gain_sets:
                known = ", ".join(robot.gain_sets) or "none"
                raise ConfigError(f"gain_set = '{name}': {self.path}: robots.{robot.name}.gain_sets has {known}")
        kp, kd = (
            np.concatenate([_expand(self, r, key, f"gain_sets.{name}.", r.gain_sets[name]) for r in self.config.robots])
            for key in ("joint_stiffness_nm_per_rad", "joint_damping_nms_per_rad")
        )
        return kp, kd

    def _per_joint(self, key: str) -> FloatArray:
        values = [_expand(self, robot, key, "", robot) for robot in self.config.robots]
        return np.concatenate(values)

    def object_pose(self, q: FloatArray, index: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return (R_WB, p_WB) of the object's frame."""
        R, p = forward_kinematics(self.tree, np.ascontiguousarray(q, dtype=np.float64))
        body, X_BL = self._object_frames[index]
        return R[body] @ X_BL.R, R[body] @ X_BL.p + p[body]

    @cached_property
    def _object_frames(self) -> list[tuple[int, Pose]]:
        """Body and pose in it of each object's frame: the last link of its URDF that moves."""
        return [
            [frame for (owner, _), frame in self.links.items() if owner == item.name and frame[0] >= 0][-1]
            for item in self.config.objects
        ]

    def q_from_object_pose(
        self, R_WB: FloatArray, p_WB: FloatArray, q_guess: FloatArray, index: int = 0
    ) -> FloatArray:
        """Return q_u with the object's frame at (R_WB, p_WB); least squares where its joints cannot reach the pose.

        Gauss-Newton on the pose error from q_guess (n_q,); exact in one step for a free object.
        """
        q = np.array(q_guess, dtype=np.float64)
        body, _ = self._object_frames[index]
        dofs = self.tree.chain[body, : self.tree.chain_count[body]]
        for _ in range(INVERSE_KINEMATICS_STEPS):
            R, p = self.object_pose(q, index)
            error = np.concatenate([rotation_log(R_WB @ R.T), p_WB - p])
            step = np.zeros(self.n_v)
            step[dofs] = np.linalg.lstsq(self._pose_jacobian(q, index, dofs), error, rcond=None)[0]
            q = self.integrate(q, step)
            if np.max(np.abs(step)) < 1e-13:
                break
        return q[: self.n_q_u]

    def _pose_jacobian(self, q: FloatArray, index: int, dofs: NDArray[np.int64]) -> FloatArray:
        epsilon, columns = 1e-6, []
        for d in dofs:
            step = np.zeros(self.n_v)
            step[d] = epsilon
            (R1, p1), (R0, p0) = (self.object_pose(self.integrate(q, s * step), index) for s in (1.0, -1.0))
            columns.append(np.concatenate([rotation_log(R1 @ R0.T), p1 - p0]) / (2.0 * epsilon))
        return np.array(columns).T

    def integrate(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return q ⊕ dq: quaternions are turned on the left by Exp(dq), everything else is added."""
        out = np.empty(self.n_q)
        for kind, i, j in zip(self.tree.joint, self.tree.i_q, self.tree.i_v, strict=True):
            if kind == FREE:
                turned = quaternion_multiply(quaternion_exp(dq[j : j + 3]), q[i : i + 4])
                out[i : i + 4] = turned / np.linalg.norm(turned)
                out[i + 4 : i + 7] = q[i + 4 : i + 7] + dq[j + 3 : j + 6]
            else:
                out[i] = q[i] + dq[j]
        return out

    def difference(self, q0: FloatArray, q1: FloatArray) -> FloatArray:
        """Return dq (n_v,) with q0 ⊕ dq = q1."""
        out = np.empty(self.n_v)
        for kind, i, j in zip(self.tree.joint, self.tree.i_q, self.tree.i_v, strict=True):
            if kind == FREE:
                conjugate = q0[i : i + 4] * np.array([1.0, -1.0, -1.0, -1.0])
                out[j : j + 3] = quaternion_log(quaternion_multiply(q1[i : i + 4], conjugate))
                out[j + 3 : j + 6] = q1[i + 4 : i + 7] - q0[i + 4 : i + 7]
            else:
                out[j] = q1[i] - q0[i]
        return out

    def check_q(self, q: FloatArray) -> FloatArray:
        """Return q as a contiguous float array; raises InputError on wrong shape, NaN or a non-unit quaternion."""
        q = check_vector("q", q, self.n_q)
        for kind, i in zip(self.tree.joint, self.tree.i_q, strict=True):
            norm = np.linalg.norm(q[i : i + 4])
            if kind == FREE and abs(norm - 1.0) > UNIT_QUATERNION_TOLERANCE:
                raise InputError(f"q[{i}:{i + 4}] has norm {norm:.6g}; a unit quaternion wxyz is needed: normalise it")
        return q

    def check_u(self, u: FloatArray) -> FloatArray:
        """Return u as a contiguous float array; raises InputError on wrong shape or non-finite values."""
        return check_vector("u", u, self.n_a)

    @cached_property
    def digest(self) -> str:
        """Hash over the YAML and every URDF."""
        digest = hashlib.sha256(self.config.model_dump_json(exclude_defaults=True).encode())
        for key in sorted(self.urdfs):
            digest.update(self.urdfs[key].path.read_bytes())
        return digest.hexdigest()[:16]

    def provenance(self) -> dict[str, Any]:
        """Return what identifies the system: its name and a hash over its YAML and URDFs."""
        return {"system": self.name, "system_digest": self.digest}


def check_vector(name: str, value: FloatArray, size: int) -> FloatArray:
    """Return value as a contiguous float (size,) array; raises InputError otherwise."""
    if np.iscomplexobj(value):
        raise InputError(f"{name} has complex entries; expected ({size},) real numbers")
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} = {value!r:.60}; expected ({size},) numbers") from error
    if array.shape != (size,):
        raise InputError(f"{name} has shape {array.shape}; expected ({size},)")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} has non-finite values at indices {np.flatnonzero(~np.isfinite(array)).tolist()}")
    return array


def check_number(name: str, value: float) -> float:
    """Return value as a float; raises InputError where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} = {value!r:.60}; expected a number") from error


def load_system(name: str | Path) -> System:
    """Load a system by the name of a file in config/systems or by the path of a YAML.

    Raises
    ------
    ConfigError
        The file is missing, a key is unknown or a value is out of range.
    ModelError
        A URDF cannot be used, e.g. an actuated joint has no limits.
    """
    path = resource("systems", name)
    return build_system(validate(SystemConfig, read_yaml(path), path), path)


def build_system(config: SystemConfig, path: Path) -> System:
    """Build a system from a validated configuration; URDF files are looked for beside `path`, then in urdf/."""
    _check_names(config, path)
    builder, urdfs = TreeBuilder(), {}
    q_free: list[FloatArray] = []
    for item in config.objects:
        urdfs[item.name] = _find_urdf(item.urdf, path)
        X_WR = Pose(rotation_from_rpy(np.array(item.rpy_rad)), np.array(item.position_m))
        n_joints = len(builder.joints)
        builder.add(urdfs[item.name], item.name, X_WR, free=item.mobility == "free")
        q_free.append(_default_positions(item, builder.joints[n_joints:], path))
        if item.mobility == "free":
            q_free[-1] = np.concatenate([matrix_to_quaternion(X_WR.R), X_WR.p, q_free[-1]])
    n_unactuated, q_robots = len(builder.joints), []
    for robot in config.robots:
        urdfs[robot.name] = _find_urdf(robot.urdf, path, robot_edit(robot))
        X_WR = robot_base(robot)
        n_joints = len(builder.joints)
        builder.add(urdfs[robot.name], robot.name, X_WR, free=False)
        q_robots.append(_default_positions(robot, builder.joints[n_joints:], path))
    joints = tuple(builder.joints[n_unactuated:])
    _check_limits(config, urdfs)
    _check_friction(config, builder.links, path)
    q_u = np.concatenate(q_free)
    for rest in config.fixed:
        pose = Pose(rotation_from_rpy(np.array(rest.rpy_rad)), np.array(rest.position_m))
        builder.add_fixed(rest.name, Shape(rest.shape, rest.size_m, pose))
    geometries = tuple(builder.geometries)
    pairs = _contact_pairs(config, builder.geometries)
    points = PointBuilder(builder.geometries)
    contacts = points.expand(pairs)
    builder.geometries = points.geometries
    tree = builder.build()
    system = System(
        config, path, urdfs, tree, geometries, pairs, contacts, joints, builder.links,
        len(tree.dof_body) - len(joints), len(q_u), np.concatenate([q_u, *q_robots]),
    )
    _check_joints(system)
    return system


def robot_base(robot: RobotConfig) -> Pose:
    """Return the pose of a robot's root link; on slides the last carriage turns the robot, not the root."""
    rpy = (0.0, 0.0, 0.0) if robot.base_slides else robot.base_rpy_rad
    return Pose(rotation_from_rpy(np.array(rpy)), np.array(robot.base_position_m))


def _find_urdf(name: str, path: Path, edit: Callable[[ET.Element], None] | None = None) -> Urdf:
    beside = path.parent / name
    return read_urdf(beside if beside.is_file() else resource("urdf", name), edit)


def _default_positions(item: RobotConfig | ObjectConfig, joints: list[Joint], path: Path) -> FloatArray:
    """Return the default positions (n,) of one item's joints: as named in the file, else within limits nearest to 0."""
    given = item.default_joints_rad
    unknown = sorted(set(given) - {joint.name for joint in joints})
    if unknown:
        raise ConfigError(
            f"{path}: {item.name}.default_joints_rad: no joint '{unknown[0]}'; known: "
            f"{', '.join(joint.name for joint in joints)}"
        )
    for joint in joints:
        value = given.get(joint.name, np.nan)
        if value < joint.lower or value > joint.upper:
            raise ConfigError(
                f"{path}: {item.name}.default_joints_rad.{joint.name} = {value} is outside "
                f"[{joint.lower:g}, {joint.upper:g}] rad (m)"
            )
    return np.array([given.get(joint.name, _nearest_to_zero(joint)) for joint in joints])


def _nearest_to_zero(joint: Joint) -> float:
    lower, upper = np.nan_to_num([joint.lower, joint.upper], nan=0.0)
    return float(np.clip(0.0, lower, upper))


def _check_names(config: SystemConfig, path: Path) -> None:
    names = [item.name for group in (config.objects, config.robots, config.fixed) for item in group]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"{path}: the name '{twice[0]}' is given twice; objects, robots, fixed shapes need one each")


def _check_joints(system: System) -> None:
    """Joints are matched by name in tasks and messages; gains come one per joint."""
    names = system.joint_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ModelError(f"{system.path}: two robots have a joint '{twice[0]}'; give one of them a joint_prefix")
    for robot in system.config.robots:
        for key in ("joint_stiffness_nm_per_rad", "joint_damping_nms_per_rad", "joint_reflected_inertia_kg_m2"):
            _expand(system, robot, key, "", robot)
        for name in robot.gain_sets:
            system.gains(name)


def _check_friction(config: SystemConfig, links: dict[tuple[str, str], tuple[int, Pose]], path: Path) -> None:
    known = {name for key in links for name in key} | {item.name for item in config.fixed}
    for index, pair in enumerate(config.friction.pairs):
        for name in pair.bodies:
            if name not in known:
                raise ConfigError(
                    f"{path}: friction.pairs.{index}.bodies: no link, robot or object '{name}'; "
                    f"known: {', '.join(sorted(known))}"
                )


def _check_limits(config: SystemConfig, urdfs: dict[str, Urdf]) -> None:
    for robot in config.robots:
        urdf = urdfs[robot.name]
        for joint in (joint for joint in urdf.joints if joint.kind != "fixed"):
            limits = {"lower": joint.lower, "upper": joint.upper, "velocity": joint.velocity, "effort": joint.effort}
            bad = [key for key, value in limits.items() if not np.isfinite(value)]
            if bad or joint.lower >= joint.upper or min(joint.velocity, joint.effort) <= 0.0:
                raise ModelError(
                    f"{urdf.path}: joint '{joint.name}' needs finite <limit> lower < upper (rad or m), velocity > 0 "
                    f"and effort > 0; found {limits}"
                )


def _expand(
    system: System, robot: RobotConfig, key: str, section: str, source: RobotConfig | GainSet
) -> FloatArray:
    """Return a value per joint of a robot, from a section of its part of the system file."""
    count = sum(joint.kind != "fixed" for joint in system.urdfs[robot.name].joints)
    value = np.atleast_1d(np.array(getattr(source, key), dtype=np.float64))
    if value.size not in (1, count):
        raise ConfigError(
            f"{system.path}: robots.{robot.name}.{section}{key} has {value.size} values; expected 1 or {count}, "
            "one per joint"
        )
    return np.broadcast_to(value, (count,)).copy()


def _contact_pairs(config: SystemConfig, geometries: list[Geometry]) -> tuple[ContactPair, ...]:
    """Pair every object geometry with every geometry of a robot and of other objects."""
    objects = [item.name for item in config.objects]
    pairs = []
    for a, first in enumerate(geometries):
        if first.owner not in objects:
            continue
        for b, second in enumerate(geometries):
            is_counted = second.owner in objects and objects.index(second.owner) <= objects.index(first.owner)
            if not is_counted:
                pairs.append(ContactPair(a, b, _friction(config, first, second)))
    return tuple(pairs)


def _friction(config: SystemConfig, first: Geometry, second: Geometry) -> float:
    mu = config.friction.default
    for pair in config.friction.pairs:
        x, y = pair.bodies
        names_a, names_b = {first.owner, first.link}, {second.owner, second.link}
        if (x in names_a and y in names_b) or (x in names_b and y in names_a):
            mu = pair.mu
    return mu
