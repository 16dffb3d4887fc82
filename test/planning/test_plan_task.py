"""The task of a tree's plan starts where the plan starts and is judged by the goal that the plan was made for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.cli.run.problem_plan import ProblemRun, is_problem_plan, task_of_problem
from contact_mpc.errors import PlanError
from contact_mpc.planning.parts import plan_of_turns
from contact_mpc.planning.plan_task import (
    STARTS_M,
    STARTS_RAD,
    problem_of_plan,
    require_start,
    start_offset,
    write_plan_task,
)
from contact_mpc.planning.tree.plan import provenance
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

ROUNDING = 1e-9  # rad, m: a start through roll, pitch, yaw and the text of a YAML


def standing_plan(problem: Problem) -> Plan:
    """A plan of two rows at the problem's start; what makes a task of it reads its ends and its provenance alone."""
    system = problem.system
    u = np.clip(system.q_default[system.n_q_u :], system.q_min, system.q_max)
    q = problem.configuration(problem.start_u)
    return Plan(
        np.array([0.0, 2.5]), np.stack([q, q]), np.stack([u, u]), np.zeros((2, system.n_a)), np.zeros((2, 1, 3)),
        provenance(problem, (), 7),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["planar_pushing", "allegro_door", "allegro_plate", "iiwa_bimanual_box"])
def test_task_starts_at_the_plans_start_and_ends_at_the_problems_goal(name: str, tmp_path: Path) -> None:
    problem = load_problem(name)
    plan = standing_plan(problem)
    task = write_plan_task(problem, plan, tmp_path / "task.yaml", hold_s=1.0)
    assert max(start_offset(task, plan)) < ROUNDING
    R, p = problem.system.object_pose(problem.configuration(problem.goal_u))
    R_task, p_task = task.goal_pose()
    np.testing.assert_allclose(R_task, R, atol=ROUNDING)
    np.testing.assert_allclose(p_task, p, atol=ROUNDING)
    assert (task.duration_s, task.hold_s, task.name) == (2.5, 1.0, name)


def test_goal_is_the_one_that_the_plan_was_made_for_not_the_files(tmp_path: Path) -> None:
    problem = load_problem("planar_pushing")
    name = next(iter(problem.file.objects))
    other = with_goal(problem, {name: float(problem.file.objects[name].start)})
    found = problem_of_plan("planar_pushing", standing_plan(other))
    assert found.file.objects[name].goal == other.file.objects[name].goal != problem.file.objects[name].goal


def test_position_is_judged_only_where_a_coordinate_is_a_distance(tmp_path: Path) -> None:
    door, pushing = (load_problem(name) for name in ("allegro_door", "planar_pushing"))
    assert write_plan_task(door, standing_plan(door), tmp_path / "door.yaml").tolerance_mm == 1000.0
    assert write_plan_task(pushing, standing_plan(pushing), tmp_path / "push.yaml").tolerance_mm <= 10.0


def test_a_plan_file_of_a_tree_becomes_a_task_in_the_folder_of_the_run(tmp_path: Path) -> None:
    problem = load_problem("planar_pushing")
    plan, path = standing_plan(problem), tmp_path / "plan.npz"
    assert is_problem_plan(plan)
    run = ProblemRun("planar_pushing", method=None, seed=0, hold_s=None, stored=(path, plan))
    task = task_of_problem(run, plan, path, tmp_path)
    assert task.path == (tmp_path / "task.yaml").resolve()
    assert task.has_open_end and task.reference is not None
    assert task.reference.plan_file == str(path.resolve())
    assert problem_of_plan(task.planner["problem"], plan).path == problem.path
    assert task.duration_s == problem.file.parts.longest_s(2.5) > 2.5  # what misses is planned again


def test_an_object_may_be_behind_a_plan_that_waits_by_its_whole_way(tmp_path: Path) -> None:
    problem = load_problem("planar_pushing")
    plan = standing_plan(problem)
    q = plan.q.copy()
    q[1, : problem.system.n_q_u] = problem.goal_u
    moving = replace(plan, q=q)
    way_m = np.linalg.norm(problem.system.object_pose(q[1])[1] - problem.system.object_pose(q[0])[1])
    task = write_plan_task(problem, moving, tmp_path / "task.yaml", plan_file=tmp_path / "plan.npz")
    assert task.drop_distance_m == pytest.approx(problem.file.parts.drop_distance_m + way_m)
    assert not write_plan_task(problem, moving, tmp_path / "played.yaml").has_open_end


def test_nodes_turn_by_what_made_a_plan_of_turns(tmp_path: Path) -> None:
    problem = load_problem("allegro_ball")
    task = write_plan_task(problem, plan_of_turns(problem), tmp_path / "task.yaml")
    turning = load_task("allegro_ball_so3")
    assert (task.name, task.planner) == (turning.name, turning.planner)
    assert task.goal.angle_deg == pytest.approx(180.0)
    grown = standing_plan(problem)  # by a tree: its grips lose the ball
    ran = write_plan_task(problem, grown, tmp_path / "grown.yaml", plan_file=tmp_path / "plan.npz")
    assert (ran.name, ran.has_open_end) == (turning.name, True)
    assert write_plan_task(problem, grown, tmp_path / "played.yaml").name == "allegro_ball"


def test_a_plan_of_another_method_starts_where_its_task_starts(tmp_path: Path) -> None:
    plan = standing_plan(load_problem("planar_pushing"))
    with pytest.raises(PlanError, match="by 'trajopt' starts where its task does"):
        problem_of_plan("planar_pushing", replace(plan, provenance={"planner": "trajopt"}))


@pytest.mark.parametrize(
    ("column", "offset", "words"),
    [(-1, 10.0 * STARTS_RAD, "starts 0.2 rad and 0 mm away"), (0, 10.0 * STARTS_M, "starts 0 rad and 20 mm away")],
)
def test_a_plan_that_starts_elsewhere_is_refused_with_its_distance(column: int, offset: float, words: str) -> None:
    """Turns are compared with turns, and ways with ways: 20 mm are too far although 0.02 rad are not."""
    task = load_task("planar_hand_ball")
    rows = np.stack([task.start_q, task.start_q])
    rows[:, column] += offset
    u = np.stack([task.start_u, task.start_u])
    plan = Plan(np.array([0.0, 1.0]), rows, u, np.zeros_like(u), np.zeros((2, 1, 3)))
    with pytest.raises(PlanError, match=words):
        require_start(task, plan, "plan.npz")
