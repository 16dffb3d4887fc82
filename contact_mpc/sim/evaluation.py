"""An evaluation: many trials of one task, each drawn from its own seed, and what they amount to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import StackError
from contact_mpc.model.plan import Plan
from contact_mpc.model.task import TaskConfig
from contact_mpc.sim.closed_loop import run_closed_loop
from contact_mpc.sim.loop_config import LoopConfig
from contact_mpc.sim.statistics import wilson_interval
from contact_mpc.sim.trials import Disturbance, Trial, draw_trial

FloatArray = NDArray[np.float64]
NO_COMMAND = "the loop ended without a command"


@dataclass(frozen=True)
class EvaluationSpec:
    """What all trials share.

    Attributes
    ----------
    task, plan, config
        What is run, and by what.
    disturbance : Disturbance
        Ranges of the draws.
    scale, noise_scale : float
        Factors on the plant's deviations and on the pose noise.
    """

    task: TaskConfig
    plan: Plan
    config: LoopConfig
    disturbance: Disturbance
    scale: float = 1.0
    noise_scale: float = 1.0

    def draw(self, seed: int) -> Trial:
        """Draw the trial of a seed."""
        return draw_trial(seed, self.disturbance, self.config.sensors, self.scale, self.noise_scale)


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended.

    Attributes
    ----------
    seed : int
        Draws the trial again.
    goal_met, dropped : bool
        Within the task's tolerances at the end of the hold; lost on the way.
    angle_error_deg, position_error_mm : float
        True pose against the goal at the end, or where the object was lost; NaN where the loop broke off.
    solve_ms : float
        Median wall time of a solve.
    reasons : tuple of str
        Why the goal was not met.
    drawn : dict
        friction, mass_scale, size_scale, object_offset_mm.
    """

    seed: int
    goal_met: bool
    dropped: bool
    angle_error_deg: float
    position_error_mm: float
    solve_ms: float
    reasons: tuple[str, ...]
    drawn: dict[str, Any]


def run_trial(spec: EvaluationSpec, seed: int) -> TrialOutcome:
    """Run the trial of one seed; the outcome depends on spec and seed alone, apart from solve_ms."""
    trial = spec.draw(seed)
    drawn = describe(trial)
    config = LoopConfig(
        spec.config.tracker, spec.config.estimator, spec.config.bridge, trial.sensors, spec.config.engine,
        spec.config.estimate_rate_hz, spec.config.start_delay_s,
    )  # fmt: skip
    try:
        result = run_closed_loop(
            spec.task.system, spec.task, spec.plan, config,
            perturbation=trial.perturbation, seed=seed, stop_when_dropped=True,
        )  # fmt: skip
    except StackError as error:
        return TrialOutcome(seed, False, False, np.nan, np.nan, np.nan, (f"{NO_COMMAND}: {error}",), drawn)
    solve_ms = float(np.median(result.solve_ms)) if result.solve_ms.size else np.nan
    return TrialOutcome(
        seed, result.goal_met, result.dropped, result.angle_error_deg, result.position_error_mm, solve_ms,
        result.reasons, drawn,
    )  # fmt: skip


def describe(trial: Trial) -> dict[str, Any]:
    """Return what a trial drew, in the units of the report."""
    perturbation = trial.perturbation
    return {
        "friction": perturbation.friction,
        "mass_scale": perturbation.mass_scale,
        "size_scale": perturbation.size_scale,
        "object_offset_mm": [1e3 * value for value in perturbation.object_offset_m],
    }


def summarise(outcomes: list[TrialOutcome]) -> dict[str, Any]:
    """Return the figures of an evaluation with the keys of ``--json``, failures in the order of the trials."""
    successes, drops = sum(item.goal_met for item in outcomes), sum(item.dropped for item in outcomes)
    count = len(outcomes)
    return {
        "trials": count,
        "success_rate": successes / count,
        "success_interval_95": list(wilson_interval(successes, count)),
        "drops": drops,
        "drop_interval_95": list(wilson_interval(drops, count)),
        "angle_error_deg": statistics_of([item.angle_error_deg for item in outcomes]),
        "position_error_mm": statistics_of([item.position_error_mm for item in outcomes]),
        "solve_ms": statistics_of([item.solve_ms for item in outcomes]),
        "failures": [
            {"seed": item.seed, "reason": "; ".join(item.reasons), **item.drawn}
            for item in outcomes
            if not item.goal_met
        ],
    }


def statistics_of(values: list[float]) -> dict[str, float] | None:
    """Return {median, p90, p99, max} of the finite values; None if there are none."""
    finite: FloatArray = np.array([value for value in values if np.isfinite(value)])
    if not finite.size:
        return None
    median, p90, p99 = np.percentile(finite, [50.0, 90.0, 99.0])
    return {"median": float(median), "p90": float(p90), "p99": float(p99), "max": float(finite.max())}
