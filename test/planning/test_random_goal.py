"""Goals that a seed draws: any rotation, as high as the object has to be to reach as far down as at its start."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.random_goal import with_drawn_goal
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.task.task import load_task

HALF_M = 0.03  # of the cube


@pytest.fixture(name="cube", scope="module")
def _cube() -> Problem:
    return load_problem("allegro_cube_so3")


def _lowest_m(problem: Problem, q_u: np.ndarray) -> float:
    R, p = problem.system.object_pose(problem.configuration(q_u))
    return float(min((R @ corner + p)[2] for corner in HALF_M * np.array(list(product((-1.0, 1.0), repeat=3)))))


def test_a_drawn_cube_has_its_lowest_corner_where_the_start_has_its_face(cube: Problem) -> None:
    drawn = [with_drawn_goal(cube, seed) for seed in range(20)]
    assert [_lowest_m(item, item.goal_u) for item in drawn] == pytest.approx(20 * [_lowest_m(cube, cube.start_u)])
    assert np.ptp([item.goal_u[6] for item in drawn]) > 0.0


def test_a_seed_draws_one_goal_and_seeds_draw_others_about_all_axes(cube: Problem) -> None:
    np.testing.assert_array_equal(with_drawn_goal(cube, 3).goal_u, with_drawn_goal(cube, 3).goal_u)
    # The mean of uniform rotation matrices is 0, each entry within 4 standard deviations 1/sqrt(3 n) of it.
    R = np.array([cube.system.object_pose(cube.configuration(with_drawn_goal(cube, k).goal_u))[0] for k in range(200)])
    np.testing.assert_allclose(R.mean(axis=0), 0.0, atol=4.0 / np.sqrt(3.0 * len(R)))


def test_a_seed_draws_the_rotation_that_it_draws_for_tasks(cube: Problem) -> None:
    R, _ = cube.system.object_pose(cube.configuration(with_drawn_goal(cube, 7).goal_u))
    goal = load_task("allegro_ball_so3").with_random_goal(7).goal
    np.testing.assert_allclose(R, rotation_exp(goal.axis_W * np.deg2rad(goal.angle_deg)), atol=1e-12)


def test_without_is_random_a_problem_keeps_its_goal(cube: Problem) -> None:
    problem = load_problem("planar_pushing")
    assert with_drawn_goal(problem, 5) is problem
    fixed = replace(cube, file=cube.file.model_copy(update={"is_random": False}))
    np.testing.assert_array_equal(with_drawn_goal(fixed, 5).goal_u, cube.goal_u)


def test_objects_that_hang_on_joints_have_no_random_rotation() -> None:
    door = load_problem("allegro_door")
    asked = replace(door, file=door.file.model_copy(update={"is_random": True}))
    with pytest.raises(ConfigError, match="is_random: allowed with one object that moves freely"):
        with_drawn_goal(asked, 0)
