"""Planners of the package: what must hold is seen to before anything is planned, and a far goal is only named."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import PlanError
from contact_mpc.planning.planner import ReorientPlanner, TrajoptPlanner
from contact_mpc.task.task import load_task


def test_a_start_that_holds_nothing_is_refused_before_it_is_planned() -> None:
    task = load_task("allegro_ball")
    far = task.start_q.copy()
    far[task.system.n_q_u - 1] += 0.2  # the ball above the hand
    with pytest.raises(PlanError, match="the start does not hold the object"):
        TrajoptPlanner().plan(replace(task, start_q=far))


def test_the_plan_of_turns_and_regrasps_says_where_to_go() -> None:
    task = load_task("allegro_ball_so3")
    plan = ReorientPlanner().plan(task)
    R, p = task.system.object_pose(plan.q[-1])
    R_goal, p_goal = task.goal_pose()
    np.testing.assert_allclose(R, R_goal, atol=1e-9)
    np.testing.assert_allclose(p, p_goal, atol=1e-9)
    np.testing.assert_array_equal(plan.q[0], task.start_q)
    assert plan.times_s[-1] <= task.duration_s
