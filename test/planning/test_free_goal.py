"""The goal of a free turn: the end of the plan that was made for it, the angle near what was asked for."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_log
from contact_mpc.planning import free_goal
from contact_mpc.planning.free_goal import NEAR_DEG, NEAR_MM, settle_goal
from contact_mpc.planning.methods import make_plan
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig, load_task


@pytest.fixture
def task() -> TaskConfig:
    task = load_task("allegro_ball")
    return replace(task, goal=replace(task.goal, angle_deg=15.0, is_free=True), axes=(), duration_s=1.0)


def test_a_plan_ends_at_the_goal_that_was_settled(task: TaskConfig) -> None:
    settled, plan = settle_goal(task)
    (R0, p0), (R1, p1) = settled.goal_pose(), settled.system.object_pose(plan.q[-1])
    assert np.rad2deg(np.linalg.norm(rotation_log(np.ascontiguousarray(R1 @ R0.T)))) < NEAR_DEG
    assert 1e3 * np.linalg.norm(p1 - p0) < NEAR_MM
    assert settled.goal.is_free and settled.goal.angle_deg == pytest.approx(15.0, abs=2.0)


def test_the_end_of_a_plan_that_misses_becomes_the_goal(task: TaskConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, asked = make_plan(task), []

    def miss(task: TaskConfig) -> Plan:
        asked.append(task.goal)
        return plan

    monkeypatch.setattr(free_goal, "make_plan", miss)
    far = replace(task, goal=replace(task.goal, translation_m=np.array([0.0, 0.0, 0.03])))
    settled, _ = settle_goal(far)
    assert len(asked) == 2 and asked[0] is far.goal
    ended = settled.system.object_pose(plan.q[-1])[1] - settled.system.object_pose(plan.q[0])[1]
    np.testing.assert_allclose(settled.goal.translation_m, ended, atol=1e-12)
