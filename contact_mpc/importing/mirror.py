"""The other hand: a robot mirrored in the plane y = 0 of its root, a left hand from a right one.

With M = diag(1, -1, 1) a point p becomes M p, a rotation R becomes M R M, which for roll, pitch, yaw is
(-roll, pitch, -yaw); a joint axis a, about which the same angle turns the mirrored link, becomes -M a, the direction of
a slide M a. Shapes look the same in the mirror, but for meshes, which are refused.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError
from contact_mpc.importing.xml_numbers import read_numbers, write_numbers

POINT, TURN = np.array([1.0, -1.0, 1.0]), np.array([-1.0, 1.0, -1.0])


def mirror_robot(robot: ET.Element, path: Path) -> None:
    """Mirror a <robot> element in place.

    Raises
    ------
    ConfigError
        A link has a mesh.
    """
    mesh = robot.find("link/collision/geometry/mesh")
    if mesh is not None:
        raise ConfigError(f"{path}: mesh {mesh.get('filename')} cannot be mirrored; give the mirrored file a robot")
    for origin in robot.iter("origin"):
        _scale(origin, "xyz", POINT, path)
        _scale(origin, "rpy", TURN, path)
    for joint in robot.findall("joint"):
        axis = joint.find("axis")
        if axis is None:
            axis = ET.SubElement(joint, "axis", xyz="1 0 0")
        _scale(axis, "xyz", POINT if joint.get("type") == "prismatic" else TURN, path)
    for inertia in robot.iter("inertia"):
        for key in ("ixy", "iyz"):
            inertia.set(key, write_numbers(-read_numbers(inertia, key, "0", str(path)) + 0.0))


def _scale(element: ET.Element, key: str, factors: np.ndarray, path: Path) -> None:
    if key in element.attrib:
        values = read_numbers(element, key, "0 0 0", str(path)) * factors + 0.0
        element.set(key, " ".join(f"{value:.12g}" for value in values))
