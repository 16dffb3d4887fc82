"""The plan that a task names in its section `reference`: stored in a file, or grown as a tree from a seed."""

from dataclasses import replace

import numpy as np

from contact_mpc.errors import PlanError
from contact_mpc.planning.plan_task import require_start
from contact_mpc.planning.tree.plan import plan_globally
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.task.plan import Plan, load_plan
from contact_mpc.task.task import TaskConfig


def make_reference(task: TaskConfig) -> Plan:
    """Return the plan that the section `reference` of a task names.

    Raises
    ------
    ConfigError, PlanError
        The file or problem is missing or belongs to another system, or no valid plan is found.
    """
    source = task.reference
    assert source is not None
    if source.plan_file is not None:
        beside = task.path.parent / source.plan_file
        plan = load_plan(beside if beside.is_file() else source.plan_file, task.system)
        require_start(task, plan, source.plan_file)
        return plan
    assert source.problem is not None
    return _grow_reference(task, source.problem, source.seed)


def _grow_reference(task: TaskConfig, name: str, seed: int) -> Plan:
    """Plan by trees from the task's start to the task's goal, stretched to the task's duration."""
    problem, system = load_problem(name), task.system
    if problem.system.digest != system.digest:
        raise PlanError(f"{task.path}: reference.problem '{name}' is of system '{problem.system.name}', not the task's")
    goal_u = system.q_from_object_pose(*task.goal_pose(), task.start_q)
    planner = TreePlanner(replace(problem, goal_u=_nearest_turn(problem.goal_u, goal_u)))
    found = plan_globally(planner, seed, start=(task.start_q, task.start_u))
    if not found.is_valid:
        raise PlanError(f"{task.path}: no plan from reference.seed {seed} ({found.status}); try another seed")
    plan, duration_s = found.plan, found.plan.times_s[-1]
    if duration_s > task.duration_s:
        raise PlanError(f"{task.path}: duration_s = {task.duration_s}; the plan takes {duration_s:.1f} s at least")
    scale = task.duration_s / duration_s
    return replace(plan, times_s=scale * plan.times_s, contact_impulses=scale * plan.contact_impulses)


def _nearest_turn(wanted: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Return the problem's goal where it is the task's up to whole turns of a jointed object, else the task's."""
    turns = (wanted - reached) / (2.0 * np.pi)
    return wanted if np.max(np.abs(turns - np.round(turns))) < 1e-6 else reached
