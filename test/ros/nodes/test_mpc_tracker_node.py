"""The tracker over real DDS: one plan per tick whatever it is told, and the core's plan when all is well."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import serialize_message
from std_srvs.srv import Trigger

from contact_mpc.control.controller import ControllerSetup
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import Reference
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.loop.controllers import make_controller
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.references import to_object_reference, to_reference
from contact_mpc.settings.tunable import TUNED
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.object_motion import object_motion
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

pytestmark = pytest.mark.dds

MS = 1_000_000
T0 = 1_000_000_000
TICK = 50 * MS
TASK = load_task("planar_hand_ball")
SYSTEM = TASK.system
NAMES = list(SYSTEM.joint_names)
PLAN = Plan(
    np.array([0.0, 1.0]), np.tile(TASK.start_q, (2, 1)), np.tile(TASK.start_u, (2, 1)), np.zeros((2, SYSTEM.n_a)),
    np.zeros((2, len(SYSTEM.pairs), 3)),
)  # fmt: skip
STATE = EstimatedState(T0, TASK.start_q, np.zeros(SYSTEM.n_v), np.zeros(SYSTEM.n_a), 1e-6 * np.eye(SYSTEM.n_v_u))
SAID_OFTEN = 3
SAME = 1e-12  # the pose takes the way through a quaternion and through least squares


class TrackerRig:
    """Estimator, trajectory server and bridge around a tracker."""

    def __init__(self, make_rig: Callable[..., Any], **parameters: Any) -> None:
        tracker = {"system": "planar_hand_ball", "horizon_steps": 4, **parameters}
        self.rig = make_rig("lockstep", mpc_tracker=tracker).configure()
        self.joints = self.rig.publisher("state_estimator/joint_states")
        self.odometry = self.rig.publisher("state_estimator/object_odom")
        self.commands, self.objects = self.rig.publisher("reference"), self.rig.publisher("object_reference")
        self.plans, self.statuses = self.rig.collect("mpc_tracker/plan"), self.rig.collect("mpc_tracker/solve_status")
        self.diagnostics = self.rig.collect("/diagnostics")
        self.rig.activate()
        self.rig.connect(self.joints, self.odometry, self.commands, self.objects)

    def restart(self) -> "TrackerRig":
        self.cancel()  # the topic is latched: the reference of the test before would come again
        for transition in ("deactivate", "cleanup", "configure", "activate"):
            assert self.rig.request("mpc_tracker", transition)
        self.rig.connect(self.joints, self.odometry, self.commands, self.objects)
        self.plans.clear()
        self.statuses.clear()
        return self

    def cancel(self) -> None:
        self.diagnostics.clear()
        empty = np.zeros((0, SYSTEM.n_a))
        self.commands.publish(messages.to_trajectory(T0, NAMES, np.zeros(0), empty, None, empty))

    def send_reference(self, start_ns: int = T0, plan: Plan = PLAN) -> None:
        def send() -> None:
            self.objects.publish(to_object_reference(SYSTEM, plan, start_ns))
            self.commands.publish(to_reference(SYSTEM, plan, start_ns))

        self.diagnostics.clear()
        send()
        self.wait_for_reference(start_ns, send)

    def wait_for_reference(self, start_ns: int | None, send_again: Callable[[], None] | None = None) -> None:
        """Wait until the tracker says that it follows the reference that starts so, or none.

        It says what it follows once a second; where it has said something else a few times, the reference was lost on
        its way to a reader that was just made, and is sent again.
        """
        wanted = "" if start_ns is None else str(start_ns)

        def follows() -> bool:
            statuses = [array.status[0] for array in self.diagnostics if array.status[0].name.endswith("mpc_tracker")]
            pairs = [pair for status in statuses for pair in status.values]
            if send_again is not None and len(statuses) > SAID_OFTEN:
                self.diagnostics.clear()
                send_again()
            return any(pair.key == "reference_start_ns" and pair.value == wanted for pair in pairs)

        self.rig.wait_until(follows, f"reference {wanted}")

    def send_state(self, t_ns: int, status: str = "ok", joint_stamp: int | None = None, **more: Any) -> None:
        state = replace(STATE, t_ns=t_ns)
        motion = object_motion(SYSTEM, state)
        message = messages.make_joint_state(more.get("names", NAMES))
        message.header.frame_id = status
        q_a = more.get("q_a", state.q[SYSTEM.n_q_u :])
        stamp = t_ns if joint_stamp is None else joint_stamp
        self.odometry.publish(messages.fill_odometry(messages.make_odometry("disc"), t_ns, motion))
        self.joints.publish(messages.fill_joint_state(message, stamp, q_a, state.v[SYSTEM.n_v_u :], state.tau))

    def wait_for(self, count: int) -> None:
        self.rig.wait_until(lambda: len(self.plans) >= count and len(self.statuses) >= count, f"{count} plans")

    def stamps(self) -> list[int]:
        return [messages.from_stamp(plan.header.stamp) for plan in self.plans]


@pytest.fixture(scope="module")
def tracker_rig(make_rig: Callable[..., Any]) -> TrackerRig:
    return TrackerRig(make_rig)


@pytest.fixture
def tracker(tracker_rig: TrackerRig) -> TrackerRig:
    return tracker_rig.restart()


def is_hold(message: Any) -> bool:
    return message.points == [] and list(message.joint_names) == NAMES


def set_parameter(rig: TrackerRig, name: str, value: float) -> Any:
    message = ParameterMessage(name=name, value=ParameterValue(type=3, double_value=value))
    request = SetParameters.Request(parameters=[message])
    return rig.rig.call(SetParameters, "mpc_tracker/set_parameters", request).results[0]


def test_a_parameter_that_changes_between_ticks_counts_from_the_next_on(tracker_rig: TrackerRig) -> None:
    tracker_rig.restart().send_reference()
    tracker_rig.send_state(T0)
    tracker_rig.wait_for(1)
    assert set_parameter(tracker_rig, "command_weight", 5.0).successful
    refused = set_parameter(tracker_rig, "horizon_steps", 5.0)
    assert not refused.successful and "read-only" in refused.reason
    for k in (1, 2):
        tracker_rig.send_state(T0 + k * TICK)
        tracker_rig.wait_for(1 + k)
    core = Tracker(SYSTEM, TrackerConfig(horizon_steps=4))
    core.set_reference(Reference(T0, PLAN))
    for k, recorded in enumerate(tracker_rig.plans):
        if k == 1:
            core.tune({"command_weight": 5.0})
        plan = core.step(replace(STATE, t_ns=T0 + k * TICK)).plan
        u = np.array([point.positions for point in recorded.points])
        np.testing.assert_allclose(u, plan.u, atol=SAME)
    said = [{pair.key: pair.value for pair in status.values}.get(TUNED) for status in tracker_rig.statuses]
    assert said == [None, '{"command_weight": 5.0}', None]
    assert set_parameter(tracker_rig, "command_weight", 60.0).successful  # other tests share the node


def test_without_a_reference_every_tick_gives_a_hold(tracker: TrackerRig) -> None:
    for k in range(3):
        tracker.send_state(T0 + k * TICK)
    tracker.wait_for(3)
    assert all(is_hold(plan) for plan in tracker.plans)
    assert tracker.stamps() == [T0 + k * TICK for k in range(3)]
    assert {status.message for status in tracker.statuses} == {"no_reference"}


def test_plans_are_those_of_the_core(tracker: TrackerRig) -> None:
    core = Tracker(SYSTEM, TrackerConfig(horizon_steps=4))
    core.set_reference(Reference(T0, PLAN))
    tracker.send_reference()
    for k in range(3):
        tracker.send_state(T0 + k * TICK)
    tracker.wait_for(3)
    for k, message in enumerate(tracker.plans):
        plan = messages.read_plan(message, messages.JointOrder(NAMES))
        expected = core.step(replace(STATE, t_ns=T0 + k * TICK)).plan
        assert not plan.is_hold
        assert np.max(np.abs(plan.u - expected.u)) <= SAME
        assert np.max(np.abs(plan.times_s - expected.times_s)) <= SAME
    values = {pair.key: pair.value for pair in tracker.statuses[0].values}
    assert {"stamp_ns", "solve_ms", "iterations", "residual", "object_error_deg", "object_error_mm"} <= set(values)
    assert values["stamp_ns"] == str(T0)


def test_states_between_ticks_give_no_plan(tracker: TrackerRig) -> None:
    for k in range(0, 101, 5):
        tracker.send_state(T0 + k * MS)
    tracker.wait_for(3)
    tracker.rig.settle()
    assert tracker.stamps() == [T0, T0 + 50 * MS, T0 + 100 * MS]


def test_halves_of_an_estimate_are_paired_by_stamp(tracker: TrackerRig) -> None:
    tracker.send_state(T0, joint_stamp=T0 + TICK)
    tracker.rig.settle()
    assert tracker.plans == []
    tracker.send_state(T0 + TICK, joint_stamp=T0)
    tracker.wait_for(2)
    assert sorted(tracker.stamps()) == [T0, T0 + TICK]


@pytest.mark.parametrize(
    "spoil",
    [
        {"names": ["other", *NAMES[1:]]},
        {"q_a": np.full(SYSTEM.n_a, math.nan)},
        {"status": "pose_stale"},
        {"status": "joints_stale"},
    ],
    ids=["wrong name", "NaN", "pose lost", "joints lost"],
)
def test_an_estimate_that_cannot_be_used_gives_a_hold_and_the_next_a_plan(
    tracker: TrackerRig, spoil: dict[str, Any]
) -> None:
    tracker.send_reference()
    tracker.send_state(T0)
    tracker.send_state(T0 + TICK, **spoil)
    tracker.send_state(T0 + 2 * TICK)
    tracker.wait_for(3)
    assert [is_hold(plan) for plan in tracker.plans] == [False, True, False]
    assert tracker.statuses[1].level != tracker.statuses[0].level
    assert "refused" in tracker.statuses[1].message or "stale" in tracker.statuses[1].message


def test_references_with_different_stamps_are_not_followed(tracker: TrackerRig) -> None:
    tracker.objects.publish(to_object_reference(SYSTEM, PLAN, T0))
    tracker.commands.publish(to_reference(SYSTEM, PLAN, T0 + 1))
    tracker.rig.settle()
    tracker.send_state(T0)
    tracker.wait_for(1)
    assert is_hold(tracker.plans[0])


def test_malformed_bytes_are_counted_and_the_next_tick_is_answered(tracker: TrackerRig) -> None:
    whole = serialize_message(messages.make_joint_state(NAMES))
    refused = int(tracker.rig.diagnosed("mpc_tracker", "refused_messages"))
    for data in (b"\0\1\0\0", whole[:12] + b"\xff\xff\xff\x7f" + whole[16:]):
        tracker.joints.publish(data)
        tracker.odometry.publish(data)
    tracker.rig.settle()
    tracker.send_state(T0)
    tracker.wait_for(1)
    assert tracker.stamps() == [T0]
    assert int(tracker.rig.diagnosed("mpc_tracker", "refused_messages")) == refused + 4


def test_a_reference_of_other_joints_is_refused(tracker: TrackerRig) -> None:
    commands = to_reference(SYSTEM, PLAN, T0)
    commands.joint_names = ["a", "b", "c", "d"]
    tracker.objects.publish(to_object_reference(SYSTEM, PLAN, T0))
    tracker.commands.publish(commands)
    tracker.rig.wait_until(lambda: "reference refused" in tracker.rig.log("mpc_tracker"), "refusal")
    tracker.send_state(T0)
    tracker.wait_for(1)
    assert is_hold(tracker.plans[0])


def test_an_empty_reference_ends_the_motion(tracker: TrackerRig) -> None:
    tracker.send_reference()
    tracker.send_state(T0)
    tracker.wait_for(1)
    tracker.cancel()
    tracker.wait_for_reference(None)
    tracker.send_state(T0 + TICK)
    tracker.wait_for(2)
    assert [is_hold(plan) for plan in tracker.plans] == [False, True]


def test_reset_is_answered_and_plans_go_on(tracker: TrackerRig) -> None:
    tracker.send_reference()
    tracker.send_state(T0)
    tracker.wait_for(1)
    assert tracker.rig.call(Trigger, "mpc_tracker/reset", Trigger.Request()).success
    tracker.send_state(T0 + TICK)
    tracker.wait_for(2)
    assert not is_hold(tracker.plans[1])


def test_an_inactive_tracker_says_nothing(tracker: TrackerRig) -> None:
    assert tracker.rig.request("mpc_tracker", "deactivate")
    tracker.send_state(T0)
    tracker.rig.settle()
    assert tracker.plans == []
    response = tracker.rig.call(Trigger, "mpc_tracker/reset", Trigger.Request())
    assert not response.success and "not active" in response.message
    assert tracker.rig.request("mpc_tracker", "activate")  # other tests share the node


RESTING = """
import numpy as np
from contact_mpc.control.controller import PlainController

class Resting(PlainController):
    def begin(self, plan):
        self.u = plan.u[0]

    def compute(self, t_s, state, times_s):
        return np.tile(self.u + 0.01, (len(times_s), 1))
"""


def test_a_controller_from_outside_the_package_runs_in_the_node(
    make_rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "resting.py").write_text(RESTING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(tmp_path)
    core = make_controller(ControllerSetup(SYSTEM, TrackerConfig(horizon_steps=4, controller="resting:Resting")))
    core.set_reference(Reference(T0, PLAN))
    tracker = TrackerRig(make_rig, controller="resting:Resting")
    tracker.send_reference()
    for k in range(2):
        tracker.send_state(T0 + k * TICK)
    tracker.wait_for(2)
    for k, message in enumerate(tracker.plans):
        plan = messages.read_plan(message, messages.JointOrder(NAMES))
        expected = core.step(replace(STATE, t_ns=T0 + k * TICK)).plan
        assert np.array_equal(plan.u, expected.u) and np.all(plan.u[-1] == TASK.start_u + 0.01)
    assert {status.message for status in tracker.statuses} == {"ok"}
