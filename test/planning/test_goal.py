"""Goals at run time as tasks: how fast, from where, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning import goal as goal_module
from contact_mpc.planning.goal import CONFIG, plan_to, require_goals, task_to
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.trajopt.feasibility import roll_to_goal
from contact_mpc.planning.way_back import Trail
from contact_mpc.task.task import TaskConfig, load_task


@pytest.fixture(scope="module")
def regrasping() -> TaskConfig:
    return load_task("allegro_ball_so3")


def test_a_goal_takes_as_long_as_the_task_turns_fast() -> None:
    task = load_task("allegro_ball")
    R, p = task.system.object_pose(task.start_q)
    goal = task_to(task, task.start_q, task.start_u, rotation_exp(np.array([0.0, 0.0, np.deg2rad(20.0)])) @ R, p)
    assert goal.duration_s == pytest.approx(task.duration_s * 20.0 / task.goal.angle_deg)
    assert goal.goal.angle_deg == pytest.approx(20.0)


def test_a_goal_with_new_grasps_goes_to_any_orientation_from_wherever_the_object_is(regrasping: TaskConfig) -> None:
    R, p = regrasping.system.object_pose(regrasping.start_q)
    q = regrasping.start_q.copy()
    q[: regrasping.system.n_q_u] = regrasping.system.q_from_object_pose(R, p - [0.0, 0.0, 2e-3], q)
    R_goal = rotation_exp(np.array([2.0, 1.0, 1.0])) @ R
    goal = task_to(regrasping, q, regrasping.start_u, R_goal, p)
    plan = plan_to(regrasping, goal)
    assert goal.duration_s >= CONFIG.least_regrasp_s
    np.testing.assert_allclose(regrasping.system.object_pose(plan.q[-1])[0], R_goal, atol=1e-9)
    np.testing.assert_array_equal(plan.q[0], q)


def test_a_goal_elsewhere_than_the_object_is_held_is_refused_with_its_distance(regrasping: TaskConfig) -> None:
    R, p = regrasping.system.object_pose(regrasping.start_q)
    goal = task_to(regrasping, regrasping.start_q, regrasping.start_u, R, p + [0.0, 0.03, 0.0])
    with pytest.raises(PlanError, match=r"30\.0 mm from there \(allowed 10 mm\)"):
        plan_to(regrasping, goal)


def test_a_task_that_plans_otherwise_takes_no_goals(regrasping: TaskConfig) -> None:
    require_goals(regrasping)
    with pytest.raises(ConfigError, match="planned by trajopt or regrasp; this one is by contact_implicit"):
        require_goals(load_task("anypulator_ball"))


def test_a_goal_is_gone_to_with_the_most_force_that_start_and_way_give_and_never_with_less_than_half() -> None:
    task = load_task("allegro_ball")
    near = replace(task, goal=replace(task.goal, angle_deg=5.0))

    def gives(force_n: float) -> bool:
        at = greedy(near, force_n)
        is_held = compute_grasp(at.system, at.start_q, force_n, at.planner["grasp_friction"]).is_balanced
        return is_held and roll_to_goal(at).is_complete

    most_n = max(float(force_n) for force_n in range(1, 40) if gives(float(force_n)))
    for asked_n, given_n in ((most_n, most_n), (1.3 * most_n, 0.75 * 1.3 * most_n), (9.0 * most_n, 9.0 * most_n)):
        used = goal_module._with_force_of_way(greedy(near, asked_n))
        assert used.planner["minimum_force_n"] == pytest.approx(given_n)


def test_a_loop_leads_through_the_start_along_the_way_that_the_fingers_came_by() -> None:
    """Without a trail, or along the same axis on, the way is direct."""
    task = load_task("allegro_cube")
    R, p = task.system.object_pose(task.start_q)

    def to(axis: int, degrees: float) -> np.ndarray:
        return rotation_exp(np.deg2rad(degrees) * np.eye(3)[axis]) @ R

    first = plan_to(task, task_to(task, task.start_q, task.start_u, to(0, 15.0), p))
    trail, end = Trail(first.q, first.u), (first.q[-1], first.u[-1])
    loop = task_to(task, *end, to(1, 15.0), p)
    through, direct = plan_to(task, loop, trail), plan_to(task, loop)
    n = task.system.n_q_u
    off = [np.abs(plan.q - task.start_q)[:, n:].max(axis=1).min() for plan in (through, direct)]
    assert off[0] < 1e-9 < 0.02 < off[1]
    np.testing.assert_array_equal(through.q[0], end[0])
    assert through.times_s[-1] > direct.times_s[-1]
    on = plan_to(task, task_to(task, *end, to(0, 20.0), p), trail)
    assert np.abs(on.q - task.start_q)[:, n:].max(axis=1).min() > 0.02


def greedy(task: TaskConfig, force_n: float) -> TaskConfig:
    return replace(task, planner={**task.planner, "minimum_force_n": force_n})
