"""Starts and goals that cannot be held are refused, with the margin that fails."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from held_tasks import held_task

from contact_mpc.errors import PlanError
from contact_mpc.planning.methods import make_plan
from contact_mpc.planning.trajopt.feasibility import describe_failure, require_goal, require_grasp
from contact_mpc.task.task import TaskConfig, load_task


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return load_task("allegro_ball")


def test_the_start_of_the_task_holds(task: TaskConfig) -> None:
    require_grasp(task, 3.0, 0.4)


def test_slippery_fingers_are_refused_with_the_friction_that_it_takes() -> None:
    task = held_task("allegro_ball")
    reason = describe_failure(task.system, task.start_q, 3.0, 0.2)
    assert "a friction of at least 0.3" in reason and "(the cones have 0.2)" in reason
    with pytest.raises(PlanError, match="does not hold the object"):
        require_grasp(task, 3.0, 0.2)


def test_more_force_than_the_joints_have_is_refused_with_the_effort_that_it_takes(task: TaskConfig) -> None:
    reason = describe_failure(task.system, task.start_q, 40.0, 0.65)
    assert "% of the effort limits (allowed: 80 %)" in reason and "(asked for: 40 N)" in reason


def test_fingers_that_do_not_touch_are_refused(task: TaskConfig) -> None:
    q = task.start_q.copy()
    q[6] += 0.03
    assert "no robot link within" in describe_failure(task.system, q, 3.0, 0.65)


def test_a_grasp_that_is_used_up_is_named_where_a_goal_is_missed(task: TaskConfig) -> None:
    """The fingers hold still, but not with the task's margins: it is not that they were off the object."""
    greedy = replace(task, planner={**task.planner, "grasp_friction": 0.02})
    result = SimpleNamespace(angle_error_deg=30.0, position_error_mm=0.0)
    with pytest.raises(PlanError, match=r"the start, whose grasp is used up: it would take a friction of at least"):
        require_goal(greedy, result)


def test_a_turn_beyond_the_fingers_is_refused_with_what_stops_them(task: TaskConfig) -> None:
    further = replace(task, goal=replace(task.goal, angle_deg=120.0))
    with pytest.raises(PlanError, match=r"cannot be held: the plan ends .* deg .* rolling along stops at"):
        make_plan(further)
