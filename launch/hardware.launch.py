"""Start the stack on a robot: its driver or what stands in for it, and our nodes, the command bridge last.

ros2 launch contact_mpc hardware.launch.py robot:=iiwa
ros2 launch contact_mpc hardware.launch.py robot:=iiwa task:=iiwa_bimanual_box driver:=mock
ros2 launch contact_mpc hardware.launch.py robot:=anypulator hardware_plugin:=my_drives/System task:=anypulator_block
ros2 launch contact_mpc hardware.launch.py robot:=mine.yaml driver:=none

Without a task nothing moves: estimator and bridge come up, and the bridge holds the measured position. With one:
`ros2 service call /ROBOT/command_bridge/go_to_start std_srvs/srv/Trigger` moves slowly to the task's start, by joint
angles alone and without a look at collisions; its answer says how far and how long. It then holds, and the motion
begins with the same call of `/ROBOT/trajectory_server/start`. `/ROBOT/command_bridge/stop` ends either. An orderly end,
the bridge first: `/ROBOT/lifecycle_manager/shutdown`.

driver:=hardware starts the ros2_control driver of the robot file, one for each robot of the system; without one in the
file, or with driver:=none, it is expected to run already. driver:=mock starts drives without physics in its place,
driver:=sim a plant: both wear the driver's names, topics and message types.

Traffic stays on this machine unless discovery:=SUBNET; domain_id:=N keeps robots on one network apart, and
keystore:=DIR has every node prove who it is and encrypt (SROS 2, an enclave per node).
"""

from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action

from contact_mpc.model.system_builder import load_system
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
from contact_mpc.ros.launching.ros2_control import driver_actions, hardware_parameters
from contact_mpc.ros.launching.showing import show_actions
from contact_mpc.settings.resources import resource_names

ARGUMENTS = (
    argument("robot", None, f"robot to start: {', '.join(resource_names('robots'))}, or the path of a robot file"),
    *shared_arguments("task", "plan", "params", "record", "robot_name", "remap", "seed", "rviz", "view"),
    *shared_arguments("discovery", "domain_id", "keystore"),
    argument("driver", "hardware", "hardware: start the driver; mock: drives without physics; sim: a plant; none: it "
             "runs already", ("hardware", "mock", "sim", "none")),
    argument("plant", "drake", "physics engine of driver:=sim", ("drake", "mujoco")),
    argument("clock", "realtime", "of driver:=sim: lockstep or wall clock", ("lockstep", "realtime")),
    argument("hardware_plugin", "", "ros2_control plugin of the driver; empty: as config/robots says"),
    argument("driver_params", "", "parameters of the driver, of each arm, separated by commas; empty: "
             "config/ros2_control/iiwa_fri.yaml for the iiwa"),
    argument("autostart", "false", "begin the task's motion at once, or wait for the service", ("true", "false")),
)  # fmt: skip


def start(context: LaunchContext) -> list[Action]:
    """Return driver, controllers and nodes; everything is checked before anything starts."""
    robot = load_robot(value(context, "robot"))
    folder = run_folder(value(context, "record"))
    parameters = hardware_parameters(context, robot, folder)
    namespace = full_namespace(context, Path(value(context, "robot")).stem)
    system = load_system(parameters["command_bridge"]["system"])
    robots = [item.name for item in system.config.robots]
    starts_driver = robot.description is not None
    return [
        *network_actions(context),
        *(driver_actions(context, robot, namespace, robots) if starts_driver else []),
        *stack_actions(context, parameters, namespace, folder),
        *show_actions(
            context,
            system,
            namespace,
            folder,
            value(context, "driver") == "sim",
            is_described=starts_driver and value(context, "driver") == "hardware",
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and what is started with them."""
    return describe(__file__, ARGUMENTS, start)
