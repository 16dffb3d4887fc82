"""Parameters of all nodes for one run: the task's parameter file, then what the run itself decides."""

import json
import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from contact_mpc.control.tracking.config import rename_mode
from contact_mpc.errors import ConfigError
from contact_mpc.loop.controllers import CONTROLLERS
from contact_mpc.plants.registry import PLANTS
from contact_mpc.ros.runtime.lifecycle_client import RUN_NODES
from contact_mpc.ros.runtime.parameters import RCLPY_PARAMETERS
from contact_mpc.ros.stack.cores import place_nodes
from contact_mpc.ros.stack.stack import to_parameter_file
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.node_parameters import (
    SHARED,
    apply_setting,
    check_node_names,
    load_node_parameters,
    merge_parameters,
)
from contact_mpc.task.task import TaskConfig
from contact_mpc.version import __version__

PROGRESS_PERIOD_S = 0.1  # runs end on its multiples, where the recorder reports how far it is
DEFAULT_START_DELAY_S = 0.3
SESSION_BYTES = 8
LATE_SHARE = 0.9  # of the time after which a plan is stale
SEARCH_S = 600.0  # of wall clock that lockstep waits for parts that are planned on the way
PARTS_CONTROLLER = "reorient_rollouts"
CONFIGS = {
    "state_estimator": ("contact_mpc.ros.nodes.state_estimator", "StateEstimatorConfig"),
    "mpc_tracker": ("contact_mpc.ros.nodes.mpc_tracker", "MpcTrackerConfig"),
    "trajectory_server": ("contact_mpc.ros.nodes.trajectory_server", "TrajectoryServerConfig"),
    "command_bridge": ("contact_mpc.ros.nodes.command_bridge", "CommandBridgeConfig"),
    "plant": ("contact_mpc.ros.nodes.plant_config", "PlantConfig"),
    "recorder": ("contact_mpc.ros.nodes.recorder", "RecorderConfig"),
    "goal_server": ("contact_mpc.ros.nodes.goal_server", "GoalServerConfig"),
    "mock_driver": ("contact_mpc.ros.nodes.mock_driver", "MockDriverConfig"),
}
AGREED = {**SHARED, "rate_hz": ("plant", "command_bridge")}  # the estimator has another rate_hz


@dataclass(frozen=True)
class RunOptions:
    """What a user chooses for a run.

    Attributes
    ----------
    plant, clock : str
        "drake", "mujoco" or "gazebo", or "hardware" without a plant; "lockstep" or "realtime".
    interface : str or None
        "effort" or "position"; None: as the parameter file says.
    seed : int
        Seed of the sensor noise.
    parameter_file : Path or str
        Parameter file of the nodes, or the name of one in config/nodes.
    settings : sequence of str
        "node.key=value", the last word.
    recorded : bool
        Whether a recorder belongs to the run.
    on_top : Path or str or None
        Parameter file whose entries win over those of `parameter_file`: what a robot asks of the nodes.
    endless : bool
        Without an end, and goals from a goal server instead of a plan from a trajectory server.
    """

    plant: str
    clock: str
    seed: int
    parameter_file: Path | str
    interface: str | None = None
    settings: Sequence[str] = ()
    recorded: bool = True
    on_top: Path | str | None = None
    endless: bool = False

    @property
    def has_plant(self) -> bool:
        """Whether a node of the run simulates the robot."""
        return self.plant in PLANTS or ":" in self.plant


def build_parameters(task: TaskConfig, options: RunOptions, folder: Path, plan_file: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of every node by its name.

    Raises
    ------
    ConfigError
        The parameter file or a setting is wrong, or two nodes would disagree.
    """
    parameters = _load(options)
    session = secrets.token_hex(SESSION_BYTES)
    for name in ("mpc_tracker", "command_bridge"):
        parameters[name].setdefault("session", session)
    parameters["command_bridge"].setdefault("simulated", options.has_plant)
    if task.has_open_end:
        _plan_on_the_way(parameters)
    _apply_settings(parameters, options.settings)
    shared = {"system": str(task.system.path), "clock": options.clock, "recorded": options.recorded}
    for values in parameters.values():
        values.update(shared, use_sim_time=options.has_plant)
    if options.interface is not None:
        _choose_interface(parameters, options.interface)
    parameters["mpc_tracker"].update(task=str(task.path), seed=options.seed)
    if options.endless:
        parameters["goal_server"]["task"] = str(task.path)
    else:
        parameters["trajectory_server"].update(plan_file=str(plan_file), autostart=True)
    parameters["command_bridge"]["start_rad"] = task.start_q[task.system.n_q_u :].tolist()
    if options.has_plant:
        parameters["plant"].update(task=str(task.path), engine=options.plant, seed=options.seed)
        parameters["plant"]["run_for_s"] = 0.0 if options.endless else run_duration_s(task, parameters)
    if options.clock == "realtime" and options.has_plant:
        parameters["plant"].setdefault("plan_age_s", _late_plan_s(parameters))
        place_nodes(parameters, sorted(os.sched_getaffinity(0)))
    _check_agreement(parameters, options.parameter_file)
    if options.recorded:
        parameters["recorder"]["bag"] = str(folder / "bag")
        parameters["recorder"]["metadata_json"] = describe_run(task, options, parameters)
    else:
        del parameters["recorder"]
    check_values(parameters, resource("nodes", options.parameter_file))
    task.system.gains(_value(parameters, "command_bridge", "gain_set"))
    return parameters


def _plan_on_the_way(parameters: dict[str, dict[str, Any]]) -> None:
    """Follow parts that roll-outs correct, for which lockstep waits, unless the files say otherwise."""
    tracker = parameters["mpc_tracker"]
    if tracker.get("controller", "reorient") == "reorient":
        tracker["controller"] = PARTS_CONTROLLER
    parameters["command_bridge"].setdefault("plan_wait_s", SEARCH_S)
    if "plant" in parameters:
        parameters["plant"].setdefault("command_timeout_s", SEARCH_S)


def _apply_settings(parameters: dict[str, dict[str, Any]], settings: Sequence[str]) -> None:
    """Put settings on top; `comparison` stands for the tracker's parameters of controllers to compare with."""
    parameters["comparison"] = {}
    for setting in settings:
        apply_setting(parameters, setting)
    comparison, tracker = parameters.pop("comparison"), rename_mode(parameters["mpc_tracker"])
    tracker["controller"] = CONTROLLERS.check(tracker.get("controller", "tracker"))
    if comparison:
        tracker["comparison"] = {**tracker.get("comparison", {}), **comparison}
    parameters["mpc_tracker"] = tracker


def _load(options: RunOptions) -> dict[str, dict[str, Any]]:
    """Return what the files say of each node of the run."""
    server = {"trajectory_server": "goal_server"} if options.endless else {}
    names = [server.get(name, name) for name in RUN_NODES if name != "plant" or options.has_plant]
    files = [file for file in (options.parameter_file, options.on_top) if file is not None]
    parameters: dict[str, dict[str, Any]] = {name: {} for name in names}
    for file in files:
        check_node_names(file, CONFIGS)
        for name in names:
            merge_parameters(parameters[name], load_node_parameters(file, name), str(file))
    return parameters


def check_values(parameters: dict[str, dict[str, Any]], source: Path) -> None:
    """Raise ConfigError before anything starts where a node would refuse its parameters; names file, node and key."""
    for name, values in parameters.items():
        module, config_class = CONFIGS[name]
        own = {key: value for key, value in values.items() if key not in RCLPY_PARAMETERS}
        validate(getattr(import_module(module), config_class), own, f"{source}: node {name}")


def run_duration_s(task: TaskConfig, parameters: dict[str, dict[str, Any]]) -> float:
    """Return the simulated time from the first state to the end of the hold, up to the next progress report."""
    delay_s = parameters["trajectory_server"].get("start_delay_s", DEFAULT_START_DELAY_S)
    if not isinstance(delay_s, int | float) or not 0.0 <= delay_s < math.inf:
        raise ConfigError(f"trajectory_server.start_delay_s = {delay_s!r:.100}; expected a time in s, 0 or more")
    total_s = delay_s + task.duration_s + task.hold_s
    return math.ceil(round(total_s / PROGRESS_PERIOD_S, 6)) * PROGRESS_PERIOD_S


def _late_plan_s(parameters: dict[str, dict[str, Any]]) -> float:
    """Return the age of a plan, s, at which a simulator waits for the next: shortly before it is stale."""
    rate_hz, delay_s, timeout_s = (
        float(_value(parameters, "command_bridge", key)) for key in ("mpc_rate_hz", "plan_delay_s", "plan_timeout_s")
    )
    return round(1.0 / rate_hz + delay_s + LATE_SHARE * timeout_s, 6)


def _choose_interface(parameters: dict[str, dict[str, Any]], interface: str) -> None:
    for name in {"plant", "command_bridge"} & set(parameters):
        parameters[name]["command_interface"] = interface
        if interface == "position":
            parameters[name]["gravity_compensation"] = "robot"


def _check_agreement(parameters: dict[str, dict[str, Any]], source: Path | str) -> None:
    for key, nodes in AGREED.items():
        first, *others = [(name, _value(parameters, name, key)) for name in nodes if name in parameters] or [("", None)]
        for name, value in others:
            if None not in (first[1], value) and first[1] != value:
                raise ConfigError(
                    f"{source}: {key} is {first[1]!r} for {first[0]} and {value!r} for {name}; both must be the same"
                )


def _value(parameters: dict[str, dict[str, Any]], name: str, key: str) -> Any:
    """Return a parameter of a node, its default where it is not given, None where it has none."""
    module, config_class = CONFIGS[name]
    known = getattr(import_module(module), config_class).model_fields[key]
    return parameters[name].get(key, None if known.is_required() else known.default)


def describe_run(task: TaskConfig, options: RunOptions, parameters: dict[str, dict[str, Any]]) -> str:
    """Return what the bag says about the run: a JSON object."""
    parameters["recorder"].pop("metadata_json", None)
    return json.dumps(
        {
            "task": task.name,
            "task_file": str(task.path),
            "duration_s": task.duration_s,
            "hold_s": task.hold_s,
            "axis": task.axis,
            "displacement": task.displacement,
            "joint_names": task.system.joint_names,
            "driver": parameters["state_estimator"].get("driver", {}),
            "system": task.system.name,
            "system_file": str(task.system.path),
            "seed": options.seed,
            "clock": options.clock,
            "plant": options.plant,
            "interface": parameters["command_bridge"].get("command_interface", "effort"),
            "version": __version__,
            "provenance": task.system.provenance(),
            "parameters": to_parameter_file("/" + task.system.config.robots[0].name, parameters),
        }
    )
