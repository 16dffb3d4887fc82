"""One URDF of a whole system, as robot_state_publisher, RViz and Foxglove read it: robots, objects, what is fixed.

Robots hang from the link `world` where the system puts them; objects by floating joints, whose frames
`object_frames` publishes. Links carry the name of their robot or object before them, joints the system's names.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

from contact_mpc.model.system import System
from contact_mpc.model.system_config import FixedConfig, Vector3
from contact_mpc.model.urdf import Urdf
from contact_mpc.ros.launching.robot_description import to_urdf_1_0

WORLD = "world"
GROUND_M, GROUND_THICKNESS_M = 2.0, 1e-3  # of the square that is drawn for a half-space
PACKAGE_SCHEMES = ("package://", "file://", "http://", "https://")


def describe_system(system: System) -> str:
    """Return the URDF of a system; meshes are named by the absolute paths of their files."""
    whole = ET.Element("robot", name=system.name)
    ET.SubElement(whole, "link", name=WORLD)
    for robot in system.config.robots:
        rpy = (0.0, 0.0, 0.0) if robot.base_slides else robot.base_rpy_rad  # slides carry the turn themselves
        _add(whole, system.urdfs[robot.name], robot.name, "fixed", robot.base_position_m, rpy)
    for item in system.config.objects:
        kind = "floating" if item.mobility == "free" else "fixed"
        _add(whole, system.urdfs[item.name], item.name, kind, item.position_m, item.rpy_rad)
    for shape in system.config.fixed:
        _add_fixed(whole, shape)
    return to_urdf_1_0(ET.tostring(whole, encoding="unicode"))


def link_frame(owner: str, link: str) -> str:
    """Return the name of a link's frame."""
    return f"{owner}/{link}"


def _add(whole: ET.Element, urdf: Urdf, owner: str, kind: str, position: Vector3, rpy: Vector3) -> None:
    part = ET.fromstring(urdf.text)
    for element in [*part.findall("link"), *part.findall("joint")]:
        if element.tag == "link":
            element.set("name", link_frame(owner, element.get("name", "")))
        for end in (*element.findall("parent"), *element.findall("child")):
            end.set("link", link_frame(owner, end.get("link", "")))
        if element.tag == "joint" and element.get("type") == "fixed":
            element.set("name", link_frame(owner, element.get("name", "")))
        for mesh in element.iter("mesh"):
            mesh.set("filename", _absolute(mesh.get("filename", ""), urdf.path))
        for material in element.iter("material"):
            material.set("name", link_frame(owner, material.get("name", "")))
        whole.append(element)
    _join(whole, link_frame(owner, urdf.root), kind, position, rpy)


def _add_fixed(whole: ET.Element, shape: FixedConfig) -> None:
    link = ET.SubElement(whole, "link", name=shape.name)
    visual = ET.SubElement(link, "visual")
    geometry = ET.SubElement(visual, "geometry")
    if shape.shape == "half_space":
        ET.SubElement(visual, "origin", xyz=f"0 0 {-0.5 * GROUND_THICKNESS_M}", rpy="0 0 0")
        ET.SubElement(geometry, "box", size=f"{GROUND_M} {GROUND_M} {GROUND_THICKNESS_M}")
    elif shape.shape == "box":
        ET.SubElement(geometry, "box", size=_text(shape.size_m))
    else:
        sizes = dict(zip(("radius", "length"), map(repr, shape.size_m), strict=False))
        ET.SubElement(geometry, shape.shape, sizes)
    _join(whole, shape.name, "fixed", shape.position_m, shape.rpy_rad)


def _join(whole: ET.Element, child: str, kind: str, position: Vector3, rpy: Vector3) -> None:
    joint = ET.SubElement(whole, "joint", name=f"{WORLD}_to_{child}", type=kind)
    ET.SubElement(joint, "parent", link=WORLD)
    ET.SubElement(joint, "child", link=child)
    ET.SubElement(joint, "origin", xyz=_text(position), rpy=_text(rpy))


def _absolute(filename: str, urdf: Path) -> str:
    if filename.startswith(PACKAGE_SCHEMES):
        return filename
    return (urdf.parent / filename).resolve().as_uri()


def _text(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)
