"""Launch actions around ros2_control and Gazebo Harmonic: description, driver, controllers, spawners, world.

Only launch files import this: `launch` and `launch_ros` come with a ROS 2 installation, not from PyPI.
"""

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
from contact_mpc.ros.launching.launching import task_parameters, value
from contact_mpc.ros.launching.robot_description import (
    BROADCASTER,
    Mode,
    RobotFile,
    build_description,
    check_robot,
    data_file,
)
from contact_mpc.ros.stack.run_parameters import CONFIGS, check_values
from contact_mpc.settings.resources import resource
from contact_mpc.task.node_parameters import check_node_names, load_node_parameters
from contact_mpc.task.task import TaskConfig, load_task

HOLDING = ("state_estimator", "command_bridge")  # what a robot without a task needs


def hardware_parameters(context: LaunchContext, robot: RobotFile, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of the nodes; without a task only of those that hold the robot. All is checked here."""
    params = value(context, "params") or robot.parameters
    name = value(context, "task")
    if name:
        return task_parameters_on(context, robot, load_task(name), folder, "hardware", params)
    system = load_system(robot.system)
    check_node_names(params, CONFIGS)
    check_robot(robot, system, load_node_parameters(params, "command_bridge"))
    shared = {"system": str(system.path), "clock": "realtime", "use_sim_time": False}
    parameters = {node: load_node_parameters(params, node) | shared for node in HOLDING}
    check_values(parameters, resource("nodes", params))
    return parameters


def task_parameters_on(
    context: LaunchContext, robot: RobotFile, task: TaskConfig, folder: Path, plant: str, params: str
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the nodes of a task on a robot: "hardware", or in another's simulator: "gazebo"."""
    check_robot(robot, task.system, load_node_parameters(params, "command_bridge"))
    context.launch_configurations["params"] = params
    parameters = task_parameters(context, task, folder, plant, "realtime")
    del parameters["plant"]
    parameters["trajectory_server"]["autostart"] = value(context, "autostart") == "true"
    for values in parameters.values():
        values["use_sim_time"] = plant == "gazebo"
    return parameters


def driver_actions(context: LaunchContext, robot: RobotFile, namespace: str) -> list[Action]:
    """Return description, controller manager and spawners of a real robot; nothing where its driver runs already."""
    driver = value(context, "driver")
    if driver == "none":
        return []
    mode: Mode = "mock" if driver == "mock" else "hardware"
    plugin, file = value(context, "hardware_plugin"), value(context, "driver_params")
    description = build_description(robot, mode, namespace, plugin or None, file or None)
    manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        namespace=namespace,
        parameters=[str(data_file("config", robot.controllers))],
        remappings=[("~/robot_description", "robot_description")],
        output="screen",
    )
    return [state_publisher(description, namespace, False), manager, *spawners(robot, namespace)]


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
