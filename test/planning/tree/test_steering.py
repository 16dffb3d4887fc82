"""Steering: its way is straight and slow at both ends, the joints stay where they are, its commands are divided."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.optimisation.trajectory import OptimisedCommands
from contact_mpc.planning.tree import steering as steering_module
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.planning.tree.search_config import SearchConfig
from contact_mpc.planning.tree.steering import Steering, divide_commands


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("planar_hand_ball")


def steering(problem: Problem, **search: float) -> Steering:
    file = problem.file.model_copy(update={"search": SearchConfig(**search)})
    return Steering(replace(problem, file=file), build_model(problem.system, file.rrt.h_s, file.friction))


def test_a_way_leads_from_the_object_to_the_goal_and_moves_no_joint(problem: Problem) -> None:
    q, goal = problem.configuration(problem.start_u), problem.configuration(problem.goal_u)
    way, n = steering(problem).straight_way(q, goal, 1.4), problem.system.n_q_u
    assert len(way) == 11  # 1.4 rad at 0.14 rad per step
    np.testing.assert_array_equal(way[0], q)
    np.testing.assert_allclose(way[-1, :n], goal[:n], atol=1e-12)
    np.testing.assert_array_equal(way[:, n:], np.tile(q[n:], (11, 1)))
    steps = np.linalg.norm(np.diff(way[:, :n], axis=0), axis=1)
    assert steps[0] < 0.5 * steps.max() and steps[-1] < 0.5 * steps.max()


@pytest.mark.parametrize(("distance", "steps"), [(0.01, 4), (1.0, 10), (50.0, 12)])
def test_steps_follow_the_distance_within_their_bounds(problem: Problem, distance: float, steps: int) -> None:
    q, goal = problem.configuration(problem.start_u), problem.configuration(problem.goal_u)
    short = steering(problem, radians_per_step=0.1, fewest_steps=4, most_steps=12)
    assert len(short.straight_way(q, goal, distance)) == steps + 1


def test_a_way_that_was_followed_is_not_optimised_again(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, optimise = [], steering_module.optimise_commands

    def count(*args: Any) -> OptimisedCommands:
        calls.append(args)
        return optimise(*args)

    monkeypatch.setattr(steering_module, "optimise_commands", count)
    q, goal = problem.configuration(problem.start_u), problem.configuration(problem.goal_u)
    one = steering(problem, fewest_steps=2, most_steps=2)
    u, way = q[problem.system.n_q_u :], one.straight_way(q, goal, 0.1)
    commands = one.follow(q, u, way)
    assert commands is not None and len(calls) == 1
    np.testing.assert_array_equal(one.follow(q, u.copy(), way.copy()), commands)
    assert len(calls) == 1
    one.follow(q, u + 1e-12, way)
    one.follow(q, u, way, commands)
    assert len(calls) == 3


@given(arrays(float, (4, 2), elements=st.floats(-3.0, 3.0)), st.floats(0.01, 5.0))
def test_divided_commands_change_by_little_and_pass_through_all(commands: np.ndarray, most_rad: float) -> None:
    before = np.zeros(2)
    rows = divide_commands(commands, before, most_rad)
    assert np.max(np.abs(np.diff(rows, axis=0, prepend=before[None]))) <= most_rad * (1.0 + 1e-6)
    assert len(rows) <= len(commands) + np.sum(np.abs(np.diff(commands, axis=0, prepend=before[None]))) / most_rad
    places = iter(rows)
    assert all(any(np.array_equal(row, place) for place in places) for row in commands)


def test_few_commands_and_small_ones_stay_as_they_are() -> None:
    commands = np.array([[0.1, 0.0], [0.2, -0.1]])
    assert np.array_equal(divide_commands(commands, np.zeros(2), 0.1), commands)
    assert divide_commands(commands[:0], np.zeros(2), 0.1).shape == (0, 2)
