"""Edits of a robot's URDF that its system file asks for: joint names with a prefix, a base on linear axes."""

import xml.etree.ElementTree as ET
from collections.abc import Callable

from contact_mpc.errors import ConfigError
from contact_mpc.model.system_config import RobotConfig, SlideConfig, Vector3

UNIT_VECTORS = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
CARRIAGE_RADIUS_M = 0.05  # of gyration


def robot_edit(config: RobotConfig) -> Callable[[ET.Element], None]:
    """Return what turns the URDF of a robot into the one that its system file describes."""

    def edit(robot: ET.Element) -> None:
        if config.base_slides:
            _add_slides(robot, config)
        for joint in robot.findall("joint"):
            joint.set("name", config.joint_prefix + joint.get("name", ""))
            for mimic in joint.findall("mimic"):
                mimic.set("joint", config.joint_prefix + mimic.get("joint", ""))

    return edit


def _add_slides(robot: ET.Element, config: RobotConfig) -> None:
    """Put the root on carriages that slide along the axes of the world; the last one carries it turned by base_rpy."""
    children = {child.get("link") for child in robot.findall("joint/child")}
    links = [link.get("name", "") for link in robot.findall("link")]
    root = next((name for name in links if name not in children), None)
    if root is None:
        raise ConfigError(f"robots.{config.name}.base_slides: the URDF has no link without a parent to put on slides")
    added = [ET.Element("link", name="slide_base")]
    parent = "slide_base"
    for slide in config.base_slides:
        carriage = f"{slide.name}_carriage"
        if carriage in links:
            raise ConfigError(f"robots.{config.name}.base_slides.{slide.name}: the URDF has a link {carriage} already")
        added += [_slide_joint(slide, parent, carriage), _carriage(carriage, slide.mass_kg)]
        parent = carriage
    weld = _joint("slide_weld", "fixed", parent, root)
    ET.SubElement(weld, "origin", xyz="0 0 0", rpy=_text(config.base_rpy_rad))
    robot[:0] = [*added, weld]


def _joint(name: str, kind: str, parent: str, child: str) -> ET.Element:
    joint = ET.Element("joint", name=name, type=kind)
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    return joint


def _slide_joint(slide: SlideConfig, parent: str, child: str) -> ET.Element:
    joint = _joint(slide.name, "prismatic", parent, child)
    ET.SubElement(joint, "axis", xyz=UNIT_VECTORS[slide.axis])
    limits = {"lower": slide.lower_m, "upper": slide.upper_m, "effort": slide.effort_n, "velocity": slide.velocity_m_s}
    ET.SubElement(joint, "limit", {key: repr(value) for key, value in limits.items()})
    return joint


def _carriage(name: str, mass_kg: float) -> ET.Element:
    link = ET.Element("link", name=name)
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "mass", value=repr(mass_kg))
    moment = repr(mass_kg * CARRIAGE_RADIUS_M**2)
    ET.SubElement(inertial, "inertia", ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0")
    return link


def _text(values: Vector3) -> str:
    return " ".join(repr(value) for value in values)
