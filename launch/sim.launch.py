"""Run a task in simulation: every node as a process, brought up in order, ended by the end of the task.

ros2 launch contact_mpc sim.launch.py task:=allegro_ball plant:=mujoco record:=/tmp/run
"""

import tempfile
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import OpaqueFunction

from contact_mpc.model.plan import load_plan, save_plan
from contact_mpc.model.resources import resource_names
from contact_mpc.model.task import load_task
from contact_mpc.nodes.launching import argument, node_actions, value
from contact_mpc.nodes.run_parameters import RunOptions, build_parameters, default_parameter_file
from contact_mpc.nodes.stack import to_parameter_file
from contact_mpc.planning.trajectory_optimisation import plan_task
from contact_mpc.sim.plant import T0_NS

ARGUMENTS = (
    argument("task", "allegro_ball", f"task to run: {', '.join(resource_names('tasks'))}, or the path of a task file"),
    argument("plant", "drake", "physics engine", ("drake", "mujoco")),
    argument("clock", "lockstep", "lockstep: deterministic; realtime: wall clock", ("lockstep", "realtime")),
    argument("interface", "", "commands to the plant; empty: as the parameter file says", ("", "effort", "position")),
    argument("record", "", "folder for bag and parameters, which must not exist; empty: no recording"),
    argument("plan", "", "plan file; empty: the plan is made first"),
    argument("params", "", "parameter file of the nodes; empty: config/nodes/TASK.yaml"),
    argument("robot_name", "", "namespace of the nodes; empty: the name of the system's robot"),
    argument("seed", "0", "seed of the sensor noise"),
)


def start(context: LaunchContext) -> list[Action]:
    """Return the nodes of the run, with their parameters in one file."""
    task = load_task(value(context, "task"))
    record = value(context, "record")
    folder = Path(record) if record else Path(tempfile.mkdtemp(prefix="contact_mpc_"))
    folder.mkdir(parents=True, exist_ok=not record)
    plan_file = Path(value(context, "plan") or folder / "plan.npz").resolve()
    if value(context, "plan"):
        load_plan(plan_file, task.system)
    else:
        save_plan(plan_file, plan_task(task).plan)
    options = RunOptions(
        plant=value(context, "plant"),
        clock=value(context, "clock"),
        seed=int(value(context, "seed")),
        parameter_file=value(context, "params") or default_parameter_file(task),
        interface=value(context, "interface") or None,
        recorded=bool(record),
    )
    parameters = build_parameters(task, options, folder.resolve(), plan_file)
    end_s = T0_NS * 1e-9 + parameters["plant"]["run_for_s"]
    parameters["lifecycle_manager"] = {"nodes": list(parameters), "end_s": end_s}
    namespace = "/" + (value(context, "robot_name").strip("/") or task.system.config.robots[0].name)
    file = folder / "parameters.yaml"
    file.write_text(to_parameter_file(namespace, parameters))
    return node_actions(list(parameters), namespace, file, last="lifecycle_manager")


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and what is started with them."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])
