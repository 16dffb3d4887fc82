"""What a task's files do not say and the package derives, for people to read and to override."""

from contact_mpc.settings.resources import resource_names
from contact_mpc.task.derived import derive_planner
from contact_mpc.task.node_defaults import OF_ALL, default_nodes
from contact_mpc.task.node_parameters import without_others
from contact_mpc.task.task import TaskConfig


def derived_values(task: TaskConfig) -> dict[str, str]:
    """Return the derived values by key, as text; keys are those with which the task file overrides them."""
    found = {}
    if "method" not in task.planner:
        for key, value in derive_planner(task.system, task.planner).items():
            given = task.planner.get(key)
            found[f"planner.{key}"] = f"{value:g}" if given == value else f"{given:g}, derived: {value:g}"
    if task.name not in resource_names("nodes"):
        for node, values in default_nodes(task).items():
            for key, value in {**without_others(OF_ALL, node), **values}.items():
                found[f"nodes.{node}.{key}"] = str(task.nodes.get(node, {}).get(key, value))
    return found
