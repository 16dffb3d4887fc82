"""The state estimator over real DDS: order of inputs, rate of outputs, and what it does with unusable messages."""

import math
import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.serialization import serialize_message

from contact_mpc import load_system
from contact_mpc.estimation.camera_frame import CameraConfig
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.state_estimator import StateEstimator
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.object_poses import ObjectPoseReader
from contact_mpc.ros.nodes.state_estimator import StateEstimatorNode
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.joint_parts import DEPTH
from contact_mpc.task.task import load_task

pytestmark = pytest.mark.dds

MS = 1_000_000
T0 = 1_000_000_000
SYSTEM = load_system("allegro_ball")
NAMES = list(SYSTEM.joint_names)
Q_A = 0.5 * (SYSTEM.q_min + SYSTEM.q_max)
REST = np.zeros(SYSTEM.n_a)
WHOLE = serialize_message(messages.make_joint_state(NAMES))
MALFORMED = (b"\0\1\0\0", WHOLE[:10], WHOLE[:12] + b"\xff\xff\xff\x7f" + WHOLE[16:], WHOLE[:40])  # last: a header alone


class EstimatorRig:
    """Robot and camera around a state estimator."""

    def __init__(self, make_rig: Callable[..., Any], clock: str) -> None:
        self.rig = make_rig(clock, state_estimator={"system": "allegro_ball"}).configure()
        self.states, self.poses = self.rig.publisher("joint_states"), self.rig.publisher("object_pose")
        self.joints = self.rig.collect("state_estimator/joint_states")
        self.odometry = self.rig.collect("state_estimator/object_odom")
        self.rig.activate()
        self.rig.connect(self.states, self.poses)

    def restart(self) -> "EstimatorRig":
        assert self.rig.request("state_estimator", "deactivate")
        self.joints.clear()
        self.odometry.clear()
        assert self.rig.request("state_estimator", "activate")
        return self

    def send_pose(self, stamp_ns: int, R: np.ndarray | None = None, p: np.ndarray | None = None) -> None:
        R, p = np.eye(3) if R is None else R, np.zeros(3) if p is None else p
        self.poses.publish(messages.to_pose_stamped(stamp_ns, R, p))

    def send_state(self, t_ns: int, q: np.ndarray = Q_A, named_pose: int | None = None, **more: Any) -> None:
        message = messages.make_joint_state(more.get("names", NAMES))
        message.header.frame_id = "" if named_pose is None else str(named_pose)
        self.states.publish(messages.fill_joint_state(message, t_ns, q, more.get("v", REST), more.get("tau", REST)))

    def stamps(self) -> list[int]:
        return [messages.from_stamp(message.header.stamp) for message in self.odometry]

    def refused(self) -> int:
        return int(self.rig.diagnosed("state_estimator", "refused_messages"))

    def wait_for(self, count: int) -> None:
        self.rig.wait_until(lambda: len(self.joints) >= count and len(self.odometry) >= count, f"{count} estimates")


@pytest.fixture(scope="module")
def lockstep_rig(make_rig: Callable[..., Any]) -> EstimatorRig:
    return EstimatorRig(make_rig, "lockstep")


@pytest.fixture
def lockstep(lockstep_rig: EstimatorRig) -> EstimatorRig:
    return lockstep_rig.restart()


def test_estimates_come_at_their_rate_with_the_stamps_of_the_states(lockstep: EstimatorRig) -> None:
    lockstep.send_pose(T0)
    for k in range(21):
        lockstep.send_state(T0 + k * MS, named_pose=T0)
    lockstep.wait_for(5)
    assert lockstep.stamps() == [T0 + 5 * k * MS for k in range(5)]
    assert [messages.from_stamp(message.header.stamp) for message in lockstep.joints] == lockstep.stamps()


def test_estimates_are_those_of_the_core_bit_for_bit(lockstep: EstimatorRig) -> None:
    rng = np.random.default_rng(5)
    core, expected = StateEstimator(SYSTEM, EstimatorConfig()), []
    for k in range(0, 60, 5):
        t_ns = T0 + k * MS
        R, p = rotation_exp(1e-3 * rng.normal(size=3)), 1e-4 * rng.normal(size=3)
        q, v, tau = Q_A + 1e-3 * rng.normal(size=SYSTEM.n_a), rng.normal(size=SYSTEM.n_a), rng.normal(size=SYSTEM.n_a)
        lockstep.send_pose(t_ns, R, p)
        lockstep.send_state(t_ns, q, t_ns, v=v, tau=tau)
        core.update_object_pose(t_ns, *messages.read_pose(messages.to_pose_stamped(t_ns, R, p).pose))
        core.update_joints(t_ns, q, v, tau)
        expected.append(core.estimate(t_ns))
    lockstep.wait_for(len(expected))
    for state, joints, odometry in zip(expected, lockstep.joints, lockstep.odometry, strict=True):
        motion = messages.read_odometry(odometry)
        assert motion.p_WB.tolist() == state.q[4:7].tolist()
        assert motion.V_WB.tolist() == state.v[:6].tolist()
        assert motion.covariance.tolist() == state.covariance_u.tolist()
        assert list(joints.position) == state.q[7:].tolist() and list(joints.effort) == state.tau.tolist()
        assert joints.header.frame_id == "ok"


def test_a_state_waits_for_the_pose_that_it_names(lockstep: EstimatorRig) -> None:
    lockstep.send_pose(T0)
    lockstep.send_state(T0, named_pose=T0)
    lockstep.send_state(T0 + 5 * MS, named_pose=T0 + 2 * MS)
    lockstep.send_state(T0 + 10 * MS, named_pose=T0 + 2 * MS)
    lockstep.wait_for(1)
    lockstep.rig.settle()
    assert lockstep.stamps() == [T0]
    lockstep.send_pose(T0 + 2 * MS)
    lockstep.wait_for(3)
    assert lockstep.stamps() == [T0, T0 + 5 * MS, T0 + 10 * MS]


def test_a_pose_that_comes_early_waits_for_the_state_that_names_it(lockstep: EstimatorRig) -> None:
    core = StateEstimator(SYSTEM, EstimatorConfig())
    poses = [(T0, np.zeros(3)), (T0 + 2 * MS, np.array([1e-3, 0.0, 0.0]))]
    for stamp_ns, p in poses:
        lockstep.send_pose(stamp_ns, np.eye(3), p)
    lockstep.rig.settle()
    lockstep.send_state(T0, Q_A, named_pose=T0)
    lockstep.send_state(T0 + 5 * MS, Q_A, named_pose=T0 + 2 * MS)
    lockstep.wait_for(2)
    expected = []
    for (stamp_ns, p), t_ns in zip(poses, (T0, T0 + 5 * MS), strict=True):
        core.update_object_pose(stamp_ns, np.eye(3), p)
        core.update_joints(t_ns, Q_A, np.zeros(SYSTEM.n_a), np.zeros(SYSTEM.n_a))
        expected.append(core.estimate(t_ns).q[4:7].tolist())
    assert [messages.read_odometry(odometry).p_WB.tolist() for odometry in lockstep.odometry] == expected


def test_joints_are_matched_by_name(lockstep: EstimatorRig) -> None:
    lockstep.send_pose(T0)
    lockstep.send_state(T0, Q_A[::-1], T0, names=NAMES[::-1])
    lockstep.wait_for(1)
    assert lockstep.joints[0].name == NAMES
    assert list(lockstep.joints[0].position) == Q_A.tolist()


@pytest.mark.parametrize(
    "spoil",
    [
        {"names": ["other", *NAMES[1:]]},
        {"names": [NAMES[1], *NAMES[1:]]},
        {"q": np.full(SYSTEM.n_a, math.nan)},
        {"v": np.full(SYSTEM.n_a, math.inf)},
    ],
    ids=["wrong name", "name twice", "NaN position", "infinite velocity"],
)
def test_unusable_states_give_no_estimate_and_later_ones_do(lockstep: EstimatorRig, spoil: dict[str, Any]) -> None:
    lockstep.send_pose(T0)
    lockstep.send_state(T0, named_pose=T0)
    lockstep.send_state(T0 + 5 * MS, **{"named_pose": T0} | spoil)
    lockstep.send_state(T0 + 10 * MS, named_pose=T0)
    lockstep.wait_for(2)
    assert lockstep.stamps() == [T0, T0 + 10 * MS]
    assert all(np.isfinite(list(message.position)).all() for message in lockstep.joints)
    assert "message on joint_states refused" in lockstep.rig.log("state_estimator")


def test_malformed_bytes_are_counted_and_harm_nothing(lockstep: EstimatorRig) -> None:
    refused = lockstep.refused()
    lockstep.send_pose(T0)
    for data in MALFORMED:
        lockstep.states.publish(data)
    lockstep.send_state(T0 + 5 * MS, named_pose=T0)
    lockstep.wait_for(1)
    assert lockstep.stamps() == [T0 + 5 * MS]
    assert lockstep.refused() == refused + len(MALFORMED)


def test_a_pose_that_is_not_finite_is_left_out(lockstep: EstimatorRig) -> None:
    lockstep.send_pose(T0)
    lockstep.send_pose(T0 + MS, p=np.array([math.nan, 0.0, 0.0]))
    lockstep.send_state(T0 + 5 * MS, named_pose=T0 + MS)  # named although unusable: the state must not wait for ever
    lockstep.wait_for(1)
    assert messages.read_odometry(lockstep.odometry[0]).p_WB.tolist() == [0.0, 0.0, 0.0]


def test_camera_of_another_frame_and_message_goes_through_its_calibration(make_rig: Callable[..., Any]) -> None:
    camera = {
        "camera.source": "pose_with_covariance", "camera.topic": "seen", "camera.frame": "camera",
        "camera.position_m": [0.0, 0.0, 0.5],
    }  # fmt: skip
    rig = make_rig("realtime", state_estimator={"system": "allegro_ball", **camera}).configure()
    states, poses = rig.publisher("joint_states"), rig.node.create_publisher(PoseWithCovarianceStamped, "seen", 10)
    odometry = rig.collect("state_estimator/object_odom")
    rig.activate()
    rig.connect(states, poses)

    def send(frame: str) -> None:
        message = PoseWithCovarianceStamped()
        message.header = messages.to_pose_stamped(T0, np.eye(3), np.zeros(3), frame).header
        message.pose.pose.orientation.w = 1.0
        poses.publish(message)
        rig.settle()

    send("world")
    assert int(rig.diagnosed("state_estimator", "refused_messages")) == 1
    send("camera")
    for k in range(40):
        states.publish(messages.fill_joint_state(messages.make_joint_state(NAMES), T0 + 5 * k * MS, Q_A, REST, REST))
        rig.settle()
        if odometry:
            break
    assert messages.read_odometry(odometry[0]).p_WB.tolist() == [0.0, 0.0, 0.5]


def test_a_lost_pose_is_reported_with_the_estimate(lockstep: EstimatorRig) -> None:
    lockstep.send_pose(T0)
    for k in range(0, 300, 5):
        lockstep.send_state(T0 + k * MS, named_pose=T0)
    lockstep.wait_for(60)
    notes = [message.header.frame_id for message in lockstep.joints]
    assert notes[0] == "ok" and notes[-1] == "pose_carried"
    assert messages.read_odometry(lockstep.odometry[-1]).V_WB.tolist() == [0.0] * 6


def test_there_is_no_estimate_before_the_first_pose(lockstep: EstimatorRig) -> None:
    lockstep.send_state(T0)
    lockstep.send_state(T0 + 5 * MS)
    lockstep.rig.settle()
    assert lockstep.odometry == []


def test_velocities_that_a_driver_does_not_send_are_derived(lockstep: EstimatorRig) -> None:
    lockstep.send_pose(T0)
    for k in range(101):
        lockstep.send_state(T0 + k * MS, Q_A + 0.1 * k * 1e-3, T0, v=None, tau=None)
    lockstep.wait_for(21)
    assert list(lockstep.joints[-1].velocity) == pytest.approx([0.1] * SYSTEM.n_a, rel=1e-3)  # filter of 10 ms
    assert list(lockstep.joints[-1].effort) == []


def test_in_realtime_estimates_follow_the_arrival(make_rig: Callable[..., Any]) -> None:
    realtime = EstimatorRig(make_rig, "realtime")
    k = 0

    def send() -> bool:
        nonlocal k
        k += 7
        realtime.send_pose(T0 + k * MS)
        realtime.send_state(T0 + k * MS)
        return len(realtime.odometry) >= 5

    realtime.rig.wait_until(send)
    assert all(stamp % (7 * MS) == T0 % (7 * MS) for stamp in realtime.stamps())


@pytest.mark.realtime
def test_joint_states_that_come_too_fast_do_not_keep_poses_waiting(make_rig: Callable[..., Any]) -> None:
    """Best effort may lose any pose of a busy machine: states go on until enough of the poses among them were taken."""
    realtime = EstimatorRig(make_rig, "realtime")
    diagnostics = realtime.rig.collect("/diagnostics")
    start_ns, sent = time.monotonic_ns(), Counter[str]()

    def refused() -> int:
        values = (pair for array in diagnostics[-1:] for pair in array.status[0].values)
        return next((int(pair.value) for pair in values if pair.key == "refused_messages"), 0)

    while refused() < 20:
        now_ns = time.monotonic_ns()
        if now_ns >= start_ns + sent["states"] * MS // 3:
            realtime.send_state(T0 + sent["states"] * MS)
            sent["states"] += 1
        if now_ns >= start_ns + sent["poses"] * 20 * MS:
            realtime.send_pose(T0 + sent["poses"] * 60 * MS, p=np.full(3, np.nan))  # counted by the estimator
            sent["poses"] += 1
        realtime.rig.stack.spin(0.0)
        assert now_ns < start_ns + HANG_S * NS_PER_S, f"{refused()} of {sent['poses']} poses taken"


def test_joint_states_without_an_end_leave_room_for_poses_and_services() -> None:
    """A loop over what comes while it runs never ended on a busy machine: no pose was taken for 0.7 s."""
    taken = Counter[str]()

    class Flood:
        def wait(self, timeout_s: float) -> None:
            taken["wait"] += 1

        def take(self, _poses: object) -> None:
            taken["poses"] += 1

        def take_serialized(self, _states: object) -> tuple[bytes, int]:
            taken["states"] += 1
            assert taken["states"] < 1000, "takes joint states for ever"
            return b"", 0

    node: Any = SimpleNamespace(
        is_active=True, _reader=Flood(), _poses=None, _location=None, _joint_states=[None],
        _on_joint_state=lambda data, topic: None, _next_service_ns=time.monotonic_ns() + 1000 * NS_PER_S,
        config=SimpleNamespace(clock="realtime"), _has_ticked=False, _needs_all_joints=False,
    )  # fmt: skip
    for _ in range(3):
        StateEstimatorNode.spin_some(node, None)  # type: ignore[arg-type]
    assert taken["poses"] == taken["wait"] == 3 and taken["states"] == 3 * DEPTH


@pytest.mark.parametrize("ahead_ns, expected", [(10 * MS, ["pose", "joints"]), (300 * MS, ["joints", "pose"])])
def test_a_pose_that_came_during_a_stall_is_read_after_its_joint_states(ahead_ns: int, expected: list[str]) -> None:
    """After a stall of 0.1 s it was refused as ahead of the joint states, which lay unread in their queue."""
    estimator, read = StateEstimator(SYSTEM), list[str]()
    estimator.update_joints(T0, Q_A)
    R, p = np.eye(3), np.zeros(3)
    left = {"pose": [messages.to_pose_stamped(T0 + ahead_ns, R, p)], "joints": [T0 + ahead_ns]}

    class Reader:
        def wait(self, timeout_s: float) -> None:
            pass

        def take(self, _poses: object) -> Any:
            return (left["pose"].pop(), 0) if left["pose"] else None

        def take_serialized(self, _states: object) -> Any:
            return (left["joints"].pop(), 0) if left["joints"] else None

    def take_pose(message: Any) -> None:
        estimator.update_object_pose(messages.from_stamp(message.header.stamp), R, p)
        read.append("pose")

    def take_joints(t_ns: int, _topic: int) -> None:
        estimator.update_joints(t_ns, Q_A)
        read.append("joints")

    node: Any = SimpleNamespace(
        is_active=True, _reader=Reader(), _poses=None, _location=None, _joint_states=[None], _estimator=estimator,
        _pose_reader=ObjectPoseReader(CameraConfig()), _on_object_pose=take_pose, _on_joint_state=take_joints,
        _next_service_ns=time.monotonic_ns() + 1000 * NS_PER_S, config=SimpleNamespace(clock="realtime"),
        _has_ticked=False, _needs_all_joints=False, _is_early=lambda pose: StateEstimatorNode._is_early(node, pose),
    )  # fmt: skip
    StateEstimatorNode.spin_some(node, None)  # type: ignore[arg-type]
    assert read == expected


def test_contacts_are_shown_in_the_world_with_force_and_gap(make_rig: Callable[..., Any]) -> None:
    task = load_task("allegro_ball")
    rig = make_rig("realtime", state_estimator={"system": "allegro_ball"}).configure()
    states, poses = rig.publisher("joint_states"), rig.publisher("object_pose")
    contacts = rig.collect("state_estimator/contacts")
    rig.activate()
    rig.connect(states, poses)
    R_WB, p_WB = SYSTEM.object_pose(task.start_q)
    q_a = task.start_q[SYSTEM.n_q_u :]
    poses.publish(messages.to_pose_stamped(T0, R_WB, p_WB))
    message = messages.make_joint_state(NAMES)

    def send_more() -> bool:
        send_more.t_ns += 5 * MS
        states.publish(messages.fill_joint_state(message, send_more.t_ns, q_a, REST, SYSTEM.kp * (task.start_u - q_a)))
        return bool(contacts)

    send_more.t_ns = T0
    rig.wait_until(send_more, "contacts")
    markers = contacts[-1].markers
    assert len(markers) == 4
    for marker in markers:
        assert marker.header.frame_id == "world"
        assert marker.ns.startswith("ball/") and marker.ns.endswith("_tip")
        assert len(marker.points) == 2 and " N, gap " in marker.text


def test_contacts_on_links_are_located_from_joint_torques(make_rig: Callable[..., Any]) -> None:
    """The hand holds its own weight and a finger is pushed: no torques reported, measured ones, then none at all."""
    parameters = {"system": "allegro_ball", "contact_location_rate_hz": 20, "contact_location.torque_noise_nm": 0.005}
    rig = make_rig("realtime", state_estimator=parameters).configure()
    states, poses = rig.publisher("joint_states"), rig.publisher("object_pose")
    found, markers = rig.collect("state_estimator/contact_location"), rig.collect("state_estimator/contact_hypotheses")
    rig.activate()
    rig.connect(states, poses)
    poses.publish(messages.to_pose_stamped(T0, *SYSTEM.object_pose(SYSTEM.q_default)))
    message, g, push = messages.make_joint_state(NAMES), np.zeros(SYSTEM.n_a), np.zeros(SYSTEM.n_a)
    GravityTorque(SYSTEM).compute(Q_A, g)
    push[:4] = [0.05, -0.1, -0.06, -0.03]  # the index finger, from its inner side

    def send_until(text: str, tau: np.ndarray | None) -> None:
        def is_said() -> bool:
            send_until.t_ns += 5 * MS
            states.publish(messages.fill_joint_state(message, send_until.t_ns, Q_A, REST, tau))
            return any(text in item.message for item in found)

        rig.wait_until(is_said, text)

    send_until.t_ns = T0
    send_until("index_0 to index_3", g - push)
    assert "joint torques less the robot's own weight" in found[-1].values[0].value
    if "hypotheses" in found[-1].message:
        rig.wait_until(lambda: bool(markers and markers[-1].markers), "markers")
        assert all(item.ns.startswith("allegro/index") for item in markers[-1].markers)
    send_until("contacts cannot be located", None)
