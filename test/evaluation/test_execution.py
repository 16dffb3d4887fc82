"""Plans executed in a plant: what starts elsewhere is refused, and success is that of the true object."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import PlanError
from contact_mpc.evaluation.execution import execute, task_of_plan
from contact_mpc.planning.plan_task import write_plan_task
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.task.plan import Plan


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("planar_pushing")


def resting_plan(problem: Problem, duration_s: float = 0.2) -> Plan:
    """Return a plan that leaves everything where it is."""
    q = np.tile(problem.configuration(problem.start_u, problem.start_a), (2, 1))
    u = q[:, problem.system.n_q_u :].copy()
    provenance = {**problem.system.provenance(), "seed": 0, "parameters": problem.file.model_dump(mode="json")}
    return Plan(np.array([0.0, duration_s]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)), provenance)


def test_goal_of_the_task_is_that_of_the_problem(problem: Problem) -> None:
    task = task_of_plan(problem, resting_plan(problem))
    R, p = task.goal_pose()
    R_goal, p_goal = problem.system.object_pose(problem.configuration(problem.goal_u))
    np.testing.assert_allclose(R, R_goal, atol=1e-12)
    np.testing.assert_allclose(p, p_goal, atol=1e-12)
    assert (task.tolerance_deg, task.tolerance_mm) == (3.0, 10.0)


@pytest.mark.parametrize("name", ["planar_pushing", "allegro_door"])
def test_an_execution_is_judged_as_the_task_that_runs_the_plan(name: str, tmp_path: Path) -> None:
    """One truth: goal, tolerances, hold and drop distance are those that `run --plan` and the nodes have."""
    problem = load_problem(name)
    plan = resting_plan(problem)
    judged, run = task_of_plan(problem, plan), write_plan_task(problem, plan, tmp_path / "task.yaml")
    for key in ("duration_s", "hold_s", "tolerance_deg", "tolerance_mm", "drop_distance_m"):
        assert getattr(judged, key) == getattr(run, key), key
    for one, other in zip(judged.goal_pose(), run.goal_pose(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_plan_that_cannot_be_played_counts_as_a_failure_of_its_own(problem: Problem) -> None:
    """A study of many goes on, and says why this one failed."""
    plan = resting_plan(problem)
    done = execute(problem, replace(plan, q=plan.q + 0.2), "played", "mujoco", 0, 0.0)
    assert not done.is_success and "from the start" in done.reason


def test_plan_that_starts_elsewhere_is_refused_with_the_distance(problem: Problem) -> None:
    plan = resting_plan(problem)
    q = plan.q.copy()
    q[:, 0] += 0.2  # of 0.5 m that count as 1 rad
    with pytest.raises(PlanError, match=r"0\.4 rad \(global metric, 1 rad is 0\.5 m\) from the start"):
        task_of_plan(problem, replace(plan, q=q))


def test_plan_may_start_as_far_away_as_grasping_may_move_the_object(problem: Problem) -> None:
    contacts = problem.file.contacts.model_copy(update={"hold_m": 0.5 * problem.file.rrt.length_m})
    loose = replace(problem, file=problem.file.model_copy(update={"contacts": contacts}))
    plan = resting_plan(problem)
    q = plan.q.copy()
    q[:, 0] += 0.2
    assert np.array_equal(task_of_plan(loose, replace(plan, q=q)).start_q, q[0])


def test_plan_of_another_system_is_refused(problem: Problem) -> None:
    with pytest.raises(PlanError, match="of system 'planar_pushing', not of 'planar_hand_ball'"):
        task_of_plan(load_problem("planar_hand_ball"), resting_plan(problem))


@pytest.mark.parametrize(
    ("key", "words"),
    [("version", "plan of planar_pushing: made by version 0.0.1 of this package"),
     ("system_digest", "made for another version of system 'planar_pushing'")],
)  # fmt: skip
def test_plan_of_another_version_is_refused(problem: Problem, key: str, words: str) -> None:
    plan = resting_plan(problem)
    old = replace(plan, provenance={**plan.provenance, key: "0.0.1"})
    with pytest.raises(PlanError, match=words):
        task_of_plan(problem, old)


@pytest.mark.parametrize(
    "way", ["played_once", "played_uncorrected", "played_as_planned", "playback", "tracked", "replanned", "corrected"]
)
def test_success_is_judged_by_the_true_object(problem: Problem, way: str) -> None:
    at_goal = with_goal(problem, {"box_x_m": 0.0, "box_y_m": 0.504, "box_turn_rad": 0.0})
    done = execute(at_goal, resting_plan(at_goal), way, "mujoco", 0, 0.0)
    assert done.is_success, done.reason
    assert done.position_error_mm == pytest.approx(4.0, abs=0.5)
    if way not in ("replanned", "corrected", "played_uncorrected"):  # they would grow trees
        missed = execute(problem, resting_plan(problem), way, "mujoco", 0, 0.0)
        assert not missed.is_success and "off" in missed.reason
