"""Run a task in simulation: every node as a process, brought up in order, ended by the end of the task.

ros2 launch contact_mpc sim.launch.py task:=allegro_ball plant:=mujoco record:=/tmp/run
"""

from launch import LaunchContext, LaunchDescription
from launch.action import Action

from contact_mpc.plants.common.plant import T0_NS
from contact_mpc.plants.registry import PLANTS
from contact_mpc.ros.launching.launching import (
    argument,
    describe,
    full_namespace,
    network_actions,
    run_folder,
    shared_arguments,
    stack_actions,
    task_parameters,
    value,
)
from contact_mpc.ros.launching.showing import show_actions
from contact_mpc.task.task import load_task

ARGUMENTS = (
    *shared_arguments("task", "plan", "params", "record", "robot_name", "remap", "seed", task="allegro_ball"),
    *shared_arguments("rviz", "view"),
    *shared_arguments("discovery", "domain_id", "keystore"),
    argument("plant", "drake", "physics engine", tuple(PLANTS)),
    argument("clock", "lockstep", "lockstep: deterministic; realtime: wall clock", ("lockstep", "realtime")),
    argument("interface", "", "commands to the plant; empty: as the parameter file says", ("", "effort", "position")),
)


def start(context: LaunchContext) -> list[Action]:
    """Return the nodes of the run, with their parameters in one file."""
    task = load_task(value(context, "task"))
    folder = run_folder(value(context, "record"))
    interface = value(context, "interface") or None
    parameters = task_parameters(context, task, folder, value(context, "plant"), value(context, "clock"), interface)
    namespace = full_namespace(context, task.system.config.robots[0].name)
    end_s = T0_NS * 1e-9 + parameters["plant"]["run_for_s"]
    return [
        *network_actions(context),
        *stack_actions(context, parameters, namespace, folder, end_s),
        *show_actions(context, task.system, namespace, folder, use_sim_time=True),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and what is started with them."""
    return describe(__file__, ARGUMENTS, start)
