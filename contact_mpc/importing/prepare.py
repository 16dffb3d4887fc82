"""A robot's URDF made complete: paths resolved, meshes as primitives, limits and masses filled in, all else left out.

Every value that the file did not have is written down as an assumption, for the person who imports it.
"""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.importing.mesh_shapes import MeshShapes, shapes_of_mesh, write_hull
from contact_mpc.importing.mimic import lock_mimics
from contact_mpc.importing.mirror import mirror_robot
from contact_mpc.importing.xml_numbers import add_origin, read_numbers, read_pose, write_numbers
from contact_mpc.model.urdf import DRAKE, MOVING_JOINTS, SHAPES, WORLD, Pose, mesh_path

KEPT = {
    "robot": {"link", "joint"},
    "link": {"inertial", "collision"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"},
    "collision": {"origin", "geometry"},
}
LEFT_OUT = {
    "visual",
    "material",
    "gazebo",
    "transmission",
    "calibration",
    "safety_controller",
    "ros2_control",
    "verbose",
}
DENSITY_KG_M3 = 1000.0  # of links without mass
LEAST_MASS_KG = 1e-3
BASE = "fixed_base"  # what a link `WORLD` is called
GYRATION_M = 0.01  # radius of gyration of a link without shapes


@dataclass(frozen=True)
class JointOptions:
    """What the file leaves open: limits of joints that have none, and whether joints that follow others are locked.

    effort, velocity : N m (N), rad/s (m/s) by joint name, "": all others
    lock_mimic, mirror : see `contact_mpc.importing.mimic`, `contact_mpc.importing.mirror`
    """

    effort: dict[str, float] = field(default_factory=dict)
    velocity: dict[str, float] = field(default_factory=dict)
    lock_mimic: bool = False
    mirror: bool = False


def prepare_robot(robot: ET.Element, path: Path, options: JointOptions, meshes: Path) -> list[str]:
    """Make a <robot> element complete, in place, and return the assumptions made.

    Hulls that take the place of meshes are written to the folder `meshes`, which shall lie beside the new URDF.

    Raises
    ------
    ConfigError
        Joints lack limits that `options` do not give, or they name unknown joints; lists them.
    ModelError
        A mesh cannot be used; names file, link and mesh.
    """
    notes = _strip(robot) + _rename_world(robot)
    if options.mirror:
        mirror_robot(robot, path)
        notes.append("mirrored in the plane y = 0 of its root: the other hand")
    for link in robot.findall("link"):
        notes += _replace_meshes(link, path, meshes)
    notes += lock_mimics(robot, path, options.lock_mimic)
    notes += _fill_limits(robot, path, options)
    notes += _fill_masses(robot, path)
    return notes


def _strip(element: ET.Element) -> list[str]:
    """Leave out what contact dynamics does not need; name what is not known to be of no matter."""
    unknown: set[str] = set()
    for parent in element.iter():
        if not isinstance(parent.tag, str) or parent.tag not in KEPT:
            continue
        for child in list(parent):
            if child.tag not in KEPT[parent.tag]:
                parent.remove(child)
                if isinstance(child.tag, str) and child.tag not in LEFT_OUT:
                    unknown.add(f"<{child.tag}> of <{parent.tag}>")
    for collision in element.iter("collision"):
        collision.attrib.pop("name", None)  # engines want them unique
    return [f"left out unknown tags: {', '.join(sorted(unknown))}"] if unknown else []


def _rename_world(robot: ET.Element) -> list[str]:
    """Give a link "world" another name, in place."""
    named = [item for item in robot.findall("link") if item.get("name") == WORLD]
    for item in named:
        item.set("name", BASE)
    for end in (*robot.findall("joint/parent"), *robot.findall("joint/child")):
        if named and end.get("link") == WORLD:
            end.set("link", BASE)
    return [f"link '{WORLD}' is called '{BASE}': engines have a world of their own"] if named else []


def _replace_meshes(link: ET.Element, path: Path, meshes: Path) -> list[str]:
    """Put primitives or a convex hull in the place of each mesh."""
    notes = []
    for collision in link.findall("collision"):
        mesh = collision.find("geometry/mesh")
        if mesh is None:
            continue
        name = f"{path}: link '{link.get('name')}'"
        file, scale = _mesh_file(mesh, path, name), read_numbers(mesh, "scale", "1 1 1", name)
        try:
            found = shapes_of_mesh(file, (float(scale[0]), float(scale[1]), float(scale[2])))
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from error
        link.remove(collision)
        add_mesh_shapes(link, found, read_pose(collision.find("origin"), name), meshes / _hull_name(path, link, file))
        notes.append(f"link '{link.get('name')}': mesh {file.name} as {found.describe()}")
    return notes


def _hull_name(path: Path, link: ET.Element, file: Path) -> str:
    return re.sub(r"[^\w.-]", "_", f"{path.stem}_{link.get('name')}_{file.stem}") + ".obj"


def add_mesh_shapes(link: ET.Element, shapes: MeshShapes, X_LM: Pose, file: Path) -> None:
    """Add the <collision> elements of what stands for a mesh at X_LM in a link; a hull goes to `file`, beside it."""
    for piece in shapes.primitives:
        element = ET.SubElement(link, "collision")
        add_origin(element, X_LM @ piece.X_MG)
        add_shape(element, piece.kind, piece.size)
    if shapes.hull is not None:
        write_hull(shapes.hull, file)
        element = ET.SubElement(link, "collision")
        add_origin(element, X_LM)
        ET.SubElement(ET.SubElement(element, "geometry"), "mesh", filename=f"{file.parent.name}/{file.name}")


def _mesh_file(mesh: ET.Element, path: Path, name: str) -> Path:
    try:
        return mesh_path(mesh.get("filename", ""), path)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error


def add_shape(collision: ET.Element, kind: str, size: tuple[float, ...]) -> None:
    """Add the <geometry> of a shape, m."""
    geometry = ET.SubElement(collision, "geometry")
    values = (
        {"size": write_numbers(np.array(size))}
        if kind == "box"
        else dict(zip(SHAPES[kind], map(repr, size), strict=True))
    )
    ET.SubElement(geometry, kind, values)


def _fill_limits(robot: ET.Element, path: Path, options: JointOptions) -> list[str]:
    joints = {str(j.get("name", "")): j for j in robot.findall("joint") if j.get("type") in MOVING_JOINTS}
    given = {name for table in (options.effort, options.velocity) for name in table if name}
    if given - set(joints):
        raise ConfigError(f"{path}: no joint '{sorted(given - set(joints))[0]}' to limit; known: {', '.join(joints)}")
    notes = _limit_turns(joints)
    for key, option, table in (
        ("effort", "--effort-nm", options.effort), ("velocity", "--velocity-rad-s", options.velocity)
    ):  # fmt: skip
        missing = [name for name, joint in joints.items() if not _positive(joint.find("limit"), key)]
        unknown = [name for name in missing if name not in table and "" not in table]
        if unknown:
            raise ConfigError(
                f"{path}: no {key} limit of joints {', '.join(unknown)}; give {option} NUMBER for all, "
                f"or {option} {unknown[0]}=NUMBER for one (may be repeated)"
            )
        for name in {*missing, *(set(table) - {""})}:
            _limit_of(joints[name]).set(key, repr(table.get(name, table.get("", 0.0))))
        if missing:
            notes.append(f"{key} limit as given by {option}: {', '.join(missing)}")
    return notes


def _limit_of(joint: ET.Element) -> ET.Element:
    found = joint.find("limit")
    return ET.SubElement(joint, "limit") if found is None else found


def _limit_turns(joints: dict[str, ET.Element]) -> list[str]:
    """Give continuous joints one turn: MPC and search need a range."""
    endless = [name for name, joint in joints.items() if joint.get("type") == "continuous"]
    for name in endless:
        joints[name].set("type", "revolute")
        limit = _limit_of(joints[name])
        limit.set("lower", repr(-np.pi))
        limit.set("upper", repr(np.pi))
    return [f"range of continuous joints is -pi to pi: {', '.join(endless)}"] if endless else []


def _positive(limit: ET.Element | None, key: str) -> bool:
    try:
        return limit is not None and 0.0 < float(limit.get(key, "nan")) < np.inf
    except ValueError:
        return True  # no number: the reader of URDFs says so


def _fill_masses(robot: ET.Element, path: Path) -> list[str]:
    """Give a mass to links that move by themselves and have none, nor anything fixed to them."""
    children: dict[str, list[str]] = {}
    moving = []
    for joint in robot.findall("joint"):
        ends = [item.get("link", "") for item in (joint.find("parent"), joint.find("child")) if item is not None]
        if len(ends) == 2 and joint.get("type") == "fixed":
            children.setdefault(ends[0], []).append(ends[1])
        elif len(ends) == 2:
            moving.append(ends[1])
    links = {link.get("name", ""): link for link in robot.findall("link")}
    notes = []
    for name in (name for name in moving if name in links):
        rigid, todo = [], [name]
        while todo:
            rigid.append(todo.pop())
            todo += [child for child in children.get(rigid[-1], []) if child in links and child not in rigid]
        if not any(_has_mass(links[item]) for item in rigid):
            mass = _add_inertia(links[name], path)
            notes.append(
                f"link '{name}' has no mass; assumed {1e3 * mass:.1f} g (its shapes at {DENSITY_KG_M3:g} kg/m^3)"
            )
    return notes


def _has_mass(link: ET.Element) -> bool:
    return link.find("inertial/mass") is not None and _positive(link.find("inertial/mass"), "value")


def _add_inertia(link: ET.Element, path: Path) -> float:
    """Add the inertia of a ball of the shapes' mass at their middle, and return that mass, kg."""
    for old in link.findall("inertial"):
        link.remove(old)
    name, volumes, centres = f"{path}: link '{link.get('name')}'", [0.0], [np.zeros(3)]
    for collision in link.findall("collision"):
        volumes.append(_volume(collision, name))
        centres.append(read_pose(collision.find("origin"), name).p)
    total = sum(volumes)
    mass = max(LEAST_MASS_KG, DENSITY_KG_M3 * total)
    centre = sum((v * c for v, c in zip(volumes, centres, strict=True)), np.zeros(3)) / max(total, 1e-12)
    radius = max(GYRATION_M, (3.0 * total / (4.0 * np.pi)) ** (1.0 / 3.0))
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=write_numbers(centre), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(mass))
    moment = repr(0.4 * mass * radius**2)
    ET.SubElement(inertial, "inertia", ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0")
    return mass


def _volume(collision: ET.Element, name: str) -> float:
    for shape in collision.findall("geometry/*"):
        kind = str(shape.tag).replace(DRAKE, "")
        if kind == "box":
            return float(np.prod(read_numbers(shape, "size", "0 0 0", name)))
        radius, length = (read_numbers(shape, key, "0", name)[0] for key in ("radius", "length"))
        ball = 4.0 / 3.0 * np.pi * radius**3
        return float(
            {"sphere": ball, "capsule": ball + np.pi * radius**2 * length}.get(kind, np.pi * radius**2 * length)
        )
    return 0.0
