"""Starts of a task: those drawn balance the object, are the same again, and are not the task's own."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import PlanError
from contact_mpc.planning import start_posture as task_grasp
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.methods import make_plan
from contact_mpc.task.task import load_task

TASK = load_task("allegro_ball")


@pytest.mark.parametrize("seed", [0, 1])
def test_drawn_start_balances_the_object_and_is_the_same_again(seed: int) -> None:
    drawn, again = task_grasp.draw_start(TASK, seed), task_grasp.draw_start(TASK, seed)
    np.testing.assert_array_equal(drawn.start_q, again.start_q)
    assert compute_grasp(drawn.system, drawn.start_q, 3.0, 0.5).is_balanced
    assert np.abs(drawn.start_q - TASK.start_q).max() > 0.05
    assert np.all(np.abs(drawn.start_u - drawn.start_q[drawn.system.n_q_u :]) < 0.2)


def test_plan_of_a_drawn_start_is_refused_unless_asked_for() -> None:
    """No posture of the fingers rolls a ball by 170 degrees."""
    drawn = task_grasp.draw_start(TASK, 0).about("+x")
    drawn = replace(drawn, goal=replace(drawn.goal, angle_deg=170.0))
    with pytest.raises(PlanError, match="allegro_ball.yaml: the .* cannot be held|does not hold"):
        make_plan(drawn)
    np.testing.assert_array_equal(make_plan(drawn, must_hold=False).q[0], drawn.start_q)


def test_a_free_turn_takes_axis_and_way_from_the_grasp_and_the_angle_from_the_task() -> None:
    free = replace(TASK, goal=replace(TASK.goal, angle_deg=15.0, is_free=True), axes=())
    drawn = task_grasp.draw_start(free, 0)
    goal = drawn.goal
    assert goal.is_free and goal.angle_deg == pytest.approx(15.0) and np.linalg.norm(goal.axis_W) == pytest.approx(1.0)
    search = task_grasp.make_search(drawn, 0)
    found = search.judge(drawn.start_q)
    assert found is not None and found.goal is not None
    np.testing.assert_allclose(found.goal.translation_m, goal.translation_m)


def test_search_that_finds_no_posture_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_grasp.GraspSearch, "sample", lambda self: None)
    with pytest.raises(PlanError, match=r"none of 1 postures \(seed 3\) balances the object"):
        task_grasp.draw_start(TASK, 3, GraspSearchConfig(most_draws=1))
