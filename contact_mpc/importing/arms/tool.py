"""A simple end of an arm: everything beyond a link is cut off, and a stick, ball or palm put there.

The tool points along the z axis of the link, as flanges do. Its frame is TOOL, at the far end.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError
from contact_mpc.importing.prepare import add_shape
from contact_mpc.importing.xml_numbers import add_origin, write_numbers
from contact_mpc.model.urdf import Pose

TOOL = "tool"
KINDS = {"stick": ("length", "radius"), "ball": ("offset", "radius"), "palm": ("offset", "thickness", "width")}
TOOLS = ", ".join(f"{kind}:{','.join(sizes)}" for kind, sizes in KINDS.items())
DENSITY_KG_M3 = 1000.0
OPTION = "--tool"


@dataclass(frozen=True)
class Tool:
    """A kind of `KINDS` with its sizes, m, on a link."""

    link: str
    kind: str
    size: tuple[float, ...]

    @property
    def shape(self) -> tuple[str, tuple[float, ...], float]:
        """Kind and size of its collision shape, and where along z that has its middle, m."""
        first, *rest = self.size
        if self.kind == "stick":
            radius = rest[0]
            return "capsule", (radius, first - radius), 0.5 * (first - radius)
        if self.kind == "ball":
            return "sphere", (rest[0],), first
        thickness, width = rest  # a plate that hangs along z, its faces along x
        return "box", (thickness, width, width), first


def read_tool(text: str) -> Tool:
    """Return the tool of LINK=KIND:SIZES, e.g. panda_link8=stick:0.15,0.012.

    Raises
    ------
    ConfigError
        It does not read so.
    """
    link, equals, what = text.partition("=")
    kind, _, numbers = what.partition(":")
    try:
        size = tuple(float(item) for item in numbers.split(","))
    except ValueError:
        size = ()
    good = kind in KINDS and len(size) == len(KINDS[kind]) and all(1e-3 <= value <= 2.0 for value in size)
    if not (link and equals and good) or (kind == "stick" and size[0] <= 2.0 * size[1]):
        raise ConfigError(
            f"{OPTION} {text}: expected LINK=KIND:SIZES of {TOOLS} (0.001 to 2 m; a stick is longer than thick)"
        )
    return Tool(link, kind, size)


def mount_tool(robot: ET.Element, path: Path, tool: Tool) -> str:
    """Cut off what is beyond the tool's link, in place, add the tool, and return what was done.

    Raises
    ------
    ConfigError
        No such link, or the file has a link with the tool's name already.
    """
    links = {str(link.get("name", "")): link for link in robot.findall("link")}
    if tool.link not in links:
        raise ConfigError(f"{path}: {OPTION}: no link '{tool.link}'; known: {', '.join(links)}")
    if TOOL in links:
        raise ConfigError(f"{path}: {OPTION}: the file has a link '{TOOL}' already; rename it")
    beyond = [tool.link]
    for parent in beyond:
        for joint in robot.findall("joint"):
            ends = {tag: found.get("link", "") for tag in ("parent", "child") if (found := joint.find(tag)) is not None}
            if ends.get("parent") == parent:
                robot.remove(joint)
                beyond.append(ends.get("child", ""))
    for name in beyond[1:]:
        if name in links:
            robot.remove(links[name])
    _add_link(robot, tool)
    cut = f", in the place of {', '.join(beyond[1:])}" if beyond[1:] else ""
    return f"{tool.kind} on link '{tool.link}' along its z axis{cut}"


def _add_link(robot: ET.Element, tool: Tool) -> None:
    kind, size, middle = tool.shape
    link = ET.SubElement(robot, "link", name=TOOL)
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=write_numbers(np.array([0.0, 0.0, middle])), rpy="0 0 0")
    across = 2.0 * size[0] if kind != "box" else min(size)
    mass = DENSITY_KG_M3 * across**2 * max(across, *size)
    ET.SubElement(inertial, "mass", value=f"{mass:.4g}")
    moment = f"{mass * max(across, *size) ** 2 / 12.0:.4g}"
    ET.SubElement(inertial, "inertia", ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0")
    collision = ET.SubElement(link, "collision")
    add_origin(collision, Pose(np.eye(3), np.array([0.0, 0.0, middle])))
    add_shape(collision, kind, size)
    joint = ET.SubElement(robot, "joint", name=f"{TOOL}_mount", type="fixed")
    ET.SubElement(joint, "parent", link=tool.link)
    ET.SubElement(joint, "child", link=TOOL)
