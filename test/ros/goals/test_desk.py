"""What the desk does with goals, without ROS: a search that answers when the test says so, and an object that obeys."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.ros.goals.desk import GoalDesk
from contact_mpc.ros.goals.goal import HandOver, ObjectGoal
from contact_mpc.ros.goals.search import SearchRequest, SearchResult
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

TASK = replace(load_task("planar_hand_ball"), hold_s=1.0)
SYSTEM = TASK.system
MS = 1_000_000
STEP_NS = 50 * MS


class FakeSearch:
    """Answers with a straight plan, or a reason, after `delay` polls."""

    def __init__(self, delay: int = 2) -> None:
        self.asked: list[SearchRequest] = []
        self.delay, self.reason = delay, ""
        self._left = -1

    @property
    def is_busy(self) -> bool:
        return self._left >= 0

    def ask(self, request: SearchRequest) -> None:
        assert not self.is_busy
        self.asked.append(request)
        self._left = self.delay

    def poll(self) -> SearchResult | None:
        self._left -= self._left >= 0
        if self._left != 0:
            return None
        self._left = -1
        request = self.asked[-1]
        if self.reason:
            return SearchResult(request.number, None, self.reason)
        q = np.array([request.q, request.q])
        q[1, : SYSTEM.n_q_u] = SYSTEM.q_from_object_pose(request.R, request.p, request.q)
        times_s, u = np.array([0.0, 2.0]), np.array([request.u, request.u + 0.01])
        return SearchResult(request.number, Plan(times_s, q, u, np.zeros_like(u), np.zeros((2, 0, 3))))


class World:
    """An object that is where the reference says."""

    def __init__(self, delay: int = 2) -> None:
        self.search = FakeSearch(delay)
        self.desk = GoalDesk(TASK, self.search)
        self.t_ns, self.q, self.u = 10**9, TASK.start_q.copy(), TASK.start_u.copy()
        self.reference: HandOver | None = None
        self.seen: list[str] = []
        self.jump = 0.0

    def run(self, duration_s: float, status: str = "ok", unseen: str = "") -> "World":
        for _ in range(round(duration_s * 1e9 / STEP_NS)):
            self.t_ns += STEP_NS
            self._move()
            handed = self.desk.update(self.t_ns, self.q, self.u, status, unseen)
            if handed is not None:
                self.take(handed)
            if not self.seen or self.seen[-1] != self.desk.ledger.state:
                self.seen.append(self.desk.ledger.state)
        return self

    def take(self, handed: HandOver) -> None:
        self.reference = handed
        before = self.q.copy()
        self._move()
        self.jump = max(self.jump, float(np.abs(self.q - before).max()))

    def _move(self) -> None:
        if self.reference is not None and self.reference.plan is not None:
            t_s = (self.t_ns - self.reference.start_ns) * 1e-9
            self.q = self.reference.plan.sample_q(SYSTEM, t_s)
            self.u = self.reference.plan.sample_u(t_s)


def turned(degrees: float, stamp: int = 1) -> ObjectGoal:
    R, p = SYSTEM.object_pose(TASK.start_q)
    axis = TASK.goal.axis_W
    return ObjectGoal(stamp, rotation_exp(axis * np.deg2rad(degrees)) @ R, p)


def test_a_goal_is_searched_from_the_measured_state_and_reached() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    assert world.desk.ledger.state == "searching"
    np.testing.assert_array_equal(world.search.asked[0].q, world.q)
    world.run(4.0)
    assert world.seen[-2:] == ["moving", "reached"] and world.desk.way.progress == 1.0
    assert world.desk.way.angle_deg < 0.1


def test_the_next_way_is_searched_at_the_speed_that_is_asked_for() -> None:
    world = World().run(0.1)
    world.desk.speed_share = 0.5
    world.desk.take_goal(turned(20.0))
    assert world.search.asked[0].speed_share == 0.5


def test_before_there_is_an_estimate_a_goal_is_refused() -> None:
    desk = GoalDesk(TASK, FakeSearch())
    desk.take_goal(turned(20.0))
    assert desk.ledger.state == "refused" and "no estimate" in desk.ledger.message


def test_a_goal_that_cannot_be_held_is_refused_with_its_margin_and_nothing_moves() -> None:
    world = World().run(0.1)
    world.search.reason = "it would take a friction of at least 0.70"
    world.desk.take_goal(turned(80.0))
    world.run(1.0)
    assert world.desk.ledger.state == "refused" and "friction of at least 0.70" in world.desk.ledger.message
    assert world.reference is None


def test_a_new_goal_takes_over_in_motion_without_a_jump() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(0.6)
    first = world.reference
    assert world.desk.ledger.state == "moving" and first is not None and first.plan is not None
    world.desk.take_goal(turned(-10.0, 2))
    world.run(0.5)
    assert world.desk.ledger.state == "moving" and world.reference is not None
    assert world.reference.start_ns != first.start_ns  # halves of references are told apart by their stamps
    assert world.search.asked[1].q[: SYSTEM.n_q_u] != pytest.approx(world.search.asked[0].q[: SYSTEM.n_q_u])
    assert world.jump < 1e-6
    world.run(6.0)
    assert world.desk.ledger.state == "reached" and world.desk.ledger.counts["replaced"] == 1


def test_a_search_that_is_late_for_its_switch_is_made_again_with_more_time() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(0.4)
    world.search.delay = 25  # 1.25 s, while the first guess is 1 s at most
    world.desk.take_goal(turned(-10.0, 2))
    world.run(8.0)
    assert len(world.search.asked) >= 3 and world.jump < 1e-9
    assert world.desk.ledger.state == "reached" and world.desk.way.angle_deg < 0.1


def test_goals_at_a_high_rate_are_searched_one_at_a_time_and_the_last_is_reached() -> None:
    world = World(delay=4).run(0.1)
    for k in range(200):
        world.desk.take_goal(turned(0.1 * k, k))
        if k % 5 == 0:
            world.run(0.05)
    assert len(world.search.asked) < 15 and world.desk.ledger.counts["goals"] == 200
    world.run(8.0)
    assert world.desk.ledger.state == "reached" and world.desk.ledger.goal_ns == 199


def test_a_cancelled_motion_comes_to_rest_and_what_was_searched_is_forgotten() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(1.0)
    world.desk.take_goal(turned(-10.0, 2))
    handed = world.desk.cancel()
    assert handed is not None and handed.plan is not None
    world.take(handed)
    before = world.q.copy()
    world.run(2.0)
    assert world.desk.ledger.state == "cancelled" and world.jump < 1e-9
    moved = np.abs(world.q - before)[: SYSTEM.n_q_u].max()
    assert 0.0 < moved < np.deg2rad(10.0) * 0.5
    world.desk.take_goal(turned(5.0, 3))
    assert world.run(5.0).desk.ledger.state == "reached"


def test_a_hold_follows_nothing_until_the_next_goal() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(0.5)
    assert world.desk.hold().plan is None and world.desk.ledger.state == "holding"
    world.reference = None
    world.desk.take_goal(turned(10.0, 2))
    assert world.run(5.0).desk.ledger.state == "reached"


def test_a_search_that_ends_after_a_hold_hands_nothing_over() -> None:
    world = World(delay=10).run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(0.2)
    assert world.search.is_busy
    assert world.desk.hold().plan is None and world.search.is_busy
    assert world.run(2.0).reference is None and not world.search.is_busy
    assert world.desk.ledger.state == "holding"


def test_an_object_that_the_tracker_has_lost_is_named() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(1.0)
    world.run(0.2, status="object_lost")
    assert world.desk.ledger.state == "lost" and "object_lost" in world.desk.ledger.message


def test_what_is_no_goal_leaves_the_one_that_is_gone_to() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(0.5)
    world.desk.ledger.refuse(5, "pose is not finite")
    assert world.desk.ledger.state == "moving" and world.desk.ledger.refused_ns == 5
    assert world.run(4.0).desk.ledger.state == "reached"


def test_a_goal_that_is_reached_is_reached_again_but_not_once_the_object_has_drifted_off() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(4.0)
    world.desk.take_goal(turned(20.0, 2))
    assert world.desk.ledger.state == "reached" and world.desk.ledger.counts["reached"] == 2
    drifted = World().run(0.1)
    drifted.desk.take_goal(turned(20.0))
    drifted.run(4.0)
    drifted.reference, drifted.q = None, TASK.start_q.copy()
    drifted.run(0.1)
    drifted.desk.take_goal(turned(20.0, 2))
    assert drifted.desk.ledger.state == "searching"


def test_an_object_that_nobody_sees_has_arrived_nowhere() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(1.5)
    world.run(4.0, unseen="the estimate is pose_stale")
    assert world.desk.ledger.state == "missed" and "pose_stale" in world.desk.ledger.message


def test_no_way_begins_at_an_object_that_nobody_sees() -> None:
    world = World().run(0.1).run(0.1, unseen="the estimate is pose_stale")
    world.desk.take_goal(turned(20.0))
    assert world.desk.ledger.state == "refused" and "pose_stale" in world.desk.ledger.message
    seen = World(delay=4).run(0.1)
    seen.desk.take_goal(turned(20.0))  # searched while it was seen, found when it was not
    seen.run(1.0, unseen="the estimate is pose_stale")
    assert seen.desk.ledger.state == "refused" and seen.reference is None


def test_a_silent_estimator_loses_the_goal_and_the_next_is_searched_once_it_speaks() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(1.0)
    world.desk.lose("no new estimate of the object for 3 s")
    assert world.desk.ledger.state == "lost" and "no new estimate" in world.desk.ledger.message
    world.desk.lose("no new estimate of the object for 3 s")
    assert world.desk.ledger.counts["lost"] == 1
    world.desk.take_goal(turned(10.0, 2))
    assert world.desk.ledger.state == "refused"
    world.reference = None
    world.run(0.1)
    world.desk.take_goal(turned(10.0, 3))
    assert world.run(5.0).desk.ledger.state == "reached"


def test_a_search_knows_the_way_from_the_start_until_the_reference_is_lost() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(4.0)
    world.desk.take_goal(turned(-10.0, 2))
    first, second = (request.trail for request in world.search.asked[:2])
    assert first is not None and len(first.q) == 1 and second is not None
    assert np.abs(second.u[-1] - world.u).max() < 0.02 and len(second.q) == len(second.u)
    world.run(1.0, status="object_lost")
    world.desk.take_goal(turned(5.0, 3))
    assert world.search.asked[-1].trail is None


def test_a_goal_that_was_given_up_has_no_error_to_go() -> None:
    world = World().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(1.0)
    world.desk.cancel()
    assert np.isnan(world.run(0.1).desk.way.angle_deg)


class GoesAlone(World):
    """A desk of a task with new grasps; its object turns to the reference's last pose at 20 deg/s, as it pleases."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = GoalDesk(replace(TASK, planner={"method": "regrasp"}, duration_s=40.0), self.search)

    def _move(self) -> None:
        if self.reference is not None and self.reference.plan is not None and self.t_ns > self.reference.start_ns:
            left = SYSTEM.difference(self.q, self.reference.plan.q[-1])
            step = np.deg2rad(20.0) * STEP_NS * 1e-9
            self.q = SYSTEM.integrate(self.q, left * min(1.0, step / max(np.abs(left).max(), 1e-12)))


def test_a_controller_that_goes_alone_gets_a_goal_at_once_and_is_told_to_stay_where_it_has_arrived() -> None:
    world = GoesAlone().run(0.1)
    world.desk.take_goal(turned(20.0))
    world.run(3.0)
    assert world.seen[-2:] == ["moving", "reached"]
    assert world.reference is not None and world.reference.plan is not None
    np.testing.assert_array_equal(world.reference.plan.q[0], world.reference.plan.q[-1])


def test_a_new_goal_reaches_a_controller_that_goes_alone_from_the_measured_state() -> None:
    world = GoesAlone().run(0.1)
    world.desk.take_goal(turned(40.0))
    world.run(1.0)
    world.desk.take_goal(turned(-10.0, 2))
    np.testing.assert_array_equal(world.search.asked[1].q, world.q)
    assert world.run(6.0).desk.ledger.state == "reached" and world.desk.ledger.counts["replaced"] == 1


def test_a_cancelled_controller_that_goes_alone_stays_where_it_is() -> None:
    world = GoesAlone().run(0.1)
    world.desk.take_goal(turned(40.0))
    world.run(1.0)
    before = world.q.copy()
    handed = world.desk.cancel()
    assert handed is not None and handed.plan is not None
    np.testing.assert_array_equal(handed.plan.q[-1], before)
    assert world.desk.ledger.state == "cancelled" and GoesAlone().desk.cancel() is None


def test_who_goes_alone_is_not_given_up_for_a_moment_without_a_plan_but_where_there_is_no_way() -> None:
    world = GoesAlone().run(0.1)
    world.desk.take_goal(turned(40.0))
    world.run(0.5)
    assert world.run(0.1, status="model_failed").desk.ledger.state == "moving"
    assert world.run(0.1, status="no_segment").desk.ledger.state == "lost"


@pytest.mark.parametrize(("fall_m", "state"), [(0.03, "moving"), (0.06, "lost")])
def test_a_goal_of_who_goes_alone_is_lost_where_the_object_was_dropped(fall_m: float, state: str) -> None:
    """Nothing is followed after that, so that the bridge holds; the next goal is searched from where the object is."""
    world = GoesAlone().run(0.1)
    world.desk.take_goal(turned(40.0))
    world.run(0.5)
    R, p = SYSTEM.object_pose(world.q)
    world.q[: SYSTEM.n_q_u] = SYSTEM.q_from_object_pose(R, p - np.array([0.0, 0.0, fall_m]), world.q)
    world.reference = None  # it lies where it fell
    assert world.run(0.3).desk.ledger.state == "moving"  # one estimate is no drop
    world.run(1.2)
    assert world.desk.ledger.state == state
    if state == "lost":
        assert "dropped: 60 mm off its way (allowed 50 mm)" in world.desk.ledger.message
        assert world.reference is not None and world.reference.plan is None
        world.desk.take_goal(turned(10.0, 2))
        np.testing.assert_array_equal(world.search.asked[-1].q, world.q)
