"""Turns of any size: goals drawn from SO(3), segments that turn, put down and grip anew."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.geometry.fingers import finger_of_pairs
from contact_mpc.model.rotations import rotation_log
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.planning.reorient.segments import ReorientationPlanner, build_planner, make_goal_plan
from contact_mpc.task.task import TaskConfig, load_task

TURN_DEG, ROUNDING_DEG = (
    ReorientationConfig().turn_deg,
    3.0,
)  # so near does the model end
CLEAR_M = 4e-3


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return load_task("allegro_ball_so3")


@pytest.fixture
def planner(task: TaskConfig) -> ReorientationPlanner:
    planner = build_planner(task)
    planner.begin(make_goal_plan(task))
    return planner


def moved(task: TaskConfig, offset: np.ndarray) -> np.ndarray:
    q = task.start_q.copy()
    q[4:7] += offset
    return q


def test_goals_are_drawn_uniformly_and_again_from_the_same_seed(task: TaskConfig) -> None:
    goals = [task.with_random_goal(seed).goal for seed in range(400)]
    assert goals[3].angle_deg == task.with_random_goal(3).goal.angle_deg
    angles = np.deg2rad([goal.angle_deg for goal in goals])
    assert np.mean(angles) == pytest.approx(np.pi / 2 + 2 / np.pi, abs=0.1)  # of the density (1 - cos) / pi
    assert np.linalg.norm(np.mean([goal.axis_W for goal in goals], axis=0)) < 0.15


def test_angles_about_a_given_axis_are_drawn_from_a_whole_turn(task: TaskConfig) -> None:
    about_z = replace(task, has_random_angle=True)
    goals = [about_z.with_random_goal(seed).goal for seed in range(400)]
    assert all(np.array_equal(goal.axis_W, task.goal.axis_W) for goal in goals)
    counts, _ = np.histogram([goal.angle_deg for goal in goals], bins=4, range=(-180.0, 180.0))
    assert counts.sum() == 400 and counts.min() > 70


def test_the_first_segment_turns_by_what_one_grasp_can(task: TaskConfig, planner: ReorientationPlanner) -> None:
    segment = planner.next_segment(task.start_q, task.start_u)
    assert segment is not None and segment.plan is not None and segment.is_tracked
    (R0, _), (R1, p1) = (task.system.object_pose(q) for q in segment.plan.q[[0, -1]])
    turn = np.rad2deg(rotation_log(np.ascontiguousarray(R1 @ R0.T)))
    assert np.linalg.norm(turn) == pytest.approx(TURN_DEG, abs=ROUNDING_DEG)
    assert turn @ task.goal.axis_W > 0.95 * np.linalg.norm(turn)
    assert p1[2] < task.start_q[6]  # put down
    assert np.array_equal(segment.plan.u[0], task.start_u)


def test_a_new_grasp_turns_further_by_what_its_fingers_roll_back(
    task: TaskConfig, planner: ReorientationPlanner
) -> None:
    q = moved(task, np.array([2e-3, 0.0, -1.4e-3]))
    planner.next_segment(q, task.start_u)
    turn = planner.next_segment(q, task.start_u)
    assert turn is not None and turn.plan is not None
    (R0, _), (R1, _) = (task.system.object_pose(row) for row in turn.plan.q[[0, -1]])
    turned_deg = np.rad2deg(np.linalg.norm(rotation_log(np.ascontiguousarray(R1 @ R0.T))))
    assert turned_deg == pytest.approx(TURN_DEG + ReorientationConfig().back_deg, abs=ROUNDING_DEG)


def test_the_last_turn_leaves_the_object_where_the_start_holds_it(task: TaskConfig) -> None:
    near = replace(task, goal=replace(task.goal, angle_deg=0.8 * TURN_DEG))
    planner = build_planner(near)
    planner.begin(make_goal_plan(near))
    turn = planner.next_segment(near.start_q, near.start_u)
    assert turn is not None and turn.plan is not None
    p_end, p_held = (task.system.object_pose(row)[1] for row in (turn.plan.q[-1], task.start_q))
    assert np.linalg.norm(p_end - p_held) < 1e-3


def test_commands_of_a_turn_follow_the_fingers_to_where_they_rest(task: TaskConfig) -> None:
    closer = task.start_q.copy()
    closer[task.system.n_q_u :] += 0.01  # on a smaller object
    plans = []
    for q in (task.start_q, closer):
        planner = build_planner(task)
        planner.begin(make_goal_plan(task))
        segment = planner.next_segment(q, task.start_u)
        assert segment is not None and segment.plan is not None
        plans.append(segment.plan)
    taken_over = plans[0].times_s >= ReorientationConfig().press_s
    np.testing.assert_allclose(plans[1].u[taken_over] - plans[0].u[taken_over], 0.01, rtol=0.0, atol=1e-12)
    assert np.array_equal(plans[1].u[0], task.start_u)


def test_a_turned_object_is_gripped_anew_and_then_turned(task: TaskConfig, planner: ReorientationPlanner) -> None:
    q = moved(task, np.array([2e-3, 0.0, -1.4e-3]))
    regrasp = planner.next_segment(q, task.start_u)
    assert regrasp is not None and regrasp.plan is not None and not regrasp.is_tracked
    model, first = build_model(task.system), task.system.n_q_u
    ws = make_newton(model)
    probe, fingers = q.copy(), finger_of_pairs(task.system) >= 0
    for row in regrasp.plan.u[3:-2]:  # on the way
        probe[first:] = row
        assert measure_gaps(model, ws, probe)[fingers].min() > CLEAR_M
    turn = planner.next_segment(q, regrasp.plan.u[-1])
    assert turn is not None and turn.plan is not None and turn.is_tracked


def test_it_rests_where_the_goal_is_reached(task: TaskConfig, planner: ReorientationPlanner) -> None:
    q = make_goal_plan(task).q[-1]
    assert planner.next_segment(q, task.start_u) is None


def test_without_a_support_fingers_let_go_and_grip_anew_where_the_object_floats() -> None:
    floating = load_task("planar_hand_ball_180")
    system, planner = floating.system, build_planner(floating)
    planner.begin(make_goal_plan(floating))
    turn = planner.next_segment(floating.start_q, floating.start_u)
    assert turn is not None and turn.plan is not None and turn.is_tracked
    turned_deg = np.rad2deg(turn.plan.q[-1][2] - turn.plan.q[0][2])
    assert turned_deg == pytest.approx(floating.planner["turn_deg"], abs=ROUNDING_DEG)
    regrasp = planner.next_segment(turn.plan.q[-1], turn.plan.u[-1])
    assert regrasp is not None and regrasp.plan is not None and not regrasp.is_tracked
    assert np.array_equal(regrasp.plan.q[:, :3], np.tile(turn.plan.q[-1][:3], (len(regrasp.plan.q), 1)))
    model = build_model(system)
    newton = make_newton(model)
    rows = zip(regrasp.plan.q, regrasp.plan.u, strict=True)
    gaps = np.array([measure_gaps(model, newton, np.concatenate([q[:3], u])).copy() for q, u in rows])
    assert np.all(gaps[3:-2].min(axis=1) > CLEAR_M)  # away, on the way, and at the new place
    assert np.sum(gaps[-1] < 0.0) == 2  # both fingers press


def test_fingers_that_are_not_at_the_starts_grasp_grip_anew_first(
    task: TaskConfig, planner: ReorientationPlanner
) -> None:
    """A new goal may come with the object where it was held and the fingers turned away, or off it."""
    elsewhere = task.start_q.copy()
    elsewhere[task.system.n_q_u :] -= 0.15
    segment = planner.next_segment(elsewhere, task.start_u)
    assert segment is not None and segment.plan is not None and not segment.is_tracked
