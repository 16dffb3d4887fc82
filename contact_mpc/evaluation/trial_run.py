"""An evaluation: many trials of one task, each drawn from its own seed and turned about one of the task's axes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contact_mpc.control.tracking.follower import NO_REFERENCE, NOTE_SEPARATOR, OK
from contact_mpc.control.tracking.reorienter import REGRASPING
from contact_mpc.errors import StackError
from contact_mpc.evaluation.trials import Disturbance, Trial, draw_trial
from contact_mpc.loop.closed_loop import run_closed_loop
from contact_mpc.loop.config import LoopConfig
from contact_mpc.loop.log import ClosedLoopResult, LoopLog
from contact_mpc.planning.methods import make_plan
from contact_mpc.plants.common.plant import T0_NS
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

USUAL = (OK, NO_REFERENCE, REGRASPING)
NO_COMMAND = "the loop ended without a command"
LOOSE_TOLERANCE_DEG, LOOSE_TOLERANCE_MM = 5.0, 5.0  # of the second level, where the task's own are not looser


@dataclass(frozen=True)
class Case:
    """One of the turns of an evaluation: the task about one axis, and its reference."""

    task: TaskConfig
    plan: Plan


def planned_errors(case: Case) -> tuple[float, float]:
    """Return how far the reference itself ends from the goal, degrees and mm: no tracking does better."""
    log = LoopLog(case.task.system, case.task, case.plan, 0)
    return log.errors_of(*case.task.system.object_pose(case.plan.q[-1]))


@dataclass(frozen=True)
class EvaluationSpec:
    """What all trials share.

    Attributes
    ----------
    cases : tuple of Case
        The trial of a seed runs number (seed mod their count); see `contact_mpc.evaluation.trials.trial_seeds`.
    config : LoopConfig
        Parts of the loop.
    disturbance : Disturbance
        Ranges of the draws.
    scale, noise_scale : float
        Factors on the plant's deviations and on the pose noise.
    """

    cases: tuple[Case, ...]
    config: LoopConfig
    disturbance: Disturbance
    scale: float = 1.0
    noise_scale: float = 1.0

    def draw(self, seed: int) -> Trial:
        """Draw the trial of a seed."""
        return draw_trial(seed, self.disturbance, self.config.sensors, self.scale, self.noise_scale)

    def case(self, seed: int) -> Case:
        """Return what the trial of a seed turns; a random goal is drawn here."""
        case = self.cases[seed % len(self.cases)]
        if not case.task.has_random_goal:
            return case
        task = case.task.with_random_goal(seed)
        return Case(task, make_plan(task))


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended.

    Attributes
    ----------
    seed : int
        Draws the trial again.
    axis : str
        Axis of the turn; "" is the task's own.
    goal_met, loosely_met, dropped : bool
        Within the task's tolerances at the end of the hold; within the looser ones; lost on the way.
    angle_error_deg, position_error_mm : float
        True pose against the goal at the end, or where the object was lost; NaN where the loop broke off.
    reached_s : float
        Time of the motion since which the object was within the task's tolerances at the end; NaN where it was not.
    solve_ms, solve_cpu_ms : tuple of float
        Wall times of the solves, and their CPU times over all threads; no CPU times from the nodes.
    reasons : tuple of str
        Why the goal was not met.
    drawn : dict
        friction (or None), friction_scale, mass_scale, size_scale, object_offset_mm, object_yaw_deg.
    reports : tuple of str
        What the tracker reported beside "ok", each with when it did first, s of the run; not from the nodes.
    """

    seed: int
    axis: str
    goal_met: bool
    loosely_met: bool
    dropped: bool
    angle_error_deg: float
    position_error_mm: float
    reached_s: float
    solve_ms: tuple[float, ...]
    solve_cpu_ms: tuple[float, ...]
    reasons: tuple[str, ...]
    drawn: dict[str, Any]
    reports: tuple[str, ...] = ()


def run_trial(spec: EvaluationSpec, seed: int) -> TrialOutcome:
    """Run the trial of one seed; with a random goal it ends when the object has been there for the task's hold.

    The outcome depends on spec and seed alone, apart from the times of the solves.
    """
    trial, case = spec.draw(seed), spec.case(seed)
    try:
        result = run_loop(spec, seed, trial, case)
    except StackError as error:
        reasons = (f"{NO_COMMAND}: {error}",)
        ends = (np.nan, np.nan, np.nan)
        return TrialOutcome(seed, case.task.axis, False, False, False, *ends, (), (), reasons, describe(trial))
    return judge(case.task, trial, result)


def run_loop(spec: EvaluationSpec, seed: int, trial: Trial, case: Case) -> ClosedLoopResult:
    """Run the loop of one seed's trial and case; raises StackError where it ends without a command."""
    return run_closed_loop(
        case.task.system, case.task, case.plan, loop_of_trial(spec, trial), perturbation=trial.perturbation, seed=seed,
        stop_when_dropped=True, stop_when_settled=case.task.has_random_goal,
    )  # fmt: skip


def loop_of_trial(spec: EvaluationSpec, trial: Trial) -> LoopConfig:
    """Return the loop with the sensors that a trial drew."""
    return replace(spec.config, sensors=trial.sensors)


def judge(task: TaskConfig, trial: Trial, result: ClosedLoopResult) -> TrialOutcome:
    """Return the outcome of a run that came to its end."""
    return TrialOutcome(
        trial.seed, task.axis, result.goal_met, is_loosely_met(task, result), result.dropped, result.angle_error_deg,
        result.position_error_mm, result.reached_s, tuple(result.solve_ms.tolist()),
        tuple(result.solve_cpu_ms.tolist()), result.reasons, describe(trial), describe_reports(result),
    )  # fmt: skip


def describe_reports(result: ClosedLoopResult) -> tuple[str, ...]:
    """Return what the tracker reported beside "ok" while it moved the object, each kind with the first time, s."""
    first: dict[str, str] = {}
    for t_ns, status, note in zip(result.plan_t_ns, result.plan_status, result.plan_note, strict=True):
        for text in (status, *note.split(NOTE_SEPARATOR)):
            if text and text not in USUAL:
                first.setdefault(report_kind(text), f"{text} from {1e-9 * int(t_ns - T0_NS):.2f} s")
    return tuple(first.values())


def report_kind(report: str) -> str:
    """Return a report without names and time: "fingers slide" of "fingers slide: thumb_link_0 from 1.20 s"."""
    return report.partition(":")[0].partition(" from ")[0]


def loose_tolerances(task: TaskConfig) -> tuple[float, float]:
    """Return the second level of success, degrees and mm: 5 and 5, or the task's own where those are looser."""
    return max(task.tolerance_deg, LOOSE_TOLERANCE_DEG), max(task.tolerance_mm, LOOSE_TOLERANCE_MM)


def is_within(tolerances: tuple[float, float], angle_deg: float, distance_mm: float) -> bool:
    """Whether errors are within tolerances, degrees and mm."""
    return angle_deg <= tolerances[0] and distance_mm <= tolerances[1]


def is_loosely_met(task: TaskConfig, result: ClosedLoopResult) -> bool:
    """Whether the run ended within the looser tolerances with the object held all the way."""
    is_near = is_within(loose_tolerances(task), result.angle_error_deg, result.position_error_mm)
    return is_near and not result.dropped and result.is_complete


def describe(trial: Trial) -> dict[str, Any]:
    """Return what a trial drew, in the units of the report."""
    perturbation = trial.perturbation
    return {
        "friction": perturbation.friction,
        "friction_scale": perturbation.friction_scale,
        "mass_scale": perturbation.mass_scale,
        "size_scale": perturbation.size_scale,
        "object_offset_mm": [1e3 * value for value in perturbation.object_offset_m],
        "object_yaw_deg": float(np.rad2deg(perturbation.object_yaw_rad)),
    }
