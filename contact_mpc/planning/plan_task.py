"""The task that a plan of a tree makes: it starts where the plan starts and is judged by the plan's goal.

Written as a task file, so that nodes, launch files, reports and replays read it like any other task.
"""

from pathlib import Path

import numpy as np
import yaml

from contact_mpc.errors import PlanError
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.rotations import rotation_log, rpy_from_rotation
from contact_mpc.planning.parts import REGRASP, SAMPLED, turning_task
from contact_mpc.planning.tree import segments
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.file_access import write_text
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import FURTHEST_M, LONGEST_S, TREE_PARTS, Goal, TaskConfig, load_task

TREE = "rrt"  # provenance["planner"] of plans that a tree made
OF_PROBLEMS = (TREE, REGRASP, SAMPLED)
UNJUDGED_MM = 1000.0  # where no coordinate is a distance the position follows from the angles
SAME = 1e-6  # rad, m: what a task file may round of a start
STARTS_RAD, STARTS_M = 0.02, 0.002  # of any coordinate: a plan that starts further from where its task does is refused


def is_problem(name: str) -> bool:
    """Whether `name` is that of a planning problem in config/planning."""
    return name in resource_names("planning")


def problem_of_plan(name: str, plan: Plan) -> Problem:
    """Return the problem that a plan by a tree, or by turns, solves, with the goal that the plan was made for.

    Parameters
    ----------
    name : str
        What the user named: a problem, or the path of one; where it is neither, the plan's provenance tells.

    Raises
    ------
    PlanError
        The plan is that of a task.
    """
    made_by, stored = plan.provenance.get("planner"), plan.provenance.get("problem")
    if made_by not in OF_PROBLEMS or not isinstance(stored, str):
        raise PlanError(
            f"a plan by '{made_by}' starts where its task does; plans of problems are by {' or '.join(OF_PROBLEMS)}"
        )
    path = Path(name)
    is_file = path.is_file() and "rrt:" in path.read_text(encoding="utf-8", errors="replace")
    problem = load_problem(name if is_problem(name) or is_file else stored)
    goals = {key: float(item["goal"]) for key, item in plan.provenance["parameters"]["objects"].items()}
    return with_goal(problem, goals)


def tolerances(problem: Problem) -> tuple[float, float]:
    """Return the tolerances of success, deg and mm: the problem's, or those of `parts` where tighter.

    Position is not judged where no coordinate of the objects is a distance.
    """
    most_deg, most_mm = segments.tolerances(problem)
    return most_deg, UNJUDGED_MM if np.all(problem.turns) else most_mm


def goal_of_plan(problem: Problem, plan: Plan) -> Goal:
    """Return the motion of the object's frame B from a plan's start to the problem's goal.

    Rotation R_goal R_start', then translation p_goal - p_start.
    """
    (R, p), q_goal = problem.system.object_pose(plan.q[0]), problem.configuration(problem.goal_u)
    R_goal, p_goal = problem.system.object_pose(q_goal)
    turn = rotation_log(np.ascontiguousarray(R_goal @ R.T))
    angle = float(np.linalg.norm(turn))
    axis = turn / angle if angle > SAME else np.array([0.0, 0.0, 1.0])
    return Goal(axis, float(np.rad2deg(angle)), p_goal - p)


def write_plan_task(
    problem: Problem, plan: Plan, path: Path, hold_s: float | None = None, plan_file: Path | None = None
) -> TaskConfig:
    """Write the task of a problem's plan to a YAML file and load it.

    The start is q_0 and u_0 of the plan; goal and tolerances are those of `goal_of_plan` and `tolerances`. That of a
    plan by turns has name and planner of the task that turns the object, so that nodes plan each turn anew. That of a
    tree's plan in `plan_file` names it, so that nodes correct its parts and plan them anew: it has more time than the
    plan, and objects may be behind it by the whole way. Where its problem names a task that turns the object, it has
    that name, for the nodes' parameters: turns of one grasp take the place of the tree's grips, which lose it.

    Raises
    ------
    PlanError
        The start cannot be written as a task: a command outside the joints' limits, or a pose that joints cannot reach.
    WriteError
        The file cannot be written.
    """
    system, parts, (q, u) = problem.system, problem.file.parts, (plan.q[0], plan.u[0])
    R, p = system.object_pose(q)
    goal, (tolerance_deg, tolerance_mm) = goal_of_plan(problem, plan), tolerances(problem)
    by_turns = plan.provenance.get("planner") == REGRASP
    parts_of = None if by_turns else plan_file
    is_turned = by_turns or (parts_of is not None and problem.file.turns is not None)
    turning = turning_task(problem) if is_turned else None
    made_by = f"{plan.provenance.get('planner', 'unknown planner')}, seed {plan.provenance.get('seed')}"
    file = {
        "name": problem.file.name if turning is None else turning.name,
        "description": f"plan of {problem.file.name} by {made_by}",
        "system": str(system.path),
        "start": {
            "joints_rad": _named(system.joint_names, q[system.n_q_u :]),
            "commands_rad": _named(system.joint_names, np.clip(u, system.q_min, system.q_max)),
            "object_position_m": p.tolist(),
            "object_rpy_rad": np.asarray(rpy_from_rotation(R)).tolist(),
        },
        "goal": {
            "rotation_axis": goal.axis_W.tolist(),
            "rotation_deg": goal.angle_deg,
            "translation_m": goal.translation_m.tolist(),
        },
        "duration_s": float(plan.times_s[-1]),
        "hold_s": parts.hold_s if hold_s is None else hold_s,
        "tolerance_deg": tolerance_deg,
        "tolerance_mm": tolerance_mm,
        "drop_distance_m": parts.drop_distance_m,
    }
    if parts_of is not None:
        file["planner"] = {"method": TREE_PARTS, "problem": str(problem.path)}
        file["reference"] = {"plan_file": str(parts_of.resolve())}
        file["duration_s"] = min(parts.longest_s(float(plan.times_s[-1])), LONGEST_S)
        file["drop_distance_m"] = min(parts.drop_distance_m + _extent(problem, plan), FURTHEST_M)
    elif turning is not None:
        file["planner"] = dict(turning.planner)
    write_text(path, yaml.safe_dump(file, sort_keys=False))
    task = load_task(path)
    off = float(np.max(np.abs(system.difference(task.start_q, q))))
    if off > SAME:
        raise PlanError(
            f"the plan starts {off:.2g} rad or m away from what {path} can say: its object has other joints"
        )
    return task


def start_offset(task: TaskConfig, plan: Plan) -> tuple[float, float]:
    """Return how far a plan starts from where its task does: the largest difference of a turn, rad, and of a way, m."""
    system = task.system
    away, turns = np.abs(system.difference(task.start_q, plan.q[0])), system.tree.dof_kind == REVOLUTE
    return float(np.max(away[turns], initial=0.0)), float(np.max(away[~turns], initial=0.0))


def require_start(task: TaskConfig, plan: Plan, source: Path | str) -> None:
    """Raise PlanError where a plan does not start where the plant of the task will be; the message says how far.

    source is what messages name the plan by.
    """
    rad, m = start_offset(task, plan)
    if rad > STARTS_RAD or m > STARTS_M:
        raise PlanError(
            f"{source}: starts {rad:.3g} rad and {1e3 * m:.3g} mm away from the start of {task.path} (at most "
            f"{STARTS_RAD:g} rad, {1e3 * STARTS_M:g} mm); plan again from there"
        )


def _extent(problem: Problem, plan: Plan) -> float:
    """Return the diagonal of the box about the way of the object's frame, m."""
    positions = np.array([problem.system.object_pose(q)[1] for q in plan.q])
    return float(np.linalg.norm(np.ptp(positions, axis=0)))


def _named(names: tuple[str, ...], values: FloatArray) -> dict[str, float]:
    return dict(zip(names, map(float, values), strict=True))
