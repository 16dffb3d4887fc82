"""Fault injection from start to figures."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.errors import ConfigError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.ros.driver.robot_file import RobotFile
from contact_mpc.ros.faults.injection import Injection, Injector, run_all
from contact_mpc.ros.faults.kinds import KINDS
from contact_mpc.ros.faults.limits import DetectionLimits
from contact_mpc.ros.faults.rig import FaultRig
from contact_mpc.ros.runtime.lifecycle_client import RUN_NODES
from contact_mpc.ros.stack.robot_parameters import RobotRun, robot_parameters
from contact_mpc.task.plan import Plan, save_plan
from contact_mpc.task.task import TaskConfig

DEFAULT_ESTIMATE_HZ = 200
ALLOWED_MS = 20.0
SHORT_FAULT = {"fault_hold_s": 0.1, "fault_ramp_s": 0.2}  # so that many faults fit in little time

ON_A_ROBOT: dict[str, dict[str, Any]] = {  # which is not waited for, and waits for nobody
    "command_bridge": {"simulated": False}, "plant": {"controller_patience_s": 0.0},
}  # fmt: skip


def check_kinds(names: Sequence[str]) -> list[str]:
    """Return the kinds wanted, all where none is named; raises ConfigError on an unknown one."""
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise ConfigError(f"--kinds {', '.join(unknown)}: unknown; allowed: {', '.join(KINDS)}")
    return list(names) or list(KINDS)


def mock_parameters(robot: RobotFile, task: TaskConfig, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of every node for a robot's mock driver, which stands at the task's start.

    Nothing on a mock moves an object, so the plan rests, and its drives carry the robot's weight, lest it sink from the
    plan between two faults: what is judged is the bridge, at the robot's rate, under its names, topics and types.
    """
    run, plan_file = RobotRun("mock", robot.parameters, recorded=True, autostart=True), folder / "plan.npz"
    still, system = np.zeros((2, task.system.n_a)), task.system
    q, u = np.array([task.start_q, task.start_q]), np.array([task.start_u, task.start_u])
    forces = np.zeros((2, len(system.pairs), 3))
    save_plan(plan_file, Plan(np.array([0.0, 1.0]), q, u, still, forces, system.provenance()))
    parameters = robot_parameters(robot, run, task, folder, plan_file)
    parameters["mock_driver"]["start_rad"] = task.start_q[system.n_q_u :].tolist()
    for name in ("mock_driver", "command_bridge"):
        parameters[name]["gravity_compensation"] = "robot"
    for values in parameters.values():
        values["recorded"] = False
    return parameters


def measure_faults(
    task: TaskConfig,
    parameters: dict[str, dict[str, Any]],
    folder: Path,
    kinds: list[str],
    runs: int,
    report: Callable[[Injection], None],
) -> None:
    """Start the stack once and inject every kind `runs` times.

    Parameters
    ----------
    task : TaskConfig
        What the stack works on.
    parameters : dict
        Parameters of every node, clock realtime, the robot a plant or a mock driver; the recorder runs only for its own
        faults.
    folder : Path
        Existing folder for logs and bags.
    kinds : list of str
        Names of kinds.
    runs : int
        Injections of each.
    report : callable
        Called after each injection.

    Raises
    ------
    StackError
        The stack cannot be started, or cannot be started again after a hang.
    """
    parameters = {name: dict(values) for name, values in parameters.items()}
    for name, values in parameters.items():
        values |= ON_A_ROBOT.get(name, {})
        values.pop("cores", None)  # the relay needs most of one, too: each node where there is room
    parameters["command_bridge"] |= SHORT_FAULT
    bridge = _config_of(BridgeConfig, parameters["command_bridge"])
    estimator = parameters["state_estimator"]
    limits = DetectionLimits(
        bridge,
        EstimatorConfig(**estimator.get("estimator", {})),
        1.0 / estimator.get("rate_hz", DEFAULT_ESTIMATE_HZ),
    )
    with FaultRig(task, parameters, folder, bridge.torque_rate_per_s) as rig:
        rig.start([rig.robot if name == "plant" else name for name in RUN_NODES if name != "recorder"])
        run_all(Injector(rig, limits), kinds, runs, report)


def _config_of(config_class: Any, parameters: dict[str, Any]) -> Any:
    """Return the part of a node's parameters that its core object takes."""
    return config_class(**{key: value for key, value in parameters.items() if key in config_class.model_fields})


def summarise(injections: list[Injection]) -> dict[str, Any]:
    """Return the figures of `contact-mpc bench faults`: by kind, and over all."""
    by_kind: dict[str, list[Injection]] = {}
    for injection in injections:
        by_kind.setdefault(injection.kind, []).append(injection)
    violations = sum((Counter(injection.violations) for injection in injections), Counter[str]())
    late = [i for i in injections if not (np.isnan(i.detection_ms) or i.detection_ms <= ALLOWED_MS)]
    problems = [f"{i.kind}: {i.problem}" for i in injections if i.problem]
    hangs = sum(injection.is_hang for injection in injections)
    return {
        "kinds": len(by_kind),
        "injections": sum(injection.is_injected for injection in injections),
        "not_injected": sum(not injection.is_injected for injection in injections),
        "violations": sum(violations.values()),
        "violations_by_kind": dict(violations),
        "violation_examples": [f"{i.kind}: {name} {text}" for i in injections for name, text in i.examples.items()][
            :20
        ],
        "robot_position_excess_rad": {
            name: _largest([i.position_excess_rad for i in group]) for name, group in by_kind.items()
        },
        "robot_velocity_excess_rad_s": {
            name: _largest([i.velocity_excess_rad_s for i in group]) for name, group in by_kind.items()
        },
        "hangs": hangs,
        "late_namings": len(late),
        "late": [f"{i.kind}: {i.detection_ms:.1f} ms" for i in late][:50],
        "problems": problems[:50],
        "detection_ms": {name: _statistics([i.detection_ms for i in group]) for name, group in by_kind.items()},
        "exit_ms": {name: _statistics([i.exit_ms for i in group]) for name, group in by_kind.items()},
        "recovery_s": {name: _statistics([i.recovery_s for i in group]) for name, group in by_kind.items()},
        "named": {name: sum(i.named is not None for i in group) for name, group in by_kind.items()},
        "goal_met": not (violations or hangs or late or problems),
    }


def _statistics(values: list[float]) -> dict[str, float]:
    known = np.array([value for value in values if not np.isnan(value)])
    if not known.size:
        return dict.fromkeys(("median", "p90", "p99", "max"), float("nan"))
    median, p90, p99 = np.percentile(known, (50.0, 90.0, 99.0))
    return {"median": float(median), "p90": float(p90), "p99": float(p99), "max": float(known.max())}


def _largest(values: list[float]) -> float:
    """Return by how much a limit was exceeded at most, 0 where it never was."""
    return max(0.0, *np.nan_to_num(values, nan=0.0, neginf=0.0))
