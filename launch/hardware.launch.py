"""Start the stack on a robot that ros2_control drives: driver, controllers, and our nodes, the command bridge last.

ros2 launch contact_mpc hardware.launch.py robot:=iiwa
ros2 launch contact_mpc hardware.launch.py robot:=anypulator hardware_plugin:=my_drives/System task:=anypulator_block

Without a task nothing moves: estimator and bridge come up, and the bridge holds the measured position. With one, the
motion begins with `ros2 service call /ROBOT/trajectory_server/start std_srvs/srv/Trigger`. An orderly end, the bridge
first: `ros2 service call /ROBOT/lifecycle_manager/shutdown std_srvs/srv/Trigger`.

Traffic stays on this machine unless discovery:=SUBNET; domain_id:=N keeps robots on one network apart, and
keystore:=DIR has every node prove who it is and encrypt (SROS 2, an enclave per node).
"""

from launch import LaunchContext, LaunchDescription
from launch.action import Action

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
from contact_mpc.ros.launching.robot_description import load_robot
from contact_mpc.ros.launching.ros2_control import driver_actions, hardware_parameters
from contact_mpc.settings.resources import resource_names

ARGUMENTS = (
    argument("robot", None, "robot to start: a name in config/robots", resource_names("robots")),
    *shared_arguments("task", "plan", "params", "record", "robot_name", "remap", "seed"),
    *shared_arguments("discovery", "domain_id", "keystore"),
    argument("driver", "hardware", "hardware: start the driver; mock: a stand-in that echoes commands; none: it runs "
             "already", ("hardware", "mock", "none")),
    argument("hardware_plugin", "", "ros2_control plugin of the driver; empty: as config/robots says"),
    argument("driver_params", "", "parameters of the driver; empty: config/ros2_control/iiwa_fri.yaml for the iiwa"),
    argument("autostart", "false", "begin the task's motion at once, or wait for the service", ("true", "false")),
)  # fmt: skip


def start(context: LaunchContext) -> list[Action]:
    """Return driver, controllers and nodes; everything is checked before anything starts."""
    robot = load_robot(value(context, "robot"))
    folder = run_folder(value(context, "record"))
    parameters = hardware_parameters(context, robot, folder)
    namespace = full_namespace(context, value(context, "robot"))
    return [
        *network_actions(context),
        *driver_actions(context, robot, namespace),
        *stack_actions(context, parameters, namespace, folder),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and what is started with them."""
    return describe(__file__, ARGUMENTS, start)
