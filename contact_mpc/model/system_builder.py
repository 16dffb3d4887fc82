"""A system from its file: URDFs read, joints ordered, contact pairs and limits checked."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.model.contact_points import ContactPair, PointBuilder
from contact_mpc.model.kinematic_tree import Geometry, TreeBuilder
from contact_mpc.model.rotations import (
    matrix_to_quaternion,
    rotation_from_rpy,
)
from contact_mpc.model.system import System, expand_joint_values
from contact_mpc.model.system_config import ObjectConfig, RobotConfig, SystemConfig
from contact_mpc.model.urdf import WORLD, Joint, Pose, Shape, Urdf, read_urdf
from contact_mpc.model.urdf_edit import robot_edit
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml, validate


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
    if not joints:
        raise ModelError(f"{path}: no robot has a joint that moves; expected revolute or prismatic joints in the URDF")
    _check_limits(config, urdfs)
    _check_mimic_joints(config, urdfs)
    _check_roots(urdfs)
    _check_fingertips(config, builder.links, path)
    _check_friction(config, builder.links, path)
    q_u = np.concatenate([np.zeros(0), *q_free])
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
        config,
        path,
        urdfs,
        tree,
        geometries,
        pairs,
        contacts,
        joints,
        builder.links,
        len(tree.dof_body) - len(joints),
        len(q_u),
        np.concatenate([q_u, *q_robots]),
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
            expand_joint_values(system, robot, key, "", robot)
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


def _check_fingertips(config: SystemConfig, links: dict[tuple[str, str], tuple[int, Pose]], path: Path) -> None:
    for robot in config.robots:
        known = [link for owner, link in links if owner == robot.name]
        unknown = sorted(set(robot.fingertips) - set(known))
        if unknown:
            raise ConfigError(
                f"{path}: robots.{robot.name}.fingertips: no link '{unknown[0]}'; known: {', '.join(known)}"
            )


def _check_limits(config: SystemConfig, urdfs: dict[str, Urdf]) -> None:
    for robot in config.robots:
        urdf = urdfs[robot.name]
        for joint in urdf.moving_joints:
            limits = {"lower": joint.lower, "upper": joint.upper, "velocity": joint.velocity, "effort": joint.effort}
            bad = [key for key, value in limits.items() if not np.isfinite(value)]
            if bad or joint.lower >= joint.upper or min(joint.velocity, joint.effort) <= 0.0:
                raise ModelError(
                    f"{urdf.path}: joint '{joint.name}' needs finite <limit> lower < upper (rad or m), velocity > 0 "
                    f"and effort > 0; found {limits}"
                )


def _check_mimic_joints(config: SystemConfig, urdfs: dict[str, Urdf]) -> None:
    for item in config.objects:
        for name, (_, mimic) in urdfs[item.name].mimics.items():
            raise ModelError(
                f"{urdfs[item.name].path}: joint '{name}' mimics '{mimic.joint}': only robots have joints that follow "
                "others; take <mimic> out, or make the joint fixed"
            )


def _check_roots(urdfs: dict[str, Urdf]) -> None:
    for urdf in urdfs.values():
        if WORLD in urdf.links:
            raise ModelError(
                f"{urdf.path}: link '{WORLD}': engines have a world of their own; give the link another name, as "
                "`contact-mpc import` does"
            )


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
