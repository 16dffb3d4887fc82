"""What the launch files share: arguments, nodes as launch actions, and the end of a launch.

Only launch files import this: `launch` and `launch_ros` come with a ROS 2 installation, not from PyPI.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from launch import LaunchContext
from launch.action import Action
from launch.actions import DeclareLaunchArgument, EmitEvent, RegisterEventHandler, SetEnvironmentVariable
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from contact_mpc.nodes.processes import SINGLE_THREADED

PACKAGE = "contact_mpc"


def argument(name: str, default: str | None, description: str, choices: Iterable[str] | None = None) -> Action:
    """Return a declared argument; without a default it must be given."""
    known = None if choices is None else list(choices)
    return DeclareLaunchArgument(name, default_value=default, description=description, choices=known)


def value(context: LaunchContext, name: str) -> str:
    """Return the value of an argument."""
    return LaunchConfiguration(name).perform(context)


def node_actions(names: Sequence[str], namespace: str, parameter_file: Path, last: str) -> list[Action]:
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
    """
    actions: list[Action] = [SetEnvironmentVariable(variable, "1") for variable in SINGLE_THREADED]
    for name in names:
        node = Node(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=namespace,
            parameters=[str(parameter_file)],
            output="screen",
        )
        reason = "the run is over" if name == last else f"{name} ended"
        over = EmitEvent(event=Shutdown(reason=reason))
        actions += [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[over])), node]
    return actions
