"""What plans the parts of a long way to a problem's goal: a tree's plan and new trees, turns of one grasp, or samples.

Trees find ways for any object. What looks the same however it is turned needs no tree: one grasp that holds it turns it
on and on (`contact_mpc.planning.reorient.segments`), and holds in physics where new grasps of trees fail. Where many
contacts slide and roll at once, random motions in a physics engine find what no model foretells
(`contact_mpc.planning.sampled.segments`).
"""

from collections.abc import Callable
from dataclasses import replace

from contact_mpc import __version__
from contact_mpc.errors import ConfigError
from contact_mpc.planning.reorient.segments import build_planner, make_goal_plan
from contact_mpc.planning.sampled.motion_search import RolledPhysics
from contact_mpc.planning.sampled.segments import SampledSegments
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import TreeSegments, standing_still
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import SegmentPlanner
from contact_mpc.task.task import TaskConfig, load_task

REGRASP = "regrasp"  # provenance["planner"] of plans by turns, and planner.method of their tasks
SAMPLED = "sampled"  # provenance["planner"] of plans by random motions


def make_parts(
    problem: Problem,
    physics: RolledPhysics | None = None,
    plans_again: bool = True,
    is_tracked: bool = True,
    report: Callable[[str], None] | None = None,
) -> SegmentPlanner:
    """Return what plans the parts of a problem; trees alone correct them in physics and may leave out to plan again.

    Where parts are not tracked, they are played as they were corrected. Random motions need physics: without it a
    problem that asks for them has trees. `report` is told how a search of random motions goes on.
    """
    if problem.file.turns is not None:
        return build_planner(turning_task(problem))
    if problem.file.sampled is not None and physics is not None:
        return SampledSegments(problem, physics, is_tracked, report)
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
    return _to_goal(problem, replace(plan, q=q), REGRASP, 0)


def plan_of_samples(problem: Problem, seed: int = 0) -> Plan:
    """Return the reference of a problem's random motions: its start, held for the time of a motion, and its goal.

    Raises
    ------
    ConfigError
        The problem has no section `sampled`.
    """
    if problem.file.sampled is None:
        raise ConfigError(f"{problem.path}: no section `sampled`: random motions are tuned for what they move")
    q = problem.configuration(problem.start_u, problem.start_a)
    plan = standing_still(q, q[problem.system.n_q_u :], problem.file.sampled.motion_s)
    record = {**problem.system.provenance(), "version": __version__, "task": problem.file.name}
    return _to_goal(problem, replace(plan, provenance=record), SAMPLED, seed)


def _to_goal(problem: Problem, plan: Plan, planner: str, seed: int) -> Plan:
    """Return a plan whose record says what problem it is for, by what, and from which seed."""
    record = {
        **plan.provenance, "planner": planner, "problem": problem.file.name, "seed": seed,
        "parameters": problem.file.model_dump(mode="json"),
    }  # fmt: skip
    return replace(plan, provenance=record)
