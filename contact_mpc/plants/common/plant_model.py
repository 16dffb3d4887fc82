"""What both engines are built from: the URDFs with the perturbation applied, and where each joint lies in q and v."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from contact_mpc.model.rotations import rotation_from_rpy
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import robot_base
from contact_mpc.model.urdf import Pose, Urdf
from contact_mpc.plants.common.hull_files import name_hulls
from contact_mpc.plants.common.perturbation import PlantPerturbation


@dataclass(frozen=True)
class PlantPart:
    """One robot or object: its URDF as text for the engines, its root link's pose in W, whether it is free."""

    owner: str
    urdf_text: str
    root: str
    X_WR: Pose
    is_free: bool
    is_robot: bool


@dataclass(frozen=True)
class JointSlot:
    """A moving joint (or the free joint of an object: joint None) and its first index in q and v of the system."""

    owner: str
    joint: str | None
    i_q: int
    i_v: int


def build_parts(system: System, perturbation: PlantPerturbation) -> list[PlantPart]:
    """Return the objects, scaled by the perturbation, and the robots."""
    parts = []
    for item in system.config.objects:
        urdf = system.urdfs[item.name]
        X_WR = Pose(rotation_from_rpy(np.array(item.rpy_rad)), np.array(item.position_m))
        text = _engine_text(urdf, item.name, perturbation.mass_scale, perturbation.size_scale)
        parts.append(PlantPart(item.name, text, urdf.root, X_WR, item.mobility == "free", False))
    for robot in system.config.robots:
        urdf = system.urdfs[robot.name]
        text = _engine_text(urdf, robot.name, 1.0, 1.0)
        parts.append(PlantPart(robot.name, text, urdf.root, robot_base(robot), False, True))
    return parts


def joint_slots(system: System, part: PlantPart) -> Iterator[JointSlot]:
    """Yield the joints of one part with their places in q and v."""
    urdf, tree = system.urdfs[part.owner], system.tree
    if part.is_free:
        body, _ = system.links[part.owner, part.root]
        yield JointSlot(part.owner, None, int(tree.i_q[body]), int(tree.i_v[body]))
    for joint in urdf.moving_joints:
        body, _ = system.links[part.owner, joint.child]
        yield JointSlot(part.owner, joint.name, int(tree.i_q[body]), int(tree.i_v[body]))


def fixed_names(system: System) -> set[str]:
    """Return the names of the shapes at rest in the world."""
    return {item.name for item in system.config.fixed}


def actuated_slots(system: System, parts: list[PlantPart]) -> list[JointSlot]:
    """Return the actuated joints in the order of q_a."""
    slots = [slot for part in parts if part.is_robot for slot in joint_slots(system, part)]
    return sorted(slots, key=lambda slot: slot.i_v)


def _engine_text(urdf: Urdf, owner: str, mass_scale: float, size_scale: float) -> str:
    """Return the URDF text without looks, named after its owner; masses and collision shapes scaled.

    Meshes are files of their hulls.

    The attribute `version` (1.2, for capsules) is left out: the engines read capsules anyway, and Drake warns of it.
    """
    robot = ET.fromstring(urdf.text)
    name_hulls(robot, urdf, size_scale)
    robot.attrib.pop("version", None)
    robot.set("name", owner)
    for material in robot.findall("material"):
        robot.remove(material)
    for joint in robot.findall("joint"):
        for mimic in joint.findall("mimic"):  # the plants couple by themselves, see `plants.common.mimic_joints`
            joint.remove(mimic)
    for link in robot.findall("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
        _scale_inertia(link, mass_scale, size_scale)
        for collision in link.findall("collision"):
            _scale(collision.find("origin"), ("xyz",), size_scale)
            for shape in collision.findall("geometry/*"):
                _scale(shape, ("radius", "length", "size"), size_scale)
    return ET.tostring(robot, encoding="unicode")


def _scale_inertia(link: ET.Element, mass_scale: float, size_scale: float) -> None:
    _scale(link.find("inertial/origin"), ("xyz",), size_scale)
    _scale(link.find("inertial/mass"), ("value",), mass_scale)
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    _scale(link.find("inertial/inertia"), keys, mass_scale * size_scale**2)


def _scale(element: ET.Element | None, keys: tuple[str, ...], factor: float) -> None:
    if element is None or factor == 1.0:
        return
    for key in keys:
        if key in element.attrib:
            element.set(key, " ".join(repr(float(item) * factor) for item in element.attrib[key].split()))
