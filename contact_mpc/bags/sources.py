"""What a bag was recorded with: system, task and parameters, from its metadata or from the user."""

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from contact_mpc.bags.record import RunRecord
from contact_mpc.errors import BagError, ConfigError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.strict_yaml import parse_yaml
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.node_parameters import core_parameters, load_node_parameters
from contact_mpc.task.task import TaskConfig, load_task

T = TypeVar("T", bound=BaseModel)
PARAMETERS_KEY = "ros__parameters"


def find_system(record: RunRecord, given: str | Path | None = None) -> System:
    """Return the system that a bag was recorded with.

    Parameters
    ----------
    record : RunRecord
        The bag; its metadata hold the path and the name of the system.
    given : str or Path, optional
        Name or path from the user, which goes first.

    Raises
    ------
    BagError
        The bag does not say and the user did not, or the recorded system cannot be found here.
    """
    if given is not None:
        return load_system(given)
    names = [record.metadata.get("system"), record.metadata.get("provenance", {}).get("system")]
    return _first(load_system, [name for name in names if name], record, "system")


def find_task(record: RunRecord, given: str | Path | None = None) -> TaskConfig:
    """Return the task that a bag was recorded with, with times and axis of the run; see `find_system`.

    Its file is where it was, or beside the bag, where ``run`` writes those that it makes; else its name says.
    """
    if given is not None:
        return load_task(given)
    file = Path(str(record.metadata.get("task_file", "")))
    files = [file, record.path.parent / file.name]
    names = [record.metadata.get("task"), record.metadata.get("task_name")]
    there = [file for file in files if file.is_file()]
    task = load_task(there[0]) if there else _first(load_task, [name for name in names if name], record, "task")
    times = {key: float(record.metadata[key]) for key in ("duration_s", "hold_s") if key in record.metadata}
    return replace(task, **times).about(record.metadata.get("axis", "")).moved_by(record.metadata.get("displacement"))


def describe_difference(record: RunRecord, system: System) -> str:
    """Return a warning if the system's files are not those of the recording, else ""."""
    recorded = record.metadata.get("provenance", {}).get("system_digest")
    if recorded in (None, system.digest):
        return ""
    return (
        f"system '{system.name}' is not the one recorded (digest {system.digest}, in the bag {recorded}): its YAML or "
        "a URDF was changed since, so recomputed values will differ"
    )


def node_parameters(record: RunRecord, node: str, file: str | Path | None = None) -> dict[str, Any]:
    """Return the parameters of a node, nested: from a parameter file, else from the bag, else none."""
    if file is not None:
        return load_node_parameters(file, node)
    return recorded_parameters(record).get(node, {})


def node_config(record: RunRecord, node: str, model: type[T], file: str | Path | None = None, key: str = "") -> T:
    """Return the config of a node's core, with the defaults of what is not given; see `node_parameters`.

    Parameters
    ----------
    key : str
        Where it is nested among the node's parameters; "": it is all of them but those of the node itself.

    Raises
    ------
    ConfigError
        The parameters do not fit the config; names source, key and what is allowed.
    """
    source = f"{record.path}: run_metadata" if file is None else str(file)
    parameters = node_parameters(record, node, file)
    values = parameters.get(key, {}) if key else core_parameters(parameters)
    return validate(model, values, f"{source}: {node}.{key}" if key else f"{source}: {node}")


def recorded_parameters(record: RunRecord) -> dict[str, dict[str, Any]]:
    """Return the parameters in the bag's metadata by node name without namespace; empty if it has none."""
    text = record.metadata.get("parameters")
    if not text:
        return {}
    try:
        tree = parse_yaml(text, "its text")
        return {name.rpartition("/")[2]: dict(entry[PARAMETERS_KEY]) for name, entry in tree.items()}
    except (ConfigError, AttributeError, KeyError, TypeError) as error:
        raise BagError(
            f"{record.path}: 'parameters' in run_metadata is no ROS parameter file ({error}); give one with --params"
        ) from error


def _first(load: Any, names: list[Any], record: RunRecord, what: str) -> Any:
    """Load the first of several names that exists here."""
    if not names:
        raise BagError(f"{record.path}: the bag does not say which {what} it was recorded with; give it with --{what}")
    for name in names[:-1]:
        if Path(str(name)).is_file():
            return load(name)
    try:
        return load(names[-1])
    except ConfigError as error:
        raise BagError(
            f"{record.path}: its {what} {' or '.join(map(repr, names))} is not on this machine ({error}); "
            f"give it with --{what}"
        ) from error
