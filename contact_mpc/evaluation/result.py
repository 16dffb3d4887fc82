"""An evaluation as one object: what `evaluate` prints as JSON and its page shows."""

from collections.abc import Sequence
from typing import Any

from contact_mpc.evaluation.summary import describe_outcomes, describe_worst, summarise
from contact_mpc.evaluation.trial_run import Case, EvaluationSpec, TrialOutcome, loose_tolerances, planned_errors
from contact_mpc.task.task import TaskConfig


def describe_evaluation(
    task: TaskConfig, spec: EvaluationSpec, outcomes: Sequence[TrialOutcome], seed: int
) -> dict[str, Any]:
    """Return task, axes, tolerances, rates and errors, and every trial, with the keys of ``--json``.

    Parameters
    ----------
    task : TaskConfig
        The task, about no axis in particular.
    spec, outcomes
        What all trials share, and how they ended; at least one.
    seed : int
        Of the trials' seeds.
    """
    loose_deg, loose_mm = loose_tolerances(task)
    return {
        "task": task.name,
        "plant": spec.config.engine,
        "controller": spec.config.controller,
        "seed": seed,
        "displacement": task.displacement,
        "axes": [case.task.axis for case in spec.cases],
        "tolerance_deg": task.tolerance_deg,
        "tolerance_mm": task.tolerance_mm,
        "loose_tolerance_deg": loose_deg,
        "loose_tolerance_mm": loose_mm,
        **summarise(outcomes, spec.disturbance, spec.scale),
        "planned_errors": [_describe_plan(case) for case in spec.cases],
        "outcomes": describe_outcomes(outcomes),
        "worst": describe_worst(outcomes, (task.tolerance_deg, task.tolerance_mm)),
    }


def _describe_plan(case: Case) -> dict[str, Any]:
    angle_deg, distance_mm = planned_errors(case)
    return {"axis": case.task.axis, "angle_error_deg": angle_deg, "position_error_mm": distance_mm}
