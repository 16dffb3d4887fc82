"""A robot's URDF made complete: paths resolved, meshes as primitives, limits and masses filled in, all else left out.

Every value that the file did not have is written down as an assumption, for the person who imports it.
"""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.importing.masses import fill_masses, mend_inertias
from contact_mpc.importing.mesh_shapes import MeshShapes, shapes_of_mesh, write_hull
from contact_mpc.importing.mimic import lock_mimics
from contact_mpc.importing.mirror import mirror_robot
from contact_mpc.importing.xml_numbers import add_origin, is_positive, read_numbers, read_pose, write_numbers
from contact_mpc.model.urdf import MOVING_JOINTS, SHAPES, WORLD, Pose, mesh_path

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
BASE = "fixed_base"  # what a link `WORLD` is called


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
    notes += fill_masses(robot, path)
    notes += mend_inertias(robot, path)
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
    moving = [j for j in robot.findall("joint") if j.get("type") in MOVING_JOINTS and j.find("mimic") is None]
    joints = {str(j.get("name", "")): j for j in moving}
    given = {name for table in (options.effort, options.velocity) for name in table if name}
    if given - set(joints):
        raise ConfigError(f"{path}: no joint '{sorted(given - set(joints))[0]}' to limit; known: {', '.join(joints)}")
    notes = _limit_turns(joints)
    for key, option, table in (
        ("effort", "--effort-nm", options.effort), ("velocity", "--velocity-rad-s", options.velocity)
    ):  # fmt: skip
        missing = [name for name, joint in joints.items() if not is_positive(joint.find("limit"), key)]
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
