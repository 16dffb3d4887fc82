"""What plans the parts of a long way to a problem's goal: a tree's plan and new trees, or turns of one grasp.

Trees find ways for any object. What looks the same however it is turned needs no tree: one grasp that holds it turns it
on and on (`contact_mpc.planning.reorient.segments`), and holds in physics where new grasps of trees fail.
"""

from dataclasses import replace

from contact_mpc.errors import ConfigError
from contact_mpc.planning.reorient.segments import build_planner, make_goal_plan
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import Physics, TreeSegments
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import SegmentPlanner
from contact_mpc.task.task import TaskConfig, load_task

REGRASP = "regrasp"  # provenance["planner"] of plans by turns, and planner.method of their tasks


def make_parts(
    problem: Problem, physics: Physics | None = None, plans_again: bool = True, is_tracked: bool = True
) -> SegmentPlanner:
    """Return what plans the parts of a problem; trees alone correct them in physics and may leave out to plan again.

    Where parts of trees are not tracked, they are played as they were corrected.
    """
    if problem.file.turns is not None:
        return build_planner(turning_task(problem))
    return TreeSegments(problem, is_tracked, physics, plans_again)


def turning_task(problem: Problem) -> TaskConfig:
    """Return the task whose grasp turns a problem's object.

    Raises
    ------
    ConfigError
        The problem names none, or one of another system or method.
    """
    if problem.file.turns is None:
        raise ConfigError(f"{problem.path}: no key `turns`: name a task with planner.method: {REGRASP}")
    task = load_task(problem.file.turns)
    if task.planner.get("method") != REGRASP or task.system.name != problem.system.name:
        raise ConfigError(
            f"{problem.path}: turns: {problem.file.turns} is a task of system '{task.system.name}' with planner.method "
            f"'{task.planner.get('method', 'trajopt')}'; expected '{problem.system.name}' and '{REGRASP}'"
        )
    return task


def plan_of_turns(problem: Problem) -> Plan:
    """Return the reference of a problem's turns: its task's start, and the problem's goal."""
    task = turning_task(problem)
    plan = make_goal_plan(task)
    q = plan.q.copy()
    q[1, : problem.system.n_q_u] = problem.goal_u
    record = {
        **plan.provenance, "planner": REGRASP, "problem": problem.file.name, "seed": 0,
        "parameters": problem.file.model_dump(mode="json"),
    }  # fmt: skip
    return replace(plan, q=q, provenance=record)
