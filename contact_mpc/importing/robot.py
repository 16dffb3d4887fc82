"""A robot file in, a system file and a complete URDF beside it out."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError
from contact_mpc.importing.arms.tool import Tool, mount_tool
from contact_mpc.importing.prepare import JointOptions, prepare_robot
from contact_mpc.importing.proposals import Gains, propose_base, propose_gains
from contact_mpc.importing.robot_source import find_robot_file, read_robot
from contact_mpc.importing.system_file import RobotPart, default_posture, robot_lines, system_text
from contact_mpc.model.fingertips import last_links
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import build_system, load_system
from contact_mpc.model.system_config import Friction, RobotConfig, SystemConfig
from contact_mpc.settings.file_access import write_text

OWN_NAME = "system"


@dataclass(frozen=True)
class ImportedRobot:
    """What an import wrote, the system in it, and every value that was assumed."""

    system_file: Path
    urdf: Path
    system: System
    part: RobotPart
    assumptions: tuple[str, ...]


def import_robot(source: str, name: str, into: Path, options: JointOptions, tool: Tool | None = None) -> ImportedRobot:
    """Read a robot file, write NAME.urdf and NAME.yaml to `into`, and return what is in them.

    A tool takes the place of what is beyond its link.

    Raises
    ------
    ConfigError, ModelError
        The file cannot be used as it is; one line that names the file, the link or joint, and what to do.
    """
    path = find_robot_file(source)
    name = name or path.name.partition(".")[0]
    urdf = into / f"{name}.urdf"
    if urdf.resolve() == path:
        raise ConfigError(f"{path}: the import would overwrite this file; give another --as NAME or --into DIR")
    robot = read_robot(path, into / "meshes")
    notes = [] if tool is None else [mount_tool(robot, path, tool)]
    notes += prepare_robot(robot, path, options, into / "meshes")
    ET.indent(robot)
    write_text(urdf, f"<!-- Imported from {path.name}. -->\n{ET.tostring(robot, encoding='unicode')}\n")
    part, base_note = propose_robot(name, urdf)
    system_file = into / f"{name}.yaml"
    heading = f"Imported from {path.name} by `contact-mpc import`."
    write_text(system_file, system_text(name, heading, robot_lines(part), (), ()))
    notes += [
        "stiffness and damping from effort limits, lengths and masses; rotor inertia from effort limits",
        f"fingertips (last link with a shape of each branch): {', '.join(part.fingertips) or 'none'}",
        base_note,
        "default posture: the middle of every range",
    ]
    return ImportedRobot(system_file, urdf, load_system(system_file), part, tuple(notes))


def propose_robot(name: str, urdf: Path) -> tuple[RobotPart, str]:
    """Return the robot's part of a system file, and how its base stands."""
    plain = RobotConfig(
        name=name, urdf=urdf.name, joint_stiffness_nm_per_rad=1.0, joint_damping_nms_per_rad=0.0
    )  # fmt: skip
    config = SystemConfig(name=name, friction=Friction(default=1.0), robots=(plain,), objects=())
    system = build_system(config, urdf)
    tips = last_links(system, name)
    base = propose_base(system, name, tips)
    turned = np.any(np.abs(base) > 1e-9)
    note = "base turned so that the open side of the hand is up" if turned else "base as in the file"
    gains: Gains = propose_gains(system)
    return RobotPart(name, urdf.name, base, gains, default_posture(system), tips), note
