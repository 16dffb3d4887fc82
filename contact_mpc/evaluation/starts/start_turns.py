"""Turns in closed loop from a start that was found, in MuJoCo, disturbed more than the trials of an evaluation are.

Fingers that merely roll keep most starts of three-fingered hands in all of a dozen plants, and yet lose some of them
as soon as the loop is closed: what feeds back is part of what a start must serve. Disturbed as in an evaluation, turns
in MuJoCo do not tell such starts apart (a box held by three fingers: all turns there, a third in Drake); disturbed
twice as much, with four fifths of the friction, they do (half). The trials have seeds of their own.

A grasp that merely leaves a turn of its own has no motion that brings an object back to its way: it ends about as far
off as it began, and twice the 3 mm of an evaluation are more than most tasks allow. Such turns are disturbed as there,
and so are long ways by turns and new grasps, which meet every disturbance a dozen times.
"""

import numpy as np

from contact_mpc.evaluation.trial_run import Case, EvaluationSpec, run_trial
from contact_mpc.evaluation.trials import disturbance_of
from contact_mpc.loop.config import load_loop_config
from contact_mpc.planning.methods import grips_anew
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import TaskConfig

FIRST_SEED = 4_100_000_000  # of the turns; seeds of trials are drawn, so that they meet these by chance alone
TURNS = 8  # played, and at least one for each of the task's axes
SCALE, FRICTION_SHARE = 2.0, 0.8  # of an evaluation's disturbances, and of the ends of its range of friction
ENGINE = "mujoco"  # never the one that judges by default


def is_as_evaluated(task: TaskConfig) -> bool:
    """Whether the turns of a task are disturbed no more than the trials of an evaluation are."""
    return task.goal.is_free or grips_anew(task)


def share_of_turns(cases: tuple[Case, ...]) -> float:
    """Return the share of the turns that meet their goals in closed loop.

    Parameters
    ----------
    cases : tuple of Case
        The turns of a task, each with its plan; they take turns.
    """
    task = cases[0].task
    loop = load_loop_config(default_parameter_file(task), ENGINE)
    scale, friction = (1.0, 1.0) if is_as_evaluated(task) else (SCALE, FRICTION_SHARE)
    spec = EvaluationSpec(cases, loop, disturbance_of(task).with_friction(friction), scale)
    first = FIRST_SEED - FIRST_SEED % len(cases)
    return float(np.mean([run_trial(spec, first + k).goal_met for k in range(max(TURNS, len(cases)))]))
