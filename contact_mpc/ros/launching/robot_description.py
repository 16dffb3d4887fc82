"""What ros2_control needs of a robot: a description with a <ros2_control> tag, controllers, and that they agree.

A robot file (`contact_mpc.ros.driver.robot_file`) names both. All is checked before anything starts: the joints of
description, controllers and system must be the same, in the same order: a Float64MultiArray carries no names.
"""

import copy
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Literal

import numpy as np

from contact_mpc.errors import ConfigError
from contact_mpc.model.system import System
from contact_mpc.ros.driver.robot_file import RobotFile, joints_of_one
from contact_mpc.settings.resources import share_directory
from contact_mpc.task.node_parameters import load_node_parameters

Mode = Literal["gazebo", "hardware", "mock"]
BROADCASTER = "joint_state_broadcaster"
FORWARD = "forward_command_controller/ForwardCommandController"
LIMIT_TOLERANCE = 1e-9  # both are decimal numbers in files


def data_file(folder: str, name: str) -> Path:
    """Return a file in one of the package's data folders, or `name` itself where it is the path of a file.

    Raises
    ------
    ConfigError
        There is no such file.
    """
    candidates = (share_directory() / folder / name, Path(name).expanduser())
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise ConfigError(f"no file {name!r} in {candidates[0].parent}; give the path of a file that exists")


def build_description(
    robot: RobotFile, mode: Mode, namespace: str, plugin: str | None = None, driver_file: str | None = None
) -> str:
    """Return the URDF with its <ros2_control> tag, as robot_state_publisher and controller_manager of Jazzy read it.

    Their parser knows URDF 1.0: a capsule becomes a cylinder with a sphere at each end.

    Parameters
    ----------
    robot : RobotFile
        The robot.
    mode : str
        "gazebo", "hardware" or "mock" (ros2_control's own stand-in for a driver).
    namespace : str
        Namespace of the controller manager inside Gazebo Harmonic.
    plugin : str, optional
        Plugin of the driver in place of the robot file's.
    driver_file : str, optional
        Parameters of the driver in place of the package's; only the iiwa has such a file.

    Raises
    ------
    ConfigError
        xacro is not installed, no plugin is known, or the file cannot be expanded.
    """
    if robot.description is None or robot.controllers is None:
        raise ConfigError("the robot file has no description: its driver is not of ros2_control; start it yourself")
    plugin = plugin or robot.hardware_plugin
    if mode == "hardware" and plugin is None:
        raise ConfigError(
            f"{robot.description}: no public ros2_control plugin drives this robot; give hardware_plugin:=package/Class"
        )
    mappings = {
        "mode": mode,
        "namespace": namespace.strip("/"),
        "controllers": str(data_file("config", robot.controllers)),
        **({} if plugin is None else {"plugin": plugin}),
        **({} if not driver_file else {"fri": str(data_file("config", driver_file))}),
    }
    return to_urdf_1_0(_expand(data_file("urdf", robot.description), mappings))


def _expand(path: Path, mappings: dict[str, str]) -> str:
    try:
        import xacro
    except ImportError as error:
        raise ConfigError(
            "the robot's description needs xacro: apt install ros-jazzy-xacro, or pip install xacro"
        ) from error
    try:
        return str(xacro.process_file(str(path), mappings=mappings).toxml())
    except xacro.XacroException as error:
        raise ConfigError(f"{path}: {error}") from error


def to_urdf_1_0(text: str) -> str:
    """Return a URDF without what version 1.2 added: capsules become a cylinder and two spheres."""
    root = ET.fromstring(text)
    root.attrib.pop("version", None)
    for link in root.findall("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                if element.find("geometry/capsule") is not None:
                    _replace_capsule(link, element)
    return ET.tostring(root, encoding="unicode")


def _replace_capsule(link: ET.Element, element: ET.Element) -> None:
    """Put three elements in the place of one; the spheres stand at the ends of the capsule's axis."""
    from contact_mpc.model.rotations import rotation_from_rpy

    capsule = element.find("geometry/capsule")
    assert capsule is not None
    radius, length = capsule.get("radius", ""), capsule.get("length", "")
    origin = element.find("origin")
    values = {key: "0 0 0" if origin is None else origin.get(key, "0 0 0") for key in ("xyz", "rpy")}
    centre, rpy = (np.array([float(item) for item in values[key].split()]) for key in ("xyz", "rpy"))
    axis = rotation_from_rpy(rpy)[:, 2] * 0.5 * float(length)
    index = list(link).index(element)
    link.remove(element)
    for shape, position in (("cylinder", centre), ("sphere", centre + axis), ("sphere", centre - axis)):
        part = copy.deepcopy(element)
        for child in (*part.findall("origin"), *part.findall("geometry")):
            part.remove(child)
        xyz = " ".join(f"{value:.12g}" for value in position)
        ET.SubElement(part, "origin", xyz=xyz, rpy=values["rpy"])
        sizes = {"radius": radius} | ({"length": length} if shape == "cylinder" else {})
        ET.SubElement(ET.SubElement(part, "geometry"), shape, sizes)
        link.insert(index, part)
        index += 1


def check_robot(robot: RobotFile, system: System, bridge: dict[str, Any]) -> None:
    """Check that description, controllers, system and bridge agree, where ros2_control drives the robot.

    Parameters
    ----------
    robot : RobotFile
        The robot.
    system : System
        What is controlled: one robot or several of the same kind, each with a driver of its own.
    bridge : dict
        Parameters of the command bridge.

    Raises
    ------
    ConfigError
        A controller is missing, or joints, interfaces, rates or limits differ; names the file and what is expected.
    """
    interface = bridge.get("command_interface", "effort")
    if interface != robot.command_interface:
        raise ConfigError(
            f"command_bridge.command_interface is '{interface}'; this robot takes '{robot.command_interface}'"
        )
    if robot.controllers is None or robot.description is None:
        return
    controllers = data_file("config", robot.controllers)
    manager = load_node_parameters(controllers, "controller_manager")
    name = f"{robot.command_interface}_controller"
    for wanted in (BROADCASTER, name):
        if "type" not in (manager.get(wanted) or {}):
            raise ConfigError(f"{controllers}: controller_manager has no controller '{wanted}'; add it with its type")
    parameters = load_node_parameters(controllers, name)
    joints = joints_of_one(system)
    expected = {
        f"controller_manager.{name}.type": (manager[name]["type"], FORWARD),
        f"{name}.joints": (parameters.get("joints"), joints),
        f"{name}.interface_name": (parameters.get("interface_name"), robot.command_interface),
        "controller_manager.update_rate": (manager.get("update_rate"), bridge.get("rate_hz", 1000)),
    }
    for key, (found, wanted) in expected.items():
        if found != wanted:
            raise ConfigError(f"{controllers}: {key} is {found!r}; expected {wanted!r}")
    check_limits(data_file("urdf", robot.description), build_description(robot, "mock", ""), system)


def check_limits(path: Path, description: str, system: System) -> None:
    """Check joints and command limits of a <ros2_control> tag against the system's URDF.

    Raises
    ------
    ConfigError
        The tag has other joints, no limits, or other limits.
    """
    tag = ET.fromstring(description).find("ros2_control")
    found = [] if tag is None else tag.findall("joint")
    names, wanted = [joint.get("name") for joint in found], joints_of_one(system)
    if names != wanted:
        raise ConfigError(f"{path}: <ros2_control> has the joints {names}; system '{system.name}' has {wanted}")
    ranges = {
        "effort": np.stack([-system.tau_max_nm, system.tau_max_nm], axis=1),
        "position": np.stack([system.q_min, system.q_max], axis=1),
    }
    for row, joint in enumerate(found):
        for command in joint.findall("command_interface"):
            _check_range(f"{path}: joint '{joint.get('name')}'", command, ranges[str(command.get("name"))][row])


def _check_range(where: str, command: ET.Element, limits: "np.ndarray[Any, Any]") -> None:
    given = {item.get("name"): item.text or "" for item in command.findall("param")}
    for key, limit in zip(("min", "max"), limits, strict=True):
        if key not in given or abs(float(given[key]) - limit) > LIMIT_TOLERANCE:
            raise ConfigError(
                f"{where}: {key} of the {command.get('name')} command is {given.get(key)}; "
                f"expected {limit:g}, the URDF's"
            )
