"""Run a task in Gazebo Harmonic: world, robot with gz_ros2_control, topic bridge, our nodes, the command bridge last.

ros2 launch contact_mpc gazebo.launch.py robot:=anypulator task:=anypulator_block headless:=true

Time is Gazebo's (/clock). For Gazebo classic, which needs no ROS: contact-mpc run anypulator_block --plant gazebo.
"""

from launch import LaunchContext, LaunchDescription
from launch.action import Action

from contact_mpc.errors import ConfigError
from contact_mpc.ros.driver.robot_file import load_robot
from contact_mpc.ros.launching.launching import (
    argument,
    describe,
    full_namespace,
    network_actions,
    run_folder,
    shared_arguments,
    stack_actions,
    value,
)
from contact_mpc.ros.launching.robot_description import data_file
from contact_mpc.ros.launching.ros2_control import gazebo_actions, gazebo_parameters
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import load_task

ARGUMENTS = (
    argument("robot", "anypulator", "robot with a world: a name in config/robots", ("anypulator",)),
    *shared_arguments("task", "plan", "params", "record", "robot_name", "remap", "seed", task="anypulator_block"),
    *shared_arguments("discovery", "domain_id", "keystore"),
    argument("world", "", "SDF world; empty: gazebo/worlds/TASK.sdf"),
    argument("headless", "false", "without the window of Gazebo Harmonic", ("true", "false")),
    argument("autostart", "true", "begin the task's motion at once, or wait for the service", ("true", "false")),
)


def start(context: LaunchContext) -> list[Action]:
    """Return Gazebo Harmonic and the nodes; everything is checked before anything starts."""
    robot = load_robot(value(context, "robot"))
    if robot.gazebo_bridge is None:
        raise ConfigError(f"robot:={value(context, 'robot')} has no gazebo_bridge in its file; add one and a world")
    world = data_file("gazebo/worlds", value(context, "world") or f"{value(context, 'task')}.sdf")
    folder = run_folder(value(context, "record"))
    task = load_task(value(context, "task"))
    params = value(context, "params") or default_parameter_file(task)
    parameters = gazebo_parameters(context, robot, task, folder, params)
    namespace = full_namespace(context, value(context, "robot"))
    return [
        *network_actions(context),
        *gazebo_actions(robot, namespace, world, value(context, "headless") == "true"),
        *stack_actions(context, parameters, namespace, folder),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and what is started with them."""
    return describe(__file__, ARGUMENTS, start)
