"""What shows a stack beside it, as the launch arguments `rviz` and `view` ask; when it ends, nothing else does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.action import Action
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from contact_mpc.model.system import System
from contact_mpc.ros.launching.launching import PACKAGE, value
from contact_mpc.ros.launching.robot_description import data_file
from contact_mpc.ros.launching.system_description import describe_system
from contact_mpc.settings.file_access import write_text

RVIZ_CONFIG = "rviz/stack.rviz"
ROBOT = "ROBOT"  # in the configuration: the namespace


def show_actions(
    context: LaunchContext, system: System, namespace: str, folder: Path, use_sim_time: bool, is_described: bool = False
) -> list[Action]:
    """Return viewer, and RViz with the frames that it needs.

    Parameters
    ----------
    context : LaunchContext
        Of the launch, with the arguments `rviz` and `view`.
    system : System
        What is shown.
    namespace : str
        Of the stack.
    folder : Path
        Where the configuration of RViz is written.
    use_sim_time : bool
        Whether /clock is the time.
    is_described : bool
        Whether a driver publishes robot_description and the robot's frames itself.
    """
    actions: list[Action] = []
    if value(context, "view") == "true":
        actions.append(_node(PACKAGE, "viewer", namespace, {"system": str(system.path)}))
    if value(context, "rviz") == "true":
        config, clock = folder / "stack.rviz", {"use_sim_time": use_sim_time}
        write_text(config, data_file("config", RVIZ_CONFIG).read_text().replace(ROBOT, namespace))
        if not is_described:
            description = {"robot_description": ParameterValue(describe_system(system), value_type=str)} | clock
            joints = [("joint_states", "state_estimator/joint_states")]
            actions.append(_node("robot_state_publisher", "robot_state_publisher", namespace, description, joints))
        actions.append(_node(PACKAGE, "object_frames", namespace, {"system": str(system.path)} | clock))
        actions.append(_node("rviz2", "rviz2", namespace, clock, arguments=["-d", str(config)]))
    return actions


def _node(
    package: str, executable: str, namespace: str, parameters: dict[str, Any], remaps: Sequence[Any] = (), **more: Any
) -> Action:
    return Node(
        package=package, executable=executable, name=executable, namespace=namespace, parameters=[parameters],
        remappings=list(remaps), output="screen", **more,
    )  # fmt: skip
