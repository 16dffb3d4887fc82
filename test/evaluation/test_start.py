"""A start counts only when it was held in physics and its plan was made."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.evaluation.start import LEAST_HELD, SPREAD_DEG, describe_start, turns_to_try_deg
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.search import GraspCandidate
from contact_mpc.task.task import TaskConfig, load_task


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return replace(load_task("allegro_ball"), axes=("+z",))


def candidate(task: TaskConfig, held: float, fraction: float = 1.0) -> GraspCandidate:
    grasp = compute_grasp(task.system, task.start_q, 3.0, 0.4)
    return GraspCandidate(task.start_q, replace(grasp, u=task.start_u), (fraction,), 0.2, 0.5, 1.0, held)


def test_a_start_that_is_held_and_planned_from_counts(task: TaskConfig) -> None:
    assert describe_start(task, candidate(task, 1.0)) == ""


def test_a_start_that_lets_the_object_go_does_not(task: TaskConfig) -> None:
    assert "keep the object in 50 % of" in describe_start(task, candidate(task, LEAST_HELD - 0.25))


def test_a_start_whose_fingers_stop_on_the_way_does_not(task: TaskConfig) -> None:
    assert "roll along 40 % of the way" in describe_start(task, candidate(task, np.nan, 0.4))


def test_turns_are_tried_where_a_task_without_start_has_no_ball() -> None:
    ball, cube = load_task("allegro_ball"), load_task("allegro_cube")
    tasks = (ball, cube, replace(ball, has_start=False), replace(cube, has_start=False))
    assert [turns_to_try_deg(item) for item in tasks] == [0.0, 0.0, 0.0, SPREAD_DEG]
