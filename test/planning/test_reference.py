"""The reference of a task: stored, or grown from the task's own start and stretched to its duration."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.planning.reference import make_reference
from contact_mpc.settings.resources import resource
from contact_mpc.task.plan import save_plan
from contact_mpc.task.task import ReferenceConfig, TaskConfig, load_task


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    """Turn by 45 degrees, planned as a tree."""
    base = load_task("planar_hand_ball")
    return replace(base, duration_s=60.0, reference=ReferenceConfig(problem="planar_hand_ball", seed=0))


def test_grown_reference_starts_and_ends_where_the_task_does(task: TaskConfig, tmp_path: Path) -> None:
    plan, system = make_reference(task), task.system
    assert plan.q[0] == pytest.approx(task.start_q) and plan.u[0] == pytest.approx(task.start_u)
    assert plan.times_s[-1] == pytest.approx(task.duration_s)
    wanted = system.q_from_object_pose(*task.goal_pose(), task.start_q)
    assert abs(plan.q[-1, 2] - wanted[2]) <= np.deg2rad(task.tolerance_deg) + np.deg2rad(1.0)
    save_plan(tmp_path / "stored.npz", plan)
    stored = replace(task, reference=ReferenceConfig(plan_file=str(tmp_path / "stored.npz")))
    assert np.array_equal(make_reference(stored).u, plan.u)
    elsewhere = replace(stored, start_q=task.start_q + 0.01)
    with pytest.raises(PlanError, match="away from the start of"):
        make_reference(elsewhere)


def test_a_duration_too_short_is_refused_with_what_the_plan_needs(task: TaskConfig) -> None:
    with pytest.raises(PlanError, match=r"duration_s = 0.5; the plan takes \d+\.\d s at least"):
        make_reference(replace(task, duration_s=0.5))


def test_a_problem_of_another_system_is_refused(task: TaskConfig) -> None:
    with pytest.raises(PlanError, match="is of system 'allegro_ball', not the task's"):
        make_reference(replace(task, reference=ReferenceConfig(problem="allegro_ball")))


def test_a_reference_names_one_source(tmp_path: Path) -> None:
    both = "reference: {problem: planar_hand_ball, plan_file: a.npz}\n"
    text = resource("tasks", "planar_hand_ball").read_text() + both
    path = tmp_path / "task.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="give either plan_file or problem"):
        load_task(path)
