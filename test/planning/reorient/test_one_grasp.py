"""What one grasp of a long way must serve: both senses that its configuration names, lifted off what it lies on."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.cli.plan.anew import without_start
from contact_mpc.errors import ConfigError
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.grasp.support import is_at_rest
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.planning.reorient.one_grasp import turns_of_one_grasp
from contact_mpc.planning.start_posture import make_search
from contact_mpc.task.task import AXES_W, load_task

MOST_DRAWS = 3000  # one in some hundred is held by fingers where the ball would stay without them


def test_where_goals_are_drawn_it_serves_all_axes_and_lifts() -> None:
    task, config = load_task("allegro_ball_so3"), ReorientationConfig()
    turns = turns_of_one_grasp(task)
    assert {tuple(turn.goal.axis_W) for turn in turns} == set(AXES_W.values())
    for turn in turns:
        assert turn.goal.angle_deg == max(config.turn_deg, config.back_deg)
        np.testing.assert_allclose(turn.goal.translation_m, [0.0, 0.0, config.lift_m], atol=1e-9)


@pytest.mark.parametrize("sense", [1.0, -1.0])
@pytest.mark.parametrize("back_deg", [0.0, 10.0])
def test_about_a_given_axis_it_turns_on_and_as_far_back_as_fingers_roll_first(sense: float, back_deg: float) -> None:
    task = load_task("planar_hand_ball_180")
    goal = replace(task.goal, angle_deg=sense * 90.0)
    task = replace(task, planner={**task.planner, "back_deg": back_deg}, goal=goal)
    vectors = [turn.goal.angle_deg * turn.goal.axis_W for turn in turns_of_one_grasp(task)]
    wanted = [sense * 40.0 * goal.axis_W, -sense * back_deg * goal.axis_W]
    np.testing.assert_allclose(vectors, wanted if back_deg else wanted[:1])
    assert all(not np.any(turn.goal.translation_m) for turn in turns_of_one_grasp(task))  # nothing lies on anything


@pytest.mark.parametrize(("carry_m", "carried_m"), [(0.0, 0.0), (0.02, 0.02), (1.0, 0.05)])
def test_it_carries_no_further_than_one_grasp_does(carry_m: float, carried_m: float) -> None:
    task = load_task("planar_hand_ball_180")
    goal = replace(task.goal, translation_m=np.array([0.0, 0.03, 0.04]))
    task = replace(task, planner={**task.planner, "carry_m": carry_m}, goal=goal)
    np.testing.assert_allclose(turns_of_one_grasp(task)[0].goal.translation_m, carried_m * np.array([0.0, 0.6, 0.8]))


def test_an_unknown_parameter_is_refused() -> None:
    task = load_task("planar_hand_ball_180")
    with pytest.raises(ConfigError, match="planner.*turn_degrees"):
        turns_of_one_grasp(replace(task, planner={**task.planner, "turn_degrees": 3.0}))


def test_a_search_for_such_a_task_draws_postures_about_an_object_that_lies() -> None:
    task = load_task("allegro_ball_so3")
    search, scene = make_search(without_start(task, 1), 0), make_scene(task.system)
    found = next(candidate for _ in range(MOST_DRAWS) if (candidate := search.sample()) is not None)
    assert scene.gaps(found.q)[scene.fingers < 0].min() == pytest.approx(search.config.lying_gap_m, abs=1e-5)
    gap_m, margin_m = search.config.lying_gap_m, search.config.lying_margin_m
    assert is_at_rest(task.system, scene, found.q, gap_m, margin_m, search.config.most_unbalanced)
