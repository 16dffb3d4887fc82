"""Parameters of a node from a ROS parameter file, without ROS: what runs in one process reads the files of the nodes.

A file maps node names, with or without a namespace and wildcards (`/**/state_estimator`, `/**`), to `ros__parameters`;
dotted names are nested mappings. Later entries win over earlier ones, and named nodes over `/**`, as in rcl. What nodes
must agree on stands once under `/**` and reaches those that have it.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from contact_mpc.errors import ConfigError
from contact_mpc.settings.resources import resource, resource_names
from contact_mpc.settings.strict_yaml import parse_yaml
from contact_mpc.settings.yaml_files import read_yaml
from contact_mpc.task.node_defaults import write_node_parameters
from contact_mpc.task.task import TaskConfig

KEY = "ros__parameters"
NODE_ONLY = (
    "system",
    "clock",
    "recorded",
    "use_sim_time",
    "realtime",
    "nice",
    "cores",
    "session",
    "comparison",
    "seed",
)  # beside the parameters of a node's core

# What nodes must agree on, with the nodes that have it.
SHARED: dict[str, tuple[str, ...]] = {
    "mpc_rate_hz": ("mpc_tracker", "command_bridge"),
    "plan_delay_s": ("mpc_tracker", "command_bridge"),
    "plan_timeout_s": ("mpc_tracker", "command_bridge"),
    "session": ("mpc_tracker", "command_bridge"),
    "gravity_compensation": ("plant", "command_bridge", "mock_driver"),
    "command_interface": ("plant", "command_bridge", "mock_driver"),
}


def load_node_parameters(path: str | Path, node_name: str) -> dict[str, Any]:
    """Return the parameters that a file gives to one node, nested; empty when it names other nodes only.

    Parameters
    ----------
    path : str or Path
        A name in config/nodes or the path of a parameter file.
    node_name : str
        Name of the node without its namespace.

    Raises
    ------
    ConfigError
        No such file, no YAML, or an entry without `ros__parameters`; names file and entry.
    """
    file = resource("nodes", path)
    parameters: dict[str, Any] = {}
    matching = [entry for entry in _entries(read_yaml(file), "", file) if _applies(entry[0], node_name)]
    for name, values in sorted(matching, key=lambda entry: _last(entry[0]) == node_name):
        own = values if _last(name) == node_name else without_others(values, node_name)
        merge_parameters(parameters, own, str(file))
    return parameters


def without_others(values: dict[str, Any], node_name: str) -> dict[str, Any]:
    """Return the parameters of all nodes without those that only others share."""
    return {key: value for key, value in values.items() if node_name in SHARED.get(key, (node_name,))}


def core_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a node that belong to its core."""
    return {key: value for key, value in parameters.items() if key not in NODE_ONLY}


def check_node_names(path: Path | str, known: Iterable[str]) -> None:
    """Raise ConfigError where a file names a node that is nearly one of the known ones; others' nodes may be in it."""
    file, names = resource("nodes", path), list(known)
    for full, _ in _entries(read_yaml(file), "", file):
        near = get_close_matches(_last(full), names, n=1, cutoff=0.8)
        if near and _last(full) not in names:
            raise ConfigError(f"{file}: unknown node '{full}' (did you mean '{near[0]}'?); known: {', '.join(names)}")


def apply_setting(parameters: dict[str, dict[str, Any]], setting: str) -> None:
    """Put "node.key=value" on top of the parameters of nodes, by their names.

    Raises
    ------
    ConfigError
        No such node, or the value is no YAML.
    """
    key, separator, text = setting.partition("=")
    node, dot, name = key.partition(".")
    if not (separator and dot and name) or node not in parameters:
        raise ConfigError(
            f"--set {setting}: expected node.key=value with a node of {', '.join(parameters)}, "
            "e.g. --set mpc_tracker.mpc_rate_hz=10"
        )
    value = parse_yaml(text, f"--set {setting}")
    *parents, leaf = name.split(".")
    _branch(parameters[node], parents, f"--set {setting}")[leaf] = value


def default_parameter_file(task: TaskConfig) -> str:
    """Return the parameter file of a task: its own in config/nodes, its system's, its robot's, or a derived one."""
    names = (task.name, task.system.name, task.system.config.robots[0].name)
    known = resource_names("nodes")
    return next((name for name in names if name in known), None) or str(write_node_parameters(task))


def _entries(tree: dict[str, Any], prefix: str, file: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return (full node name, parameters) of every node in the file, in its order."""
    found = []
    for name, value in tree.items():
        full = f"{prefix}/{name}".replace("//", "/")
        if not isinstance(value, dict):
            raise ConfigError(f"{file}: key '{full}' is {value!r}; expected a node or namespace with '{KEY}' below it")
        if KEY not in value:
            found += _entries(value, full, file)
        elif isinstance(value[KEY], dict):
            found.append((full, value[KEY]))
        else:
            raise ConfigError(f"{file}: '{full}.{KEY}' is {value[KEY]!r}; expected a mapping of parameter names")
    return found


def _last(full_name: str) -> str:
    return full_name.rsplit("/", 1)[-1]


def _applies(full_name: str, node_name: str) -> bool:
    return _last(full_name) in (node_name, "*", "**")


def merge_parameters(target: dict[str, Any], values: dict[str, Any], source: str) -> None:
    """Put parameters on top of others in place; dotted names are nested mappings. Errors name `source`."""
    for name, value in values.items():
        *parents, leaf = str(name).split(".")
        if isinstance(value, dict):
            merge_parameters(_branch(target, [*parents, leaf], source), value, source)
        else:
            _branch(target, parents, source)[leaf] = value


def _branch(target: dict[str, Any], names: list[str], source: str) -> dict[str, Any]:
    """Return the mapping under names within each other, made where it is missing."""
    for name in names:
        target = target.setdefault(name, {})
        if not isinstance(target, dict):
            raise ConfigError(f"{source}: '{name}' is given as {target!r:.100} and as a mapping; give one of them")
    return target
