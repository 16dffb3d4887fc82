"""Messages to numpy and back: by name, exactly, and nothing unusable gets through."""

import math

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import Pose
from hypothesis import given
from hypothesis import strategies as st
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.serialized import deserialize, parse_named_stamp, read_header
from contact_mpc.task.loop_records import CommandPlan
from contact_mpc.task.object_motion import ObjectMotion

NAMES = ("a", "b", "c")
ROTATION_TOLERANCE = 1e-15  # one conversion matrix -> quaternion -> matrix
finite = st.floats(-1e6, 1e6)
triple = st.tuples(finite, finite, finite)


@given(st.integers(0, 2**31 - 1), st.integers(0, 10**9 - 1))
def test_stamps_survive_the_way_through_a_message(sec: int, nanosec: int) -> None:
    t_ns = sec * 10**9 + nanosec
    assert messages.from_stamp(messages.to_stamp(t_ns)) == t_ns


@given(triple, triple, triple)
def test_joint_states_survive_bit_for_bit(q: tuple, v: tuple, tau: tuple) -> None:
    message = messages.fill_joint_state(messages.make_joint_state(NAMES), 5, np.array(q), np.array(v), np.array(tau))
    for sent, got in zip((q, v, tau), messages.read_joint_state(message, messages.JointOrder(NAMES)), strict=True):
        assert tuple(got) == sent


def test_joints_are_matched_by_name_and_extra_joints_ignored() -> None:
    message = JointState(name=["c", "wheel", "a", "b"], position=[3.0, 9.0, 1.0, 2.0])
    position, velocity, effort = messages.read_joint_state(message, messages.JointOrder(NAMES))
    assert position.tolist() == [1.0, 2.0, 3.0]
    assert velocity is None and effort is None


def test_the_order_is_found_again_when_a_driver_changes_it() -> None:
    order = messages.JointOrder(NAMES)
    for names in (["a", "b", "c"], ["b", "a", "c"], ["a", "b", "c"]):
        values = [float("abc".index(name)) for name in names]
        assert messages.read_joint_state(JointState(name=names, position=values), order)[0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("names", "values", "words"),
    [
        (["a", "b"], [0.0, 0.0], "c missing"),
        (["a", "b", "c", "c"], [0.0] * 4, "c missing or named twice"),
        ([], [], "names none"),
        (["a", "b", "c"], [0.0, 0.0], "2 values for 3 names"),
        (["a", "b", "c"], [], "0 values for 3 names"),
        (["a", "b", "c"], [0.0, math.nan, 0.0], "position of b is not finite"),
        (["a", "b", "c"], [0.0, math.inf, math.nan], "b, c is not finite"),
    ],
)
def test_unusable_joint_states_are_refused(names: list[str], values: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        messages.read_joint_state(JointState(name=names, position=values), messages.JointOrder(NAMES))


def test_values_of_joints_that_nobody_asked_for_may_be_anything() -> None:
    message = JointState(name=["a", "b", "c", "camera"], position=[0.0, 0.0, 0.0, math.nan])
    assert messages.read_joint_state(message, messages.JointOrder(NAMES))[0].tolist() == [0.0] * 3


@given(st.tuples(*[st.floats(-3.0, 3.0)] * 3), triple)
def test_poses_survive_to_round_off(turn: tuple, position: tuple) -> None:
    R, p = rotation_exp(np.array(turn)), np.array(position)
    got_R, got_p = messages.read_pose(messages.fill_pose(Pose(), R, p))
    assert np.max(np.abs(got_R - R)) <= 10 * ROTATION_TOLERANCE
    assert got_p.tolist() == p.tolist()


def test_quaternions_are_xyzw_in_messages() -> None:
    quarter_turn_about_x = rotation_exp(np.array([math.pi / 2, 0.0, 0.0]))
    turn = messages.fill_pose(Pose(), quarter_turn_about_x, np.zeros(3)).orientation
    assert (turn.x, turn.y, turn.z, turn.w) == pytest.approx((math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))


@pytest.mark.parametrize("field", ["x", "y", "z", "w"])
def test_poses_that_are_not_finite_are_refused(field: str) -> None:
    pose = Pose()
    setattr(pose.orientation, field, math.nan)
    with pytest.raises(InputError, match="not finite"):
        messages.read_pose(pose)


def test_quaternions_that_are_not_unit_are_refused() -> None:
    pose = Pose()
    pose.orientation.w = 0.9
    with pytest.raises(InputError, match="norm 0.9"):
        messages.read_pose(pose)


def test_odometry_carries_the_covariance_in_the_order_of_ros() -> None:
    motion = ObjectMotion(np.eye(3), np.zeros(3), np.arange(6.0), np.diag(np.arange(1.0, 7.0)))
    message = messages.fill_odometry(messages.make_odometry("ball"), 7, motion)
    diagonal = np.array(message.pose.covariance).reshape(6, 6).diagonal()
    assert diagonal.tolist() == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]  # x y z rx ry rz from [rotation, translation]
    assert message.child_frame_id == "ball_world_aligned"
    got = messages.read_odometry(message)
    assert got.V_WB.tolist() == motion.V_WB.tolist()
    assert got.covariance.tolist() == motion.covariance.tolist()


def test_odometry_with_a_covariance_that_is_not_finite_is_refused() -> None:
    message = Odometry()
    message.pose.covariance[7] = math.nan
    with pytest.raises(InputError, match="covariance"):
        messages.read_odometry(message)


@given(triple, st.integers(0, 2**62))
def test_commands_carry_their_stamp(values: tuple, t_ns: int) -> None:
    message = messages.fill_commands(messages.make_commands(3), t_ns, np.array(values))
    stamp_ns, got = messages.read_commands(message, 3)
    assert stamp_ns == t_ns and tuple(got) == values
    assert (message.layout.dim[0].size, message.layout.dim[0].stride) == (3, 3)


def test_commands_of_other_senders_have_no_stamp() -> None:
    assert messages.read_commands(Float64MultiArray(data=[1.0, 2.0]), 2)[0] is None


@pytest.mark.parametrize(
    ("data", "label", "words"),
    [
        ([1.0, 2.0], "t_ns=1", "2 values, the robot has 3"),
        ([1.0, 2.0, math.nan], "t_ns=1", "not finite"),
        ([1.0, 2.0, 3.0], "t_ns=soon", "no stamp"),
        ([1.0, 2.0, 3.0], "t_ns=" + "9" * 5000, "no stamp"),
    ],
)
def test_unusable_commands_are_refused(data: list[float], label: str, words: str) -> None:
    message = messages.make_commands(3)
    message.data, message.layout.dim[0].label = data, label
    with pytest.raises(InputError, match=words):
        messages.read_commands(message, 3)


def test_plans_survive_and_keep_their_stamp() -> None:
    rng = np.random.default_rng(1)
    plan = CommandPlan(123_456_789_012, np.array([0.0, 0.02, 0.1]), *rng.normal(size=(3, 3, 3)))
    got = messages.read_plan(messages.to_plan_message(plan, NAMES), messages.JointOrder(NAMES))
    assert got.stamp_ns == plan.stamp_ns
    assert np.max(np.abs(got.times_s - plan.times_s)) < 1e-15  # times travel as integer nanoseconds
    for name in ("u", "du", "tau_ff"):
        assert getattr(got, name).tolist() == getattr(plan, name).tolist()


def test_a_hold_is_a_plan_without_points() -> None:
    message = messages.to_plan_message(CommandPlan.hold(5, 3), NAMES)
    assert message.points == [] and message.joint_names == list(NAMES)
    assert messages.read_plan(message, messages.JointOrder(NAMES)).is_hold


@pytest.mark.parametrize("times", [[0.0, 0.0], [0.1, 0.0], [-0.1, 0.0]])
def test_trajectories_whose_times_do_not_increase_are_refused(times: list[float]) -> None:
    message = JointTrajectory(joint_names=list(NAMES))
    zero = np.zeros((2, 3))
    message = messages.to_trajectory(0, NAMES, np.array(times), zero, zero, zero)
    with pytest.raises(InputError, match="times"):
        messages.read_trajectory(message, messages.JointOrder(NAMES))


@given(st.integers(0, 2**31 - 1), st.integers(0, 10**9 - 1), st.text("0123456789", max_size=20))
def test_headers_are_read_without_deserializing(sec: int, nanosec: int, frame_id: str) -> None:
    message = JointState(name=["a"], position=[1.0])
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    message.header.frame_id = frame_id
    assert read_header(serialize_message(message)) == (sec * 10**9 + nanosec, frame_id)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_refused_by_name(data: bytes) -> None:
    try:
        stamp_ns, frame_id = read_header(data)
    except InputError as error:
        assert "bytes" in str(error)
    else:
        assert abs(stamp_ns) < 2**63 and len(frame_id) <= len(data)


@pytest.mark.parametrize("frame_id", ["", "base", "-1", "1.5", "9" * 20, "9" * 5000])
def test_a_frame_that_is_no_stamp_names_none(frame_id: str) -> None:
    assert parse_named_stamp(frame_id) is None
    assert parse_named_stamp("1000") == 1000


def test_messages_that_end_early_are_refused_by_type() -> None:
    data = serialize_message(JointState(name=["a"], position=[1.0]))
    assert deserialize(data, JointState).name == ["a"]
    with pytest.raises(InputError, match="30 bytes are no JointState"):
        deserialize(data[:30], JointState)
