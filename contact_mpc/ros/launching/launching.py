"""What the launch files share: arguments, nodes as launch actions, network and security, and the end of a launch.

Only launch files import this: `launch` and `launch_ros` come with a ROS 2 installation, not from PyPI.
"""

import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from contact_mpc.errors import ConfigError
from contact_mpc.ros.launching.launch_arguments import refuse_unknown_arguments
from contact_mpc.ros.runtime.parent_process import parent_environment
from contact_mpc.ros.stack.discovery import discovery_environment
from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters
from contact_mpc.ros.stack.stack import to_parameter_file
from contact_mpc.settings.file_access import write_text
from contact_mpc.settings.resources import resource_names
from contact_mpc.settings.threads import SINGLE_THREADED
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.plan import load_plan, save_plan
from contact_mpc.task.task import TaskConfig

PACKAGE = "contact_mpc"
SHARED: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    "task": ("", f"task: {', '.join(resource_names('tasks'))}, or the path of a task file", None),
    "plan": ("", "plan file; empty: the plan is made first", None),
    "params": ("", "parameter file of the nodes; empty: that of the task or robot in config/nodes", None),
    "record": ("", "folder for bag and parameters, which must not exist; empty: no recording", None),
    "robot_name": ("", "namespace of the nodes; empty: the name of the system's robot", None),
    "remap": ("", "topics under other names, e.g. 'joint_states:=/arm/joint_states', separated by spaces", None),
    "seed": ("0", "seed of the sensor noise", None),
    "rviz": (
        "false", "show the stack in RViz, from a sourced ROS 2 with robot_state_publisher and rviz2", ("true", "false"),
    ),
    "view": ("false", "show the stack in a browser, at http://127.0.0.1:8080", ("true", "false")),
    "discovery": (
        "LOCALHOST", "who may find the nodes: this machine only, or the network too", ("LOCALHOST", "SUBNET"),
    ),
    "domain_id": ("", "ROS domain of the nodes, 0 to 101; empty: ROS_DOMAIN_ID as it is set", None),
    "keystore": (
        "", "SROS 2: folder of the keystore; nodes then refuse others without keys. Empty: no encryption", None,
    ),
}  # fmt: skip


def argument(name: str, default: str | None, description: str, choices: Iterable[str] | None = None) -> Action:
    """Return a declared argument; without a default it must be given."""
    known = None if choices is None else list(choices)
    return DeclareLaunchArgument(name, default_value=default, description=description, choices=known)


def describe(
    file: str, arguments: Sequence[DeclareLaunchArgument], start: Callable[[LaunchContext], list[Action]]
) -> LaunchDescription:
    """Return what a launch file describes: its arguments, and what `start` returns once they are known.

    Nodes of this package end when the process that launches dies. A launch that gets SIGTERM or SIGKILL ends nobody.
    """

    def check(_context: LaunchContext) -> list[Action]:
        refuse_unknown_arguments(sys.argv, file, [argument.name for argument in arguments])
        return []

    parent: list[Action] = [SetEnvironmentVariable(name, text) for name, text in parent_environment().items()]
    return LaunchDescription([*arguments, *parent, OpaqueFunction(function=check), OpaqueFunction(function=start)])


def shared_arguments(*names: str, **defaults: str) -> list[Action]:
    """Return arguments that several launch files have, some with another default."""
    found = []
    for name in names:
        default, description, choices = SHARED[name]
        found.append(argument(name, defaults.get(name, default), description, choices))
    return found


def value(context: LaunchContext, name: str) -> str:
    """Return the value of an argument."""
    return LaunchConfiguration(name).perform(context)


def network_actions(context: LaunchContext) -> list[Action]:
    """Return actions that set who finds the nodes, their domain, and whether SROS 2 guards them.

    With a keystore each node takes the enclave of its own full name, e.g. /anypulator/command_bridge; make it with
    `ros2 security create_enclave KEYSTORE /anypulator/command_bridge`.

    Raises
    ------
    ConfigError
        The domain is not one, or there is no such keystore.
    """
    scope = value(context, "discovery")
    network = discovery_environment(scope)
    actions: list[Action] = [SetEnvironmentVariable(name, text) for name, text in network.items()]
    domain, keystore = value(context, "domain_id"), value(context, "keystore")
    if domain:
        if not domain.isdigit() or int(domain) > 101:
            raise ConfigError(f"domain_id:={domain}; expected 0 to 101")
        actions.append(SetEnvironmentVariable("ROS_DOMAIN_ID", domain))
    if keystore:
        folder = Path(keystore).expanduser().resolve()
        if not (folder / "enclaves").is_dir():
            raise ConfigError(f"keystore:={keystore}: no keystore; make one with `ros2 security create_keystore DIR`")
        settings = {"KEYSTORE": str(folder), "ENABLE": "true", "STRATEGY": "Enforce"}
        actions += [SetEnvironmentVariable(f"ROS_SECURITY_{key}", text) for key, text in settings.items()]
    return actions


def run_folder(record: str) -> Path:
    """Return the folder of a launch: the one to record in, which must be new, or a temporary one."""
    if not record:
        return Path(tempfile.mkdtemp(prefix="contact_mpc_"))
    folder = Path(record).expanduser().resolve()
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise ConfigError(f"record:={record}: {error.strerror}; give a folder that does not exist yet") from error
    return folder


def prepare_plan(context: LaunchContext, task: TaskConfig, folder: Path) -> Path:
    """Return the plan file of a task: the given one, checked, or a new one."""
    given = value(context, "plan")
    if given:
        path = Path(given).expanduser().resolve()
        load_plan(path, task.system)
        return path
    from contact_mpc.planning.methods import make_plan

    path = folder / "plan.npz"
    save_plan(path, make_plan(task))
    return path


def task_parameters(
    context: LaunchContext, task: TaskConfig, folder: Path, plant: str, clock: str, interface: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return the parameters of all nodes for a task; `plant` is an engine, or what takes its place."""
    options = RunOptions(
        plant=plant,
        clock=clock,
        seed=int(value(context, "seed")),
        parameter_file=value(context, "params") or default_parameter_file(task),
        interface=interface,
        recorded=bool(value(context, "record")),
    )
    return build_parameters(task, options, folder, prepare_plan(context, task, folder))


def full_namespace(context: LaunchContext, robot: str) -> str:
    """Return the namespace with its leading slash."""
    return "/" + (value(context, "robot_name").strip("/") or robot)


def read_remaps(text: str) -> list[tuple[str, str]]:
    """Return the pairs of a `remap` argument; raises ConfigError where one is not FROM:=TO."""
    pairs = [tuple(item.split(":=")) for item in text.split()]
    for pair in pairs:
        if len(pair) != 2 or not all(pair):
            raise ConfigError(f"remap:={':='.join(pair)}: expected FROM:=TO, several separated by spaces")
    return [(pair[0], pair[1]) for pair in pairs]


def node_actions(
    names: Sequence[str], namespace: str, parameter_file: Path, last: str, remap: str = "", is_secured: bool = False
) -> list[Action]:
    """Return actions that start nodes; the launch ends as soon as one of them ends.

    Parameters
    ----------
    names : sequence of str
        Executables of this package, which are also the names of the nodes.
    namespace : str
        Namespace of all.
    parameter_file : Path
        Parameters of all.
    last : str
        The node whose end is the regular end.
    remap : str
        Topics under other names, as in the argument.
    is_secured : bool
        Whether each node has an enclave of its own.
    """
    actions: list[Action] = [SetEnvironmentVariable(variable, "1") for variable in SINGLE_THREADED]
    for name in names:
        node = Node(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=namespace,
            parameters=[str(parameter_file)],
            remappings=read_remaps(remap),
            ros_arguments=["--enclave", f"{namespace}/{name}"] if is_secured else [],
            output="screen",
        )
        reason = "the run is over" if name == last else f"{name} ended"
        over = EmitEvent(event=Shutdown(reason=reason))
        actions += [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[over])), node]
    return actions


def stack_actions(
    context: LaunchContext, parameters: dict[str, dict[str, Any]], namespace: str, folder: Path, end_s: float = 0.0
) -> list[Action]:
    """Return actions that start the nodes of `parameters` and bring them up in order, the bridge last.

    Parameters
    ----------
    end_s : float
        Simulated time at which the launch ends; 0: with a signal, or with `lifecycle_manager/shutdown`.
    """
    use_sim_time = any(values.get("use_sim_time") for values in parameters.values())
    waits = parameters.get("plant", {}).get("clock") == "realtime"
    manager = {"nodes": list(parameters), "end_s": end_s, "waits": waits, "use_sim_time": use_sim_time}
    manager["awaits_reference"] = parameters.get("trajectory_server", {}).get("autostart", False)
    parameters = parameters | {"lifecycle_manager": manager}
    file = folder / "parameters.yaml"
    write_text(file, to_parameter_file(namespace, parameters))
    secured = bool(value(context, "keystore"))
    return node_actions(list(parameters), namespace, file, "lifecycle_manager", value(context, "remap"), secured)
