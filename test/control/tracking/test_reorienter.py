"""Segments one after the other: tracked or played back, planned from the state that is there."""

import numpy as np
import pytest

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import BAD_STATE, NO_REFERENCE, OK, Reference
from contact_mpc.control.tracking.reorienter import NO_SEGMENT, PLANNING, REGRASPING, Reorienting
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import SEARCHING, Segment
from contact_mpc.task.task import TaskConfig, load_task

CONFIG = TrackerConfig(controller="reorient", horizon_steps=2)
START_NS, PERIOD_NS = 1_000_000_000, 50_000_000


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return load_task("planar_hand_ball")


class Planner:
    """Hands out segments and keeps what it was asked."""

    def __init__(self, segments: list[Segment | None]) -> None:
        self.segments, self.asked = segments, []

    def begin(self, plan: Plan) -> None:
        self.goal = plan.q[-1]

    def next_segment(self, q: np.ndarray, u: np.ndarray) -> Segment | None:
        self.asked.append((q.copy(), u.copy()))
        return self.segments.pop(0) if self.segments else None


def rest(task: TaskConfig, duration_s: float, offset_rad: float = 0.0) -> Plan:
    u = np.array([task.start_u, task.start_u + offset_rad])
    return Plan(np.array([0.0, duration_s]), np.tile(task.start_q, (2, 1)), u, 0.0 * u, np.zeros((2, 0, 3)))


def run(task: TaskConfig, segments: list[Segment | None], count: int, broken_at: int = -1, thrown_at: int = 1000):
    planner = Planner(segments)
    controller = Reorienting(task.system, CONFIG, planner)
    controller.set_reference(Reference(START_NS, rest(task, 1.0)))
    outputs = []
    for k in range(count):
        q = np.full_like(task.start_q, np.nan) if k == broken_at else task.start_q.copy()
        q[0] += 2.0 if k >= thrown_at else 0.0  # m
        covariance = np.eye(task.system.n_v_u)
        state = EstimatedState(
            START_NS + (k - 1) * PERIOD_NS, q, np.zeros(task.system.n_v), np.zeros(task.system.n_a), covariance
        )
        outputs.append(controller.step(state))
    return planner, outputs


def test_segments_follow_each_other_with_continuous_commands(task: TaskConfig) -> None:
    played, tracked = Segment(rest(task, 0.2, 0.01), is_tracked=False), Segment(rest(task, 0.2, 0.01))
    planner, outputs = run(task, [played, tracked], 24)
    statuses = [output.status for output in outputs]
    assert statuses[0] == NO_REFERENCE  # before the start
    assert statuses[1:11] == [REGRASPING] * 10 and statuses[11:] == [OK] * 13  # 0.2 s and 0.3 s to settle
    assert np.allclose(planner.asked[1][1], task.start_u + 0.01)  # the next is planned from the command in force
    assert np.allclose(outputs[11].plan.u[0], task.start_u + 0.01)
    assert len(planner.asked) >= 3  # having arrived it rests, and looks again


def test_while_another_process_searches_the_joints_rest_at_the_command_it_was_asked_under(task: TaskConfig) -> None:
    moved = Segment(rest(task, 0.2, 0.01), is_tracked=False)
    planner, outputs = run(task, [SEARCHING, SEARCHING, moved, SEARCHING, SEARCHING, SEARCHING, None], 23)
    statuses = [output.status for output in outputs]
    assert statuses[1:13] == [PLANNING] * 2 + [REGRASPING] * 10
    assert statuses[13:17] == [PLANNING] * 3 + [REGRASPING]
    for output in outputs[1:3]:
        assert np.array_equal(output.plan.u, np.tile(task.start_u, (len(output.plan.u), 1)))
    held = planner.asked[3][1]
    assert np.allclose(held, task.start_u + 0.01) and all(np.array_equal(u, held) for _q, u in planner.asked[3:7])
    for output in outputs[13:]:
        assert np.array_equal(output.plan.u, np.tile(held, (len(output.plan.u), 1)))
    assert len(planner.asked) == 8  # at the goal it looks again after 0.3 s, not at every step


def test_without_a_segment_it_holds_and_says_why(task: TaskConfig) -> None:
    _planner, outputs = run(task, [Segment(None, reason="no grasp")], 4)
    assert all(output.plan.is_hold for output in outputs)
    assert outputs[-1].status == f"{NO_SEGMENT}: no grasp"


def test_object_that_is_lost_while_a_plan_is_searched_is_held_not_followed(task: TaskConfig) -> None:
    """The search ends with a segment from where the object was; by then it is elsewhere, and no segment leads on."""
    search = [Segment(rest(task, 1.0)), Segment(None, reason="the object is lost")]
    planner, outputs = run(task, search, 6, thrown_at=2)
    assert [output.status for output in outputs[:2]] == [NO_REFERENCE, OK]
    assert all(output.plan.is_hold and "the object is lost" in output.status for output in outputs[2:])
    assert len(planner.asked) == 2


def test_an_unusable_state_gives_no_command(task: TaskConfig) -> None:
    _planner, outputs = run(task, [Segment(rest(task, 1.0))], 4, broken_at=2)
    assert [output.status for output in outputs] == [NO_REFERENCE, OK, BAD_STATE, OK]
    assert outputs[2].plan.is_hold
