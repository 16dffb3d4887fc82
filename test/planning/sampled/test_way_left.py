"""What is left of the way to a goal, by the turn or as a whole."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.planning.sampled.random_motions import RandomMotions
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.sampled.way_left import WayLeft
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.planning.tree.segments import object_distance
from contact_mpc.settings.arrays import FloatArray


def of(name: str, **values: float) -> tuple[Problem, WayLeft]:
    problem = load_problem(name)
    problem = replace(problem, file=problem.file.model_copy(update={"sampled": SampledConfig(**values)}))
    return problem, WayLeft(problem, RandomMotions(problem))


def pen_at(problem: Problem, turn_rad: FloatArray, way_m: FloatArray, slides_m: FloatArray) -> FloatArray:
    """Return the state with the pen off its goal by a turn about the world's axes and a way, and slides that moved."""
    q = problem.configuration(problem.goal_u, problem.start_a)
    dq = np.concatenate([turn_rad, way_m, slides_m, np.zeros(16)])
    return problem.system.integrate(q, dq)


def test_without_slides_it_is_the_distance_of_the_global_metric() -> None:
    problem, left = of("planar_hand_ball")
    q = problem.configuration(problem.start_u)
    goal = problem.configuration(problem.goal_u)
    assert not left.has_to_turn(q)
    assert left.order(q) == (False, object_distance(problem, q, goal))


def test_a_turn_across_gravity_weighs_more_than_one_about_it() -> None:
    problem, left = of("allegro_pen", tilt_weight=3.0, shift_weight=0.0)
    nothing = np.zeros(3)
    for axis, weight in ((0, 3.0), (1, 3.0), (2, 1.0)):
        q = pen_at(problem, np.eye(3)[axis] * 0.2, nothing, nothing)
        assert left.rad(q, True) == pytest.approx(weight * 0.2, rel=1e-6)


def test_what_goes_along_with_the_slides_has_not_shifted_in_the_hand() -> None:
    problem, left = of("allegro_pen", free_shift_m=0.01, shift_weight=0.5)
    turn, start_m = np.array([0.0, 0.0, 0.3]), problem.system.object_pose(problem.configuration(problem.start_u))[1]
    back_m = start_m - problem.system.object_pose(problem.configuration(problem.goal_u))[1]
    along = pen_at(problem, turn, back_m + 0.05, np.full(3, 0.05))
    assert left.rad(along, True) == pytest.approx(0.3, rel=1e-6)
    shifted = pen_at(problem, turn, back_m + np.array([0.05, 0.0, 0.0]), np.zeros(3))
    assert left.rad(shifted, True) == pytest.approx(0.3 + 0.5 * 0.04 / problem.file.rrt.length_m, rel=1e-6)


def test_slides_bring_what_has_turned_to_within_a_multiple_of_the_tolerance() -> None:
    problem, left = of("allegro_pen", turned=2.0)
    tolerance, nothing = np.radians(5.0), np.zeros(3)
    for share, has_to in ((2.1, True), (1.9, False)):
        assert left.has_to_turn(pen_at(problem, np.array([0.0, 0.0, share * tolerance]), nothing, nothing)) == has_to


def test_what_no_longer_has_to_turn_is_nearer_and_what_is_nowhere_is_furthest() -> None:
    problem, left = of("allegro_pen")
    turned = pen_at(problem, np.zeros(3), np.full(3, -0.1), np.zeros(3))
    unturned = pen_at(problem, np.array([0.0, 0.0, 0.2]), np.zeros(3), np.zeros(3))
    assert left.order(turned) < left.order(unturned) < left.order(np.nan * turned)
    assert left.order(np.nan * turned) == (True, np.inf)
    np.testing.assert_allclose(left.object_way_m(turned), 0.1)


@given(seed=st.integers(0, 10_000))
def test_the_error_is_as_long_as_what_is_left_of_the_whole_way(seed: int) -> None:
    problem = load_problem("allegro_pen")
    left, rng = WayLeft(problem, RandomMotions(problem)), np.random.default_rng(seed)
    v = np.zeros(problem.system.n_v)
    v[: problem.system.n_v_u] = 0.5 * rng.standard_normal(problem.system.n_v_u)
    q = problem.system.integrate(problem.configuration(problem.start_u), v)
    assert np.linalg.norm(left.error(q, turns_first=False)) == pytest.approx(left.rad(q, turns_first=False))
    turn = left.error(q, turns_first=True)
    assert np.all(turn[~problem.turns] == 0.0) and np.sum(np.abs(turn)) <= left.rad(q, turns_first=True) + 1e-12
