"""Robot files (config/robots/*.yaml, or a path): what drives a robot, under which names, topics and message types.

A file describes one robot. In a system with several of the kind (two arms) each has a driver, whose topics lie below
the name of its robot: `iiwa_left/joint_states`. Joint names are those of the robot's URDF, without a system's prefix.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.errors import ConfigError
from contact_mpc.model.system import System
from contact_mpc.ros.driver.config import CommandType, DriverConfig
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml, validate


class DriverFile(BaseModel):
    """The driver's end: what differs from this package's own topics."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    joint_names: dict[str, str] = Field(
        default_factory=dict, description="the driver's name of each joint of the URDF; empty: the same names"
    )
    joint_states: str = Field(default="joint_states", min_length=1, description="topic of joint states")
    commands: str | None = Field(
        default=None, min_length=1, description="topic of commands; null: INTERFACE_controller/commands"
    )
    command_type: CommandType = Field(default="Float64MultiArray", description="message type of commands")
    command_joints: tuple[str, ...] = Field(
        default=(), description="the driver's names in the order of its commands; those not of the system are held"
    )
    parts_within_s: float = Field(default=0.002, gt=0.0, le=0.1, description="stamps of the parts of a joint state, s")


class RobotFile(BaseModel):
    """The keys of a robot file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str | None = Field(
        default=None, description="xacro file in urdf/, or a path; null: the driver is not of ros2_control"
    )
    controllers: str | None = Field(
        default=None, description="parameters of the controller manager in config/, or a path; null: as above"
    )
    command_interface: Literal["effort", "position"] = Field(description="what the driver is commanded")
    system: str = Field(min_length=1, description="system that is started where no task is given")
    parameters: str = Field(
        min_length=1, description="parameter file of the nodes on hardware, in config/nodes, or a path"
    )
    hardware_plugin: str | None = Field(
        default=None, description="ros2_control plugin of the driver; null: none is public"
    )
    gazebo_bridge: str | None = Field(
        default=None, description="parameter file of ros_gz_bridge in config/; null: no world"
    )
    driver: DriverFile = DriverFile()


def load_robot(name: str | Path) -> RobotFile:
    """Load a robot by the name of a file in config/robots or by a path; raises ConfigError as `validate` does.

    Files that a robot file names by a path are looked for beside it first.
    """
    path = resource("robots", name)
    data = read_yaml(path)
    for key in ("system", "parameters", "description", "controllers"):
        if isinstance(data.get(key), str) and (beside := path.parent / data[key]).is_file():
            data[key] = str(beside)
    return validate(RobotFile, data, path)


def joints_of_one(system: System) -> list[str]:
    """Return the joints of a system's first robot by the names in its URDF."""
    return [name for _, name in _joints_by_robot(system)[0][1]]


def driver_of(robot: RobotFile, system: System) -> dict[str, Any]:
    """Return the parameters `driver` of the nodes for a robot file and a system; what is default is left out.

    Raises
    ------
    ConfigError
        A joint of the system has no name at the driver, or the file names one that the robot does not have.
    """
    file, by_robot = robot.driver, _joints_by_robot(system)
    own = [name for _, name in by_robot[0][1]]
    if file.joint_names and (wrong := sorted(set(file.joint_names) ^ set(own))):
        raise ConfigError(
            f"driver.joint_names: {', '.join(wrong)}: the joints of system '{system.name}' are {', '.join(own)}; "
            "name each of them and no other"
        )
    names = [file.joint_names.get(name, name) for _, joints in by_robot for _, name in joints]
    commands = file.commands or f"{robot.command_interface}_controller/commands"
    found: dict[str, Any] = {"command_type": file.command_type, "parts_within_s": file.parts_within_s}
    if len(by_robot) > 1:
        robots = [name for name, _ in by_robot]
        found |= {
            "groups": [len(joints) for _, joints in by_robot],
            "joint_states_topics": [_below(name, file.joint_states) for name in robots],
            "command_topics": [_below(name, commands) for name in robots],
        }
    else:
        found |= {"joint_states_topics": [file.joint_states], "command_topics": [commands]}
    if names != list(system.joint_names):
        found["joint_names"] = names
    if file.command_joints:
        found["command_joints"] = list(file.command_joints)
    config = validate(DriverConfig, found, "robot file: driver")
    if mistake := config.find_mistake(system.joint_names, robot.command_interface):
        raise ConfigError(f"robot file: driver: {mistake}")
    return found


def _below(robot: str, topic: str) -> str:
    return f"{robot}/{topic.strip('/')}"


def _joints_by_robot(system: System) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return for each robot its name and its joints: (name in the system, name in the URDF)."""
    found, first = [], 0
    for robot in system.config.robots:
        moving = [joint.name for joint in system.urdfs[robot.name].moving_joints]
        joints = list(system.joint_names[first : first + len(moving)])
        found.append((robot.name, [(name, name.removeprefix(robot.joint_prefix)) for name in joints]))
        first += len(moving)
    return found
