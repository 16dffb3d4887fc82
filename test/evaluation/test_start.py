"""A start counts only when it was held in physics and its plan was made."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.evaluation import start
from contact_mpc.evaluation.start import (
    LEAST_HELD,
    SPREAD_DEG,
    FoundStart,
    describe_start,
    find_start,
    turns_to_try_deg,
)
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.search import GraspCandidate
from contact_mpc.planning.start_posture import make_search
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


@pytest.mark.parametrize(
    ("asked_n", "given_n", "serves_n", "tried_n", "grip_n"),
    [
        (10.0, 10.0, 10.0, [10.0], None),  # the derived grip does
        (10.0, 10.0, 3.0, [10.0, 3.0], 3.0),  # it does not, a gentler one does
        (10.0, 10.0, 0.0, [10.0, 3.0], None),  # neither: the first is told of
        (10.0, 8.0, 3.0, [8.0], None),  # a grip that a task asks for is kept
        (3.0, 3.0, 0.0, [3.0], None),  # there is none that is gentler
    ],
)
def test_a_strong_grip_that_serves_no_turn_is_followed_by_a_gentle_one(
    task: TaskConfig, monkeypatch: pytest.MonkeyPatch, asked_n: float, given_n: float, serves_n: float,
    tried_n: list[float], grip_n: float | None,
) -> None:  # fmt: skip
    tried = []

    def find(task: TaskConfig, *_: object) -> FoundStart:
        tried.append(task.planner["minimum_force_n"])
        search = make_search(task, 0)
        search.best = candidate(task, 1.0)
        return FoundStart(search, "" if tried[-1] == serves_n else f"{tried[-1]:g} N do not do")

    monkeypatch.setattr(start, "find_with_grip", find)
    monkeypatch.setattr(start, "derive_planner", lambda *_: {"minimum_force_n": asked_n})
    found = find_start(replace(task, planner={"minimum_force_n": given_n}), samples=1)
    assert (tried, found.grip_n) == (tried_n, grip_n)
    assert found.search.minimum_force_n == (grip_n or given_n)
