"""Systems of two shapes each, in which every contact is between shapes of two kinds without closed form.

A free body of the first kind lies on a body of the second kind, which a slide and a hinge carry: faces are parallel in
the default state, so states near it have the several contacts of faces and sides that lie on each other.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from contact_mpc.cli.bench.dynamics.pairs_workload import PAIRS, SHAPES
from contact_mpc.importing.mesh_shapes import write_hull
from contact_mpc.importing.prepare import add_shape
from contact_mpc.importing.xml_numbers import add_origin
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.file_access import write_text

MASS_KG, INERTIA_KG_M2 = 0.2, 2e-4
APART_M = 0.09  # of the two middles in the default state
LEVER_M = 0.05  # from the hinge to the carried body
SYSTEM = """name: {name}
friction: {{default: 0.7}}
robots: [{{name: arm, urdf: {arm}, joint_stiffness_nm_per_rad: 80.0, joint_damping_nms_per_rad: 1.0}}]
objects: [{{name: thing, urdf: {thing}, mobility: free, position_m: [{lever}, 0.0, {apart}]}}]
"""


def write_pair_systems(folder: Path) -> list[Path]:
    """Write one system file per pair of `PAIRS`, named KIND-KIND.yaml, and return them."""
    return [_write_pair(first, second, folder) for first, second in PAIRS]


def _write_pair(first: str, second: str, folder: Path) -> Path:
    name = f"{first}-{second}"
    thing, arm = ET.Element("robot", name="thing"), ET.Element("robot", name="arm")
    _add_body(thing, "thing", first, 0.0, folder)
    ET.SubElement(arm, "link", name="base")
    ET.SubElement(arm, "link", name="carriage")
    _add_body(arm, "tip", second, LEVER_M, folder)
    _add_joint(arm, "slide", "prismatic", ("base", "carriage"), "0 0 1")
    _add_joint(arm, "hinge", "revolute", ("carriage", "tip"), "0 1 0")
    files = {"thing": f"{name}_thing.urdf", "arm": f"{name}_arm.urdf"}
    for key, robot in (("thing", thing), ("arm", arm)):
        write_text(folder / files[key], ET.tostring(robot, encoding="unicode"))
    write_text(folder / f"{name}.yaml", SYSTEM.format(name=name, lever=LEVER_M, apart=APART_M, **files))
    return folder / f"{name}.yaml"


def _add_body(robot: ET.Element, name: str, kind: str, along_m: float, folder: Path) -> None:
    """Add a link with a shape of `SHAPES` at (along_m, 0, 0)."""
    link, place = ET.SubElement(robot, "link", name=name), Pose(np.eye(3), np.array([along_m, 0.0, 0.0]))
    inertial = ET.SubElement(link, "inertial")
    add_origin(inertial, place)
    ET.SubElement(inertial, "mass", value=repr(MASS_KG))
    moments = dict.fromkeys(("ixx", "iyy", "izz"), repr(INERTIA_KG_M2)) | dict.fromkeys(("ixy", "ixz", "iyz"), "0")
    ET.SubElement(inertial, "inertia", moments)
    collision, shape = ET.SubElement(link, "collision"), SHAPES[kind]
    add_origin(collision, place)
    if shape.kind != "hull":
        add_shape(collision, kind, shape.size)
        return
    file = folder / f"{kind}.obj"
    write_hull(shape.vertices, file)
    ET.SubElement(ET.SubElement(collision, "geometry"), "mesh", filename=file.name)


def _add_joint(robot: ET.Element, name: str, kind: str, links: tuple[str, str], axis: str) -> None:
    joint = ET.SubElement(robot, "joint", name=name, type=kind)
    for tag, link in zip(("parent", "child"), links, strict=True):
        ET.SubElement(joint, tag, link=link)
    ET.SubElement(joint, "axis", xyz=axis)
    ET.SubElement(joint, "limit", lower="-2", upper="2", effort="20", velocity="5")
