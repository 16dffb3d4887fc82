"""Launch actions around ros2_control and Gazebo Harmonic: description, driver, controllers, spawners, world.

Only launch files import this: `launch` and `launch_ros` come with a ROS 2 installation, not from PyPI.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.action import Action
from launch.actions import IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.driver.robot_file import RobotFile
from contact_mpc.ros.launching.launching import prepare_plan, task_parameters, value
from contact_mpc.ros.launching.robot_description import BROADCASTER, build_description, check_robot, data_file
from contact_mpc.ros.stack.robot_parameters import DRIVER_MODES, RobotRun, robot_parameters
from contact_mpc.ros.stack.run_parameters import CONFIGS
from contact_mpc.task.node_parameters import check_node_names, load_node_parameters
from contact_mpc.task.task import TaskConfig, load_task

START_DELAY_S = 3.0  # in Gazebo, whose clock runs on while the tracker takes a plan up: 2 s on a busy machine


def hardware_parameters(context: LaunchContext, robot: RobotFile, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of the nodes; without a task only of those that hold the robot. All is checked here."""
    task = load_task(value(context, "task")) if value(context, "task") else None
    driver = next(mode for mode in DRIVER_MODES if mode == value(context, "driver"))
    params = value(context, "params") or robot.parameters
    check_node_names(params, CONFIGS)
    system = load_system(robot.system) if task is None else task.system
    check_robot(robot, system, load_node_parameters(params, "command_bridge"))
    run = RobotRun(
        driver, params, value(context, "clock"), value(context, "plant"), int(value(context, "seed")),
        recorded=bool(value(context, "record")) and task is not None, autostart=value(context, "autostart") == "true",
    )  # fmt: skip
    plan_file = None if task is None else prepare_plan(context, task, folder)
    return robot_parameters(robot, run, task, folder, plan_file)


def gazebo_parameters(
    context: LaunchContext, robot: RobotFile, task: TaskConfig, folder: Path, params: str
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the nodes of a task on a robot in Gazebo Harmonic, which keeps the time."""
    check_robot(robot, task.system, load_node_parameters(params, "command_bridge"))
    context.launch_configurations["params"] = params
    parameters = task_parameters(context, task, folder, "gazebo_harmonic", "realtime")
    server = parameters["trajectory_server"]
    server["autostart"] = value(context, "autostart") == "true"
    server["start_delay_s"] = max(server.get("start_delay_s", 0.0), START_DELAY_S)
    for values in parameters.values():
        values["use_sim_time"] = True
    return parameters


def driver_actions(context: LaunchContext, robot: RobotFile, namespace: str, names: Sequence[str]) -> list[Action]:
    """Return description, controller manager and spawners of real robots; nothing where others drive them.

    `names` are those of the system's robots: where there are several, each gets a namespace of its own, and
    `driver_params` and `hardware_plugin` may name a file or plugin for each, separated by commas.
    """
    if value(context, "driver") != "hardware":
        return []
    if len(names) == 1:
        return _one_driver(context, robot, namespace, 0)
    return [action for k, name in enumerate(names) for action in _one_driver(context, robot, f"{namespace}/{name}", k)]


def _one_driver(context: LaunchContext, robot: RobotFile, namespace: str, index: int) -> list[Action]:
    plugin = _entry(value(context, "hardware_plugin"), index)
    file = _entry(value(context, "driver_params"), index)
    description = build_description(robot, "hardware", namespace, plugin or None, file or None)
    manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        namespace=namespace,
        parameters=[str(data_file("config", str(robot.controllers)))],
        remappings=[("~/robot_description", "robot_description")],
        output="screen",
    )
    return [state_publisher(description, namespace, False), manager, *spawners(robot, namespace)]


def _entry(text: str, index: int) -> str:
    """Return one of several values separated by commas; a single one is for all."""
    entries = text.split(",")
    return entries[min(index, len(entries) - 1)].strip()


def gazebo_actions(robot: RobotFile, namespace: str, world: Path, headless: bool) -> list[Action]:
    """Return Gazebo Harmonic with its world, the robot spawned into it, its controllers and the topic bridge."""
    description = build_description(robot, "gazebo", namespace)
    arguments = f"-r {'-s ' if headless else ''}{world}"
    source = PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
    create = Node(
        package="ros_gz_sim",
        executable="create",
        namespace=namespace,
        arguments=["-topic", "robot_description", "-name", namespace.strip("/")],
        output="screen",
    )
    topics = Node(
        package="ros_gz_bridge",
        executable="parameter_bridge",
        namespace=namespace,
        parameters=[{"config_file": str(data_file("config", str(robot.gazebo_bridge)))}],
        output="screen",
    )
    return [
        IncludeLaunchDescription(PythonLaunchDescriptionSource(source), launch_arguments=[("gz_args", arguments)]),
        state_publisher(description, namespace, True),
        topics,
        create,
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=spawners(robot, namespace))),
    ]


def state_publisher(description: str, namespace: str, use_sim_time: bool) -> Node:
    """Return robot_state_publisher, which also hands the description to the controller manager."""
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[{"robot_description": ParameterValue(description, value_type=str), "use_sim_time": use_sim_time}],
        output="screen",
    )


def spawners(robot: RobotFile, namespace: str) -> list[Action]:
    """Return the spawner of broadcaster and controller, in this order."""
    names = [BROADCASTER, f"{robot.command_interface}_controller"]
    return [
        Node(
            package="controller_manager",
            executable="spawner",
            namespace=namespace,
            arguments=[*names, "--controller-manager", f"{namespace}/controller_manager", "--activate-as-group"],
            output="screen",
        )
    ]
