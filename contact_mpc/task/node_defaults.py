"""Parameters of the nodes of a task of one's own, for which config/nodes has no file."""

import os
from pathlib import Path
from typing import Any

import yaml

from contact_mpc.errors import ConfigError
from contact_mpc.settings.file_access import write_text
from contact_mpc.task.derived import derive_nodes
from contact_mpc.task.task import TaskConfig

OF_ALL = {"mpc_rate_hz": 20, "plan_delay_s": 0.02, "command_interface": "effort", "gravity_compensation": "bridge"}
NODES: dict[str, dict[str, Any]] = {
    "state_estimator": {"rate_hz": 200},
    "mpc_tracker": {
        "horizon_steps": 5, "object_rotation_weight": 100.0,
        "object_position_weight": 1.0e5, "command_weight": 10.0, "rate_weight": 40.0, "iterations": 1,
        "contact_trust_weight": 1.0, "torque_share": 0.9,
    },
    "trajectory_server": {"start_delay_s": 0.3},
    "command_bridge": {
        "start_from": "effort", "hold_policy": "last_command",
    },
    "plant": {
        "sensors": {"pose_rate_hz": 60.0, "pose_delay_s": 0.02, "pose_noise_mm": 0.5, "pose_noise_deg": 0.5},
    },
    "recorder": {},
}  # fmt: skip


def default_nodes(task: TaskConfig) -> dict[str, dict[str, Any]]:
    """Return the parameters by node of a task for which config/nodes has no file, before its own section `nodes`."""
    others = derive_nodes(task.planner)
    return {name: {**values, **others.get(name, {})} for name, values in NODES.items()}


def write_node_parameters(task: TaskConfig) -> Path:
    """Write the derived parameters of a task's nodes, with those of its section `nodes` on top; return the file.

    It lies in the user's cache folder (XDG_CACHE_HOME) by the name of the task: the nodes read it as any other.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "contact_mpc" / "nodes"
    file = cache / f"{task.name}.yaml"
    unknown = sorted(set(task.nodes) - set(NODES))
    if unknown:
        raise ConfigError(f"{task.path}: nodes: no node '{unknown[0]}'; known: {', '.join(NODES)}")
    nodes = {"/**": {"ros__parameters": OF_ALL}} | {
        f"/**/{name}": {"ros__parameters": {**values, **task.nodes.get(name, {})}}
        for name, values in default_nodes(task).items()
    }
    text = f"# Derived for {task.path}; its section `nodes` overrides them.\n" + yaml.safe_dump(nodes, sort_keys=False)
    if not file.is_file() or file.read_bytes() != text.encode():
        write_text(file, text)
    return file
