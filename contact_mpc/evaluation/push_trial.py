"""One push in closed loop, with what a force sensor at the tool would have seen beside what was planned."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_mpc.control.tracking.follower import PLAN_KEPT
from contact_mpc.evaluation.contact_events import ContactCheck, HitCheck, check_contacts, tool_force
from contact_mpc.evaluation.trial_run import EvaluationSpec, describe, loop_of_trial
from contact_mpc.loop.closed_loop import ClosedLoop
from contact_mpc.loop.log import ClosedLoopResult
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan


@dataclass(frozen=True)
class PushSeries:
    """A run over time, n steps of 1 ms from the start of the motion.

    Attributes
    ----------
    t_s : (n,) array
        Time, s.
    q, u : (n, n_q), (n, n_a) array
        True configuration; position references as the bridge followed them.
    force : (n, 3) array
        Force of the tool on the object in the world, N.
    """

    t_s: FloatArray
    q: FloatArray
    u: FloatArray
    force: FloatArray


@dataclass(frozen=True)
class PushOutcome:
    """How a push ended.

    Attributes
    ----------
    seed : int
        Draws the trial again.
    drawn : dict
        What it drew, see `contact_mpc.evaluation.trial_run.describe`.
    position_error_mm, along_mm, angle_error_deg : float
        Object against goal at the end of the hold; along_mm > 0 is too far.
    hits : tuple of HitCheck
        Planned and measured hits in their order.
    replans : int
        Plans that took over while it ran.
    failed_replans : int
        Times that another plan was searched in vain.
    holds : int
        Changes of the bridge's mode away from following.
    series : PushSeries
        The run.
    """

    seed: int
    drawn: dict[str, Any]
    position_error_mm: float
    along_mm: float
    angle_error_deg: float
    hits: tuple[HitCheck, ...]
    replans: int
    failed_replans: int
    holds: int
    series: PushSeries

    @property
    def contacts(self) -> ContactCheck:
        """The hits, to judge."""
        return ContactCheck(self.hits)


def follow_push(loop: ClosedLoop, plan: Plan) -> tuple[ClosedLoopResult, PushSeries, ContactCheck]:
    """Run a loop to its end; return its result, the run over time, and the hits of its plan against those that were."""
    forces = []
    while loop.plant.time_ns <= loop.log.end_ns:
        loop.step()
        forces.append(tool_force(loop.plant.state().contacts))
    result = loop.log.result()
    t_s = np.asarray((result.t_ns - loop.log.start_ns) * 1e-9)
    moving = t_s >= 0.0
    series = PushSeries(t_s[moving], result.q[moving], result.u[moving], np.array(forces)[moving])
    return result, series, check_contacts(plan, loop.replacements, series.t_s, series.force)


def run_push(spec: EvaluationSpec, seed: int) -> PushOutcome:
    """Run the trial of one seed; the outcome depends on spec and seed alone."""
    trial, case = spec.draw(seed), spec.case(seed)
    loop = ClosedLoop(case.task.system, case.task, case.plan, loop_of_trial(spec, trial), trial.perturbation, seed)
    result, series, contacts = follow_push(loop, case.plan)
    goal, moved = case.task.goal_pose()[1], case.task.goal.translation_m
    missed = case.task.system.object_pose(result.q[-1])[1] - goal
    length = max(float(np.linalg.norm(moved)), 1e-12)
    return PushOutcome(
        seed, describe(trial), result.position_error_mm, 1e3 * float(missed @ moved) / length, result.angle_error_deg,
        contacts.hits, len(loop.replacements), result.plan_status.count(PLAN_KEPT), len(result.holds), series,
    )  # fmt: skip
