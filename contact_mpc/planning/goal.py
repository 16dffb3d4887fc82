"""A goal for the object at run time as a task: from a measured state to a pose, planned by the task's own method."""

from dataclasses import replace

import numpy as np

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.model.rotations import rotation_log
from contact_mpc.planning.goal_config import GoalConfig
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.methods import REGRASP, make_plan, planner_of
from contact_mpc.planning.trajopt.feasibility import require_way, roll_to_goal
from contact_mpc.planning.trajopt.task import read_config
from contact_mpc.planning.way_back import Pace, Trail, loop_area, plan_back, turn_along
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.spliced_plan import splice_plans
from contact_mpc.task.task import Goal, TaskConfig

TRAJOPT = "trajopt"
CONFIG = GoalConfig()


def task_to(
    task: TaskConfig, q: FloatArray, u: FloatArray, R_goal: FloatArray, p_goal: FloatArray, speed_share: float = 1.0
) -> TaskConfig:
    """Return the task from the state q (n_q,) under the commands u (n_a,) to an object pose, as fast as the task is.

    Parameters
    ----------
    task : TaskConfig
        Its planner, tolerances and speed are taken over.
    q, u : (n_q,), (n_a,) array
        Where it begins.
    R_goal, p_goal : (3, 3), (3,) array
        Where the object shall go, in the world frame.
    speed_share : float
        Share of the task's speed, above 0; without effect where the controller itself grips anew.
    """
    R, p = task.system.object_pose(q)
    turn = rotation_log(np.ascontiguousarray(R_goal @ R.T))
    angle, way = float(np.linalg.norm(turn)), p_goal - p
    axis = turn / angle if angle > 1e-9 else np.array([0.0, 0.0, 1.0])
    goal = Goal(axis, float(np.rad2deg(angle)), way)
    needed_s = max(np.rad2deg(angle) / turn_speed_deg_s(task), float(np.linalg.norm(way)) / speed_m_s(task))
    least_s = CONFIG.least_regrasp_s if planner_of(task) == REGRASP else CONFIG.least_duration_s
    duration_s = max(least_s, needed_s / speed_share)
    return replace(task, start_q=q.copy(), start_u=u.copy(), goal=goal, duration_s=duration_s, axis="", reference=None)


def plan_to(task: TaskConfig, goal: TaskConfig, trail: Trail | None = None) -> Plan:
    """Return the plan of a goal, made by `task_to`; where it is much further than the task's, the way is seen to first.

    With the trail of a grasp from the task's start on, the way leads back along it and on from the start where the
    direct one would be a loop, or is refused.

    Raises
    ------
    PlanError
        The start is not held, or the goal cannot be held or reached; names the margin that fails.
    """
    if planner_of(task) == REGRASP:
        _require_place(task, goal)
        return make_plan(goal)
    if trail is None or len(trail.q) < 2 or read_config(goal).initialisation != "rolling":
        return _plan_directly(task, goal)
    is_through = _wants_start(task, goal, trail)
    try:
        return _plan_through_start(task, goal, trail) if is_through else _plan_directly(task, goal)
    except PlanError as error:
        try:
            return _plan_directly(task, goal) if is_through else _plan_through_start(task, goal, trail)
        except PlanError:
            raise error from None


def _wants_start(task: TaskConfig, goal: TaskConfig, trail: Trail) -> bool:
    """Whether the direct way to a goal would take the grasp further from what it was at the start."""
    system = task.system
    most = CONFIG.most_trail_turns * np.deg2rad(max(abs(task.goal.angle_deg), CONFIG.least_turn_deg))
    area = loop_area(system, task.start_q, goal.start_q, goal.goal_pose()[0])
    return area > CONFIG.most_loop_rad2 or turn_along(system, trail) > most


def _plan_through_start(task: TaskConfig, goal: TaskConfig, trail: Trail) -> Plan:
    """Return the way back along the trail and on to the goal, as fast as the direct way would be."""
    R_goal, p_goal = goal.goal_pose()
    share = _speed_share(task, goal)
    onward = _plan_directly(task, task_to(task, task.start_q, task.start_u, R_goal, p_goal, share))
    pace = Pace(share * turn_speed_deg_s(task), share * speed_m_s(task), CONFIG.back_step_s)
    back = plan_back(task.system, trail, goal.start_q, goal.start_u, pace)
    return splice_plans(back, float(back.times_s[-1]), onward, task.system)


def _speed_share(task: TaskConfig, goal: TaskConfig) -> float:
    """Return the share of the task's speed that a goal was made with; at most 1, also where it takes the least time."""
    fastest = task_to(task, goal.start_q, goal.start_u, *goal.goal_pose())
    return min(1.0, fastest.duration_s / goal.duration_s)


def _plan_directly(task: TaskConfig, goal: TaskConfig) -> Plan:
    goal = _with_force_of_way(goal)
    if goal.duration_s > CONFIG.far * task.duration_s and read_config(goal).initialisation == "rolling":
        require_way(goal)
    plan, system = make_plan(goal), goal.system
    (R, p), (R_goal, p_goal) = system.object_pose(plan.q[-1]), goal.goal_pose()
    angle_deg = float(np.rad2deg(np.linalg.norm(rotation_log(np.ascontiguousarray(R_goal @ R.T)))))
    distance_mm = 1e3 * float(np.linalg.norm(p_goal - p))
    if angle_deg > goal.tolerance_deg or distance_mm > goal.tolerance_mm:
        raise PlanError(
            f"{goal.path}: no plan to the goal was found: the best ends {angle_deg:.1f} deg and {distance_mm:.1f} mm "
            f"from it (allowed {goal.tolerance_deg:g} deg, {goal.tolerance_mm:g} mm)"
        )
    return plan


def _with_force_of_way(goal: TaskConfig) -> TaskConfig:
    """Return the goal with the least force that its way can give, where that is less than the task's.

    Else that which its start can give. A grasp that has rolled somewhere gives a little less than one that was searched
    for, and the grasp that was searched for along the task's axes gives less elsewhere; refused, it would stay there.
    """
    config = read_config(goal)
    if config.initialisation != "rolling":
        return goal
    friction = config.friction if config.grasp_friction is None else config.grasp_friction
    at_start = None
    for share in CONFIG.force_shares:
        force_n = share * config.minimum_force_n
        weaker = goal if share == 1.0 else replace(goal, planner={**goal.planner, "minimum_force_n": force_n})
        if not compute_grasp(goal.system, goal.start_q, force_n, friction).is_balanced:
            continue
        at_start = at_start or weaker
        if roll_to_goal(weaker).is_complete:
            return weaker
    return at_start or goal


def _require_place(task: TaskConfig, goal: TaskConfig) -> None:
    """Raise PlanError where a goal of turns with new grasps is elsewhere than the start's grasp holds the object."""
    p, p_held = goal.goal_pose()[1], task.system.object_pose(task.start_q)[1]
    distance_mm = 1e3 * float(np.linalg.norm(p - p_held))
    if distance_mm > task.tolerance_mm:
        raise PlanError(
            f"{task.path}: this task turns its object where it holds it, at {np.round(p_held, 4).tolist()} m; the goal "
            f"is {distance_mm:.1f} mm from there (allowed {task.tolerance_mm:g} mm)"
        )


def require_goals(task: TaskConfig) -> None:
    """Raise ConfigError where a task takes no goals at run time: by its planner there is nothing to search."""
    method = planner_of(task)
    if method not in (TRAJOPT, REGRASP):
        raise ConfigError(
            f"{task.path}: goals at run time need a task planned by {TRAJOPT} or {REGRASP}; this one is by {method}"
        )


def turn_speed_deg_s(task: TaskConfig) -> float:
    """Return how fast a task turns its object, deg/s."""
    angle = abs(task.goal.angle_deg)
    return angle / task.duration_s if angle > CONFIG.least_turn_deg else CONFIG.usual_turn_deg_s


def speed_m_s(task: TaskConfig) -> float:
    """Return how fast a task moves its object, m/s."""
    way = float(np.linalg.norm(task.goal.translation_m))
    return way / task.duration_s if way > CONFIG.least_way_m else CONFIG.usual_speed_m_s
