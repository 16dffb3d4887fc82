"""A plan by turns is what MuJoCo has played, and ends at the problem's goal."""

from dataclasses import replace

import numpy as np

from contact_mpc.loop.parts.confirmed_turns import confirm_turns
from contact_mpc.planning.parts import plan_of_turns
from contact_mpc.planning.tree.problem import load_problem, with_goal


def test_turns_that_reach_the_goal_in_mujoco_are_confirmed_with_the_goal_as_their_last_row() -> None:
    problem = with_goal(load_problem("allegro_ball"), {"ball_yaw_rad": 0.4})
    done = confirm_turns(problem)
    plan = done.plan
    assert done.is_confirmed and done.reason == "" and plan.provenance["confirmed"]
    assert all(0.0 < share <= 1.0 for share in done.robustness)
    assert problem.is_reached(plan.q[-2])
    n_q_u = problem.system.n_q_u
    np.testing.assert_allclose(plan.q[-1, :n_q_u], plan_of_turns(problem).q[-1, :n_q_u])
    assert np.all(np.diff(plan.times_s) > 0.0)


def test_turns_that_cannot_come_near_the_goal_say_how_far_they_stay() -> None:
    problem = with_goal(load_problem("allegro_ball"), {"ball_yaw_rad": 0.2, "ball_z_m": 0.0749})
    strict = problem.file.model_copy(update={"tolerance_mm": 1.0})
    done = confirm_turns(replace(problem, file=strict))
    assert not done.is_confirmed and not done.plan.provenance["is_valid"]
    assert "mm off" in done.reason
