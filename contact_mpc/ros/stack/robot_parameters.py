"""Parameters of all nodes for a robot: its driver, a stand-in for it, or a plant that wears its driver's topics.

What a robot asks of the nodes (rate, interface, start, limits) lies on top of what the task says. Without a task only
estimator and bridge come up, and the bridge holds.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from contact_mpc.errors import ConfigError
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.driver.robot_file import RobotFile, driver_of
from contact_mpc.ros.stack.run_parameters import CONFIGS, RunOptions, build_parameters, check_values, describe_run
from contact_mpc.settings.resources import resource
from contact_mpc.task.node_parameters import (
    apply_setting,
    check_node_names,
    default_parameter_file,
    load_node_parameters,
)
from contact_mpc.task.task import TaskConfig

DriverMode = Literal["hardware", "mock", "sim", "none"]
DRIVER_MODES: tuple[DriverMode, ...] = ("hardware", "mock", "sim", "none")
HOLDING = ("state_estimator", "command_bridge")  # what a robot without a task needs
OF_BRIDGE = {"command_interface": "effort", "gravity_compensation": "robot", "rate_hz": 1000}


@dataclass(frozen=True)
class RobotRun:
    """What a user chooses for a robot.

    Attributes
    ----------
    driver : str
        "hardware" or "none": the robot's own; "mock": drives without physics; "sim": a plant.
    parameter_file : Path or str
        What the robot asks of the nodes.
    clock, engine : str
        Of "sim": "lockstep" or "realtime"; physics engine.
    seed : int
        Seed of noise and dropouts.
    settings : tuple of str
        "node.key=value", the last word.
    recorded : bool
        Whether a recorder belongs to the run.
    autostart : bool
        Begin the task's motion at once, instead of on `trajectory_server/start`.
    """

    driver: DriverMode
    parameter_file: Path | str
    clock: str = "realtime"
    engine: str = "drake"
    seed: int = 0
    settings: tuple[str, ...] = ()
    recorded: bool = False
    autostart: bool = False


def robot_parameters(
    robot: RobotFile, run: RobotRun, task: TaskConfig | None, folder: Path, plan_file: Path | None
) -> dict[str, dict[str, Any]]:
    """Return the parameters of every node by its name, for a robot with or without a task.

    Raises
    ------
    ConfigError
        A file or setting is wrong, the robot's joints are not the system's, or a plant is asked for without a task.
    """
    options = None if task is None else _options(run, task)
    if task is None or options is None:
        parameters, system = _holding(robot, run), load_system(robot.system)
    else:
        assert plan_file is not None
        parameters, system = build_parameters(task, options, folder, plan_file), task.system
        parameters["trajectory_server"]["autostart"] = run.autostart
    driver = driver_of(robot, system)
    for name in {"state_estimator", "command_bridge", "plant", "recorder"} & set(parameters):
        parameters[name]["driver"] = driver
    if run.driver == "mock":
        parameters["mock_driver"] = _mock(parameters["command_bridge"], driver, run, task)
    for setting in run.settings:
        apply_setting(parameters, setting)
    if run.recorded and task is not None and options is not None:
        parameters["recorder"]["metadata_json"] = describe_run(task, options, parameters)
    check_values(parameters, resource("nodes", run.parameter_file))
    return parameters


def _holding(robot: RobotFile, run: RobotRun) -> dict[str, dict[str, Any]]:
    if run.driver == "sim":
        raise ConfigError("driver:=sim needs a task: it says where robot and object start; give task:=NAME")
    check_node_names(run.parameter_file, CONFIGS)
    shared = {"system": str(load_system(robot.system).path), "clock": "realtime", "use_sim_time": False}
    return {node: load_node_parameters(run.parameter_file, node) | shared for node in HOLDING}


def _options(run: RobotRun, task: TaskConfig) -> RunOptions:
    is_sim = run.driver == "sim"
    return RunOptions(
        run.engine if is_sim else "hardware", run.clock if is_sim else "realtime", run.seed,
        default_parameter_file(task), recorded=run.recorded, on_top=run.parameter_file,
        settings=_plant_follows_bridge(run) if is_sim else (),
    )  # fmt: skip


def _plant_follows_bridge(run: RobotRun) -> tuple[str, ...]:
    """Return settings that make the plant the robot that the bridge expects; lockstep has 1 kHz."""
    bridge = OF_BRIDGE | load_node_parameters(run.parameter_file, "command_bridge")
    if run.clock == "lockstep":
        bridge["rate_hz"] = 1000
    settings = [f"plant.{key}={bridge[key]}" for key in OF_BRIDGE]
    return (*settings, f"command_bridge.rate_hz={bridge['rate_hz']}")


def _mock(bridge: dict[str, Any], driver: dict[str, Any], run: RobotRun, task: TaskConfig | None) -> dict[str, Any]:
    """Return the parameters of the mock driver: the robot that the bridge expects."""
    values = {key: bridge.get(key, default) for key, default in OF_BRIDGE.items()}
    shared = {key: bridge[key] for key in ("system", "clock", "use_sim_time")}
    return {**values, **shared, "driver": driver, "seed": run.seed, "task": "" if task is None else str(task.path)}
