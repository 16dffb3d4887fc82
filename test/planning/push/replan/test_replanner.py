"""What plans a push again: built from a task's name, refused where there is no push."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.control.controller import ControllerSetup
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.playback import Playback
from contact_mpc.errors import ConfigError, InputError
from contact_mpc.loop import controllers
from contact_mpc.planning.methods import make_replanner
from contact_mpc.planning.push.plan_file import PlanBuilder
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.replan.replanner import PushReplanner
from contact_mpc.planning.push.result import ContactImplicitResult
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.task import TaskConfig


def test_a_task_without_a_push_has_no_replanner() -> None:
    with pytest.raises(ConfigError, match="planar_hand_ball.yaml: no push; mode receding_horizon needs"):
        make_replanner("planar_hand_ball", 0.04)


def test_a_push_has_one_that_refuses_a_reference_in_which_nothing_moves(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    replanner = make_replanner("anypulator_block", 0.04)
    assert isinstance(replanner, PushReplanner)
    assert result.solution is not None
    plan = PlanBuilder(planner.model).build(instance, result.solution, {})
    resting = plan.q.copy()
    resting[:, : planner.model.system.n_q_u] = plan.q[0, : planner.model.system.n_q_u]
    with pytest.raises(InputError, match="the object does not move"):
        replanner.begin(type(plan)(**{**vars(plan), "q": resting}))


def test_a_search_in_vain_says_from_when_on_and_with_which_residuals(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    replanner, system = make_replanner("anypulator_block", 0.045), planner.model.system
    assert result.solution is not None
    plan = PlanBuilder(planner.model).build(instance, result.solution, {})
    replanner.begin(plan)
    rest = EstimatedState(0, plan.q[0], np.zeros(system.n_v), np.zeros(system.n_a), np.zeros((4, 4)))
    started = replanner.replan(-0.5, rest)
    assert isinstance(started, tuple) and started[0] == 0.0
    astray = plan.q[0].copy()
    astray[system.n_q_u] += 1.2
    reason = replanner.replan(0.15, replace(rest, q=astray))
    assert isinstance(reason, str)
    assert reason.startswith("from 0.231 s on: no solution from this state: keep the plan (no start converged")
    assert "complementarity" in reason
    assert replanner.replan(0.15, replace(rest, q=plan.q[4])) is not None, "it goes on from the plan that is kept"


def test_only_receding_horizon_asks_for_a_replanner(task: TaskConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(controllers, "make_replanner", lambda *given: asked.append(given))
    for name in ("playback", "receding_horizon"):
        config = TrackerConfig(controller=name, task="anypulator_block", plan_delay_s=0.045)
        assert isinstance(controllers.make_controller(ControllerSetup(task.system, config)).inner, Playback)
    assert asked == [("anypulator_block", 0.045)]
