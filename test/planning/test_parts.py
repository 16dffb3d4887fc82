"""Parts of a long way: of trees, or turns of the grasp that a problem names."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.loop.parts.confirmation import MujocoConfirmation
from contact_mpc.planning.parts import make_parts, plan_of_samples, plan_of_turns, turning_task
from contact_mpc.planning.reorient.segments import ReorientationPlanner
from contact_mpc.planning.sampled.segments import SampledSegments
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.planning.tree.segments import TreeSegments
from contact_mpc.task.task import load_task


def with_turns(problem: Problem, name: str | None) -> Problem:
    return replace(problem, file=problem.file.model_copy(update={"turns": name}))


def test_a_problem_that_names_turns_has_them_and_any_other_has_trees() -> None:
    ball = load_problem("allegro_ball")
    assert isinstance(make_parts(ball), ReorientationPlanner)
    assert isinstance(make_parts(with_turns(ball, None)), TreeSegments)


def test_turns_begin_where_their_task_does_and_end_at_the_problems_goal() -> None:
    problem = with_goal(load_problem("allegro_ball"), {"ball_yaw_rad": 1.0})
    plan = plan_of_turns(problem)
    task = load_task("allegro_ball_so3")
    np.testing.assert_array_equal(plan.q[0], task.start_q)
    assert max(problem.errors(plan.q[-1])) < 1e-6
    turned_deg, moved_mm = problem.errors(plan.q[0])
    assert turned_deg == pytest.approx(np.rad2deg(1.0)) and moved_mm < problem.file.tolerance_mm


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        (None, "no key `turns`"),
        ("allegro_ball", "task of system 'allegro_ball' with planner.method 'trajopt'"),
        ("planar_hand_ball_180", "task of system 'planar_hand_ball' with planner.method 'regrasp'"),
    ],
)
def test_turns_of_another_hand_or_method_are_refused(turns: str | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        turning_task(with_turns(load_problem("allegro_ball"), turns))


def test_a_task_that_is_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        turning_task(with_turns(load_problem("allegro_ball"), "nowhere"))


def test_a_problem_of_random_motions_has_them_where_there_is_an_engine_to_roll_them_out() -> None:
    pen = load_problem("allegro_pen")
    assert isinstance(make_parts(pen, MujocoConfirmation(pen.system)), SampledSegments)
    assert isinstance(make_parts(pen), TreeSegments)


def test_random_motions_begin_at_the_problems_start_and_go_to_the_goal_that_was_asked_for() -> None:
    problem = with_goal(load_problem("allegro_pen"), {"pen_yaw_rad": 0.5})
    plan = plan_of_samples(problem, 7)
    np.testing.assert_array_equal(plan.q[0, : problem.system.n_q_u], problem.start_u)
    assert plan.provenance["seed"] == 7 and plan.provenance["parameters"]["objects"]["pen_yaw_rad"]["goal"] == 0.5
    with pytest.raises(ConfigError, match="no section `sampled`"):
        plan_of_samples(load_problem("allegro_door"))
