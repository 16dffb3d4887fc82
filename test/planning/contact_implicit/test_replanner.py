"""What plans a push again: built from a task's name, refused where there is no push."""

import pytest

from contact_mpc.control.controllers import build_tracker
from contact_mpc.control.playback import Playback
from contact_mpc.control.reorienting import SegmentPlanner
from contact_mpc.control.tracker_config import TrackerConfig
from contact_mpc.errors import ConfigError, InputError
from contact_mpc.model.task import TaskConfig
from contact_mpc.planning.contact_implicit.instance import Instance
from contact_mpc.planning.contact_implicit.plan_file import PlanBuilder
from contact_mpc.planning.contact_implicit.planner import ContactImplicitPlanner
from contact_mpc.planning.contact_implicit.replanner import PushReplanner
from contact_mpc.planning.contact_implicit.result import ContactImplicitResult
from contact_mpc.planning.task_plan import make_replanner


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


def no_segments(_task: str) -> SegmentPlanner:
    raise AssertionError("asked for a planner of segments")


def test_only_the_mode_receding_horizon_asks_for_a_replanner(task: TaskConfig) -> None:
    asked = []
    for mode in ("playback", "receding_horizon"):
        config = TrackerConfig(mode=mode, task="anypulator_block", plan_delay_s=0.045)
        tracker = build_tracker(task.system, config, lambda *given: asked.append(given), no_segments)
        assert isinstance(tracker, Playback)
    assert asked == [("anypulator_block", 0.045)]
