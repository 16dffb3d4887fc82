"""Planners by name: a task's own by its file, and what is no push, no regrasp or no planner is refused."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.planning.methods import (
    PLANNERS,
    is_problem,
    is_push,
    make_replanner,
    make_segment_planner,
    planner_of,
)
from contact_mpc.planning.reorient.segments import make_goal_plan
from contact_mpc.planning.tree.segments import TreeSegments
from contact_mpc.settings.resources import resource
from contact_mpc.task.segment import Segment
from contact_mpc.task.task import load_task


@pytest.mark.parametrize(
    ("task", "name"),
    [("allegro_ball", "trajopt"), ("anypulator_block", "contact_implicit"), ("allegro_ball_so3", "regrasp")],
)
def test_the_file_of_a_task_names_its_planner(task: str, name: str) -> None:
    assert planner_of(load_task(task)) == name and name in PLANNERS


def test_segments_begin_at_the_start_of_the_task_that_is_given_not_at_that_of_its_file() -> None:
    """A start that is being tried is in no file yet: from it comes a turn, from elsewhere a new grasp."""
    shipped = load_task("planar_hand_ball_180")
    q = shipped.start_q + 0.01 * (np.arange(shipped.system.n_q) == 1)  # the disc, 1 cm along y
    tried = replace(shipped, start_q=q)
    for given, is_turn in ((tried, True), ("planar_hand_ball_180", False)):
        planner = make_segment_planner(given)
        planner.begin(make_goal_plan(shipped))
        segment = planner.next_segment(q, shipped.start_u)
        assert isinstance(segment, Segment) and segment.is_tracked == is_turn


def test_an_unknown_planner_is_refused_with_those_that_there_are() -> None:
    task = load_task("allegro_ball")
    with pytest.raises(ConfigError, match="trajopt"):
        planner_of(replace(task, planner={**task.planner, "method": "magic"}))


def test_pushes_alone_are_planned_again_and_turns_alone_by_segments() -> None:
    assert is_push(load_task("anypulator_block")) and not is_push(load_task("allegro_ball"))
    with pytest.raises(ConfigError, match="no push"):
        make_replanner("allegro_ball", 0.1)
    with pytest.raises(ConfigError, match="mode reorient needs planner.method: regrasp"):
        make_segment_planner("allegro_ball")


def test_a_planning_problem_is_known_by_its_file() -> None:
    path = str(resource("planning", "planar_hand_ball"))
    assert is_problem(path) and not is_problem(str(resource("tasks", "allegro_ball"))) and not is_problem("no_file")
    assert isinstance(make_segment_planner(path), TreeSegments)
