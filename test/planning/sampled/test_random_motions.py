"""Random motions of fingers and slides."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.planning.sampled.random_motions import RandomMotions
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.problem import Problem, load_problem


def pen(**values: float) -> Problem:
    problem = load_problem("allegro_pen")
    return replace(problem, file=problem.file.model_copy(update={"sampled": SampledConfig(**values)}))


@given(st.integers(0, 2**32 - 1), st.floats(-2.0, 2.0))
def test_commands_begin_at_the_one_in_force_and_keep_to_the_limits_or_to_it(seed: int, beyond: float) -> None:
    problem = pen()
    motions, rng, system = RandomMotions(problem), np.random.default_rng(seed), problem.system
    u = np.tile(0.5 * (system.q_min + system.q_max) + beyond * (system.q_max - system.q_min), (4, 1))
    commands = motions.added(motions.times_s, u, motions.draw(rng, u[0], 5))
    np.testing.assert_array_equal(commands[:, 0], np.tile(u[0], (5, 1)))
    assert np.all(commands >= np.minimum(u, system.q_min)) and np.all(commands <= np.maximum(u, system.q_max))
    np.testing.assert_array_equal(commands[:, 2], commands[:, 3])  # and rest there
    speed = np.abs(np.diff(commands, axis=1)) / np.diff(motions.times_s)[:, None]
    assert np.all(speed <= 0.9 * system.v_max + 1e-9)
    assert motions.times_s[-1] == problem.file.sampled.motion_s  # type: ignore[union-attr]


@given(st.integers(0, 2**32 - 1))
def test_changes_of_a_way_bend_at_the_knots_and_stay_at_their_end(seed: int) -> None:
    motions, rng = (
        RandomMotions(pen(knots=(0.25, 0.5), spread_rad=0.01, posture_share=0.0)),
        np.random.default_rng(seed),
    )
    times_s, u = np.linspace(0.0, 2.0, 9), 0.05 * rng.standard_normal((9, 19))
    u[:, motions.slides] *= 0.1
    d = motions.vary(rng, np.zeros((2, 19)), 0.01, 3)
    change = motions.added(times_s, u, d) - u
    np.testing.assert_array_equal(motions.added(times_s, u, 0.0 * d), np.tile(u, (3, 1, 1)))
    is_inside = np.all((u > limits()[0] + 0.1) & (u < limits()[1] - 0.1), axis=0)
    np.testing.assert_allclose(change[:, 2][:, is_inside], d[:, 0][:, is_inside], atol=1e-12)
    np.testing.assert_allclose(change[:, 1][:, is_inside], 0.5 * d[:, 0][:, is_inside], atol=1e-12)
    for row in (4, 6, 8):
        np.testing.assert_allclose(change[:, row][:, is_inside], d[:, 1][:, is_inside], atol=1e-12)


def limits() -> tuple[np.ndarray, np.ndarray]:
    system = load_problem("allegro_pen").system
    return system.q_min, system.q_max


def test_fingers_move_as_a_whole_or_not_at_all_and_at_least_one_does() -> None:
    problem = pen()
    motions, u = RandomMotions(problem), problem.system.q_default[problem.system.n_q_u :]
    names = problem.system.joint_names
    d = motions.draw(np.random.default_rng(3), u, 200)
    moving = np.stack(
        [np.any(d[:, :, [finger in name for name in names]] != 0.0, axis=(1, 2)) for finger in ("index", "thumb")]
    )
    for finger, moves in zip(("index", "thumb"), moving, strict=True):
        joints = [finger in name for name in names]
        assert np.all(d[moves][:, :, joints] != 0.0) and 50 < np.count_nonzero(moves) < 200
    assert np.all(np.any(d != 0.0, axis=(1, 2)))
    slides = d[:, :, motions.slides]
    assert 0 < np.count_nonzero(np.any(slides != 0.0, axis=(1, 2))) < 120 and np.abs(slides).max() < 0.2


def test_some_fingers_go_to_postures_that_small_changes_do_not_reach() -> None:
    u = load_problem("allegro_pen").system.q_default[load_problem("allegro_pen").system.n_q_u :]
    small, anywhere = (RandomMotions(pen(spread_rad=0.01, posture_share=share)) for share in (0.0, 1.0))
    assert np.abs(small.draw(np.random.default_rng(0), u, 100)).max() < 0.2
    assert np.abs(anywhere.draw(np.random.default_rng(0), u, 100)).max() > 1.0


def test_variations_are_near_and_do_not_touch_every_joint() -> None:
    motions, u = RandomMotions(pen()), np.zeros(19)
    d = motions.draw(np.random.default_rng(1), u, 1)[0]
    near = motions.vary(np.random.default_rng(2), d, 0.1, 50) - d
    assert np.abs(near).max() < 0.6 and 0.3 < np.mean(near != 0.0) < 0.7
    assert np.abs(near[:, :, motions.slides]).max() < 0.05


def test_slides_carry_along_the_worlds_axes_no_further_than_allowed() -> None:
    carried = RandomMotions(pen(most_carried_m=0.1)).carried(np.array([0.02, -0.05, 0.3]))
    np.testing.assert_allclose(carried[:, :3], [[0.01, -0.025, 0.05], [0.02, -0.05, 0.1]])
    assert carried.shape == (2, 19) and np.all(carried[:, 3:] == 0.0)


@pytest.mark.parametrize(("name", "count"), [("planar_hand_ball", 0), ("iiwa_bimanual_box", 0), ("allegro_pen", 3)])
def test_only_slides_of_a_single_robot_carry(name: str, count: int) -> None:
    assert len(RandomMotions(load_problem(name)).slides) == count


def test_where_no_posture_names_fingers_all_joints_move_together() -> None:
    problem = load_problem("planar_pushing")
    motions = RandomMotions(problem)
    d = motions.draw(np.random.default_rng(0), np.zeros(problem.system.n_a), 4)
    assert np.all(d != 0.0)
