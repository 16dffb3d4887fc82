"""One trial of an evaluation through the real nodes: processes over DDS in lockstep, judged by the bag.

The plant node gets what the trial drew, everything else is that of a run, so that the commands are those of the loop in
one process (`contact_mpc.loop.closed_loop`), bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.metrics import solve_times_ms
from contact_mpc.bags.record import RunRecord
from contact_mpc.evaluation.trial_run import Case, TrialOutcome, describe, is_within, loose_tolerances
from contact_mpc.evaluation.trials import Trial
from contact_mpc.loop.log import CHECK_STEPS, LoopLog
from contact_mpc.model.rotations import quaternion_to_matrix
from contact_mpc.plants.common.plant import STEP_NS, T0_NS
from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters
from contact_mpc.ros.stack.run_session import RunProgress, RunSession
from contact_mpc.ros.stack.stack import HERE, Placement
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.plan import save_plan


@dataclass(frozen=True)
class NodeTrial:
    """Outcome and record of a trial through the nodes."""

    outcome: TrialOutcome
    record: RunRecord


def run_node_trial(
    case: Case,
    trial: Trial,
    parameter_file: Path | str,
    plant: str,
    settings: tuple[str, ...],
    folder: Path,
    start_delay_s: float,
    placement: Placement = HERE,
    report: Callable[[RunProgress], None] = lambda _progress: None,
) -> NodeTrial:
    """Run a trial through the nodes and judge it.

    Parameters
    ----------
    case, trial
        What is turned, and what was drawn.
    parameter_file, plant, settings
        As of `contact_mpc.ros.stack.run_parameters.RunOptions`.
    folder : Path
        Existing folder for bag, plan and logs.
    start_delay_s : float
        From the start of time to that of the reference, s.
    placement : Placement
        Where the nodes run.
    report : callable
        Called several times a second, see `RunSession.run`.

    Raises
    ------
    StackError
        A node refused, died or stopped answering; names the node.
    """
    folder = folder.resolve()
    save_plan(folder / "plan.npz", case.plan)
    options = RunOptions(plant, "lockstep", trial.seed, parameter_file, None, settings)
    parameters = build_parameters(case.task, options, folder, folder / "plan.npz")
    parameters["plant"].update(plant_parameters(trial))
    with RunSession(case.task, parameters, folder, placement=placement) as session:
        session.start()
        session.run(report)
    record = read_run(folder / "bag")
    return NodeTrial(judge_record(case, trial, record, start_delay_s), record)


def plant_parameters(trial: Trial) -> dict[str, Any]:
    """Return the parameters of the plant node that make it the trial's; the seed is a parameter of its own."""
    perturbation = {key: value for key, value in trial.perturbation.model_dump().items() if key != "seed"}
    perturbation = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in perturbation.items()
        if value is not None
    }
    return {"perturbation": perturbation, "sensors": trial.sensors.model_dump()}


def judge_record(case: Case, trial: Trial, record: RunRecord, start_delay_s: float) -> TrialOutcome:
    """Return the outcome as the loop in one process judges it, from the true poses in the bag."""
    record.need("plant_odom")
    assert record.plant_odom is not None
    task, start_ns = case.task, T0_NS + round(start_delay_s * NS_PER_S)
    log = LoopLog(task.system, task, case.plan, start_ns)
    angle_deg, distance_mm, last_ns = np.nan, np.nan, T0_NS
    poses = zip(record.plant_odom.t_ns, record.plant_odom.quaternion_wxyz, record.plant_odom.position_m, strict=True)
    for t_ns, wxyz, p_WB in poses:
        if t_ns > log.end_ns:
            break
        R_WB, last_ns = quaternion_to_matrix(wxyz), int(t_ns)
        angle_deg, distance_mm = log.errors_of(R_WB, p_WB)
        if (last_ns - T0_NS) // STEP_NS % CHECK_STEPS == 0:
            log.check(last_ns, R_WB, p_WB)
        if log.dropped:
            break
    reasons = log.reasons(last_ns, angle_deg, distance_mm)
    is_loosely_met = (
        is_within(loose_tolerances(task), angle_deg, distance_mm) and not log.dropped and last_ns >= log.end_ns
    )
    return TrialOutcome(
        trial.seed, task.axis, not reasons, is_loosely_met, log.dropped, angle_deg, distance_mm,
        log.reached_s, tuple(solve_times_ms(record).tolist()), (), reasons, describe(trial),
    )  # fmt: skip
