"""Node around the state estimator: joint states and object poses in, the state of the whole system out at its rate.

Joint states between two ticks of the output are passed over unread, unless the driver sends no velocities (they are
then derived from every position). The status of an estimate travels in `header.frame_id` of its joint states: "ok", or
what is wrong, on which the tracker holds. In lockstep a joint state waits until the object pose that it names in
`header.frame_id` has arrived, so that the estimator's inputs have one order whatever the network does.

With `contact_location_rate_hz` the node also says where the links are touched, from the torques of the joints alone;
estimates do not depend on it, but wait for it: 3 ms for an arm of seven joints each time.
"""

import sys
import time
from collections import deque
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field
from rclpy.executors import Executor
from sensor_msgs.msg import JointState

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.estimation.camera_frame import CameraConfig
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.contact_estimate import ContactEstimator
from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.estimation.state_estimator import StateEstimator
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.driver.command_output import check_driver
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.contact_markers import ContactMarkers
from contact_mpc.ros.messages.object_poses import ObjectPoseReader, message_type
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.messages.serialized import deserialize, parse_named_stamp, read_header
from contact_mpc.ros.nodes.contact_location_output import ContactLocationOutput
from contact_mpc.ros.runtime.direct_reader import DirectReader, at_most
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import freeze_garbage, run_node
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.joint_parts import DEPTH, JointParts
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.object_motion import object_motion

WARN_PERIOD_S = 1.0
SERVICE_PERIOD_NS = 4_000_000  # some events of the executor each: services, timers and /clock
POSE_DEPTH = 100  # of a topic that others send on too, as /tf
SLEEP_FRACTION = 0.6  # of the period; the next tick comes after 0.8 at the earliest, with joint states at 1 kHz
_JointState = tuple[int, int | None, bytes, int]  # stamp, ns; stamp of the pose named, ns; message; topic


class StateEstimatorConfig(NodeConfig):
    """Parameters of the state estimator node."""

    rate_hz: int = Field(
        default=200,
        ge=1,
        le=1000,
        description="rate of the estimates, a divisor of 1000",
        json_schema_extra={"unit": "Hz"},
    )
    contacts_rate_hz: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="rate of the contacts for viewers, a divisor of rate_hz",
        json_schema_extra={"unit": "Hz"},
    )
    contact_location_rate_hz: int = Field(
        default=0,
        ge=0,
        le=200,
        description="rate of contact hypotheses from joint torques, a divisor of rate_hz; 0: none",
        json_schema_extra={"unit": "Hz"},
    )
    contact_location: LocationConfig = LocationConfig()
    estimator: EstimatorConfig = EstimatorConfig()
    camera: CameraConfig = CameraConfig()
    driver: DriverConfig = DriverConfig()


class StateEstimatorNode(ContactNode):
    """Feeds the state estimator and publishes what it says."""

    config_class = StateEstimatorConfig

    def __init__(self) -> None:
        super().__init__("state_estimator")
        self._refused = 0
        self._status = "no data yet"

    def configure(self) -> None:
        """Build the estimator and connect it."""
        config: StateEstimatorConfig = self.config
        if 1000 % config.rate_hz:
            raise ConfigError(f"parameter rate_hz = {config.rate_hz} does not divide 1000; use e.g. 100, 200 or 250")
        if config.rate_hz % config.contacts_rate_hz:
            raise ConfigError(
                f"parameter contacts_rate_hz = {config.contacts_rate_hz} does not divide rate_hz = {config.rate_hz}"
            )
        self._system = load_system(config.system)
        self._period_ns = NS_PER_S // config.rate_hz
        driver, n_a = config.driver, self._system.n_a
        check_driver(driver, self._system.joint_names, "position")
        names = driver.names(self._system.joint_names)
        self._parts = JointParts(names, driver.slices(n_a), round(driver.parts_within_s * NS_PER_S))
        self._order = messages.JointOrder(self._parts.names)
        self._joints_out = messages.make_joint_state(self._system.joint_names)
        self._odometry_out = messages.make_odometry(self._system.object_names[0])
        self._joints = self.publish_topic("state_estimator/joint_states")
        self._odometry = self.publish_topic("state_estimator/object_odom")
        self._contacts = self.publish_topic("state_estimator/contacts")
        self._markers = ContactMarkers(self._system)
        self._ticks_per_contacts = config.rate_hz // config.contacts_rate_hz
        self._contact_estimator = ContactEstimator(self._system, config.estimator.carry_reach_m)
        self._location = None
        if config.contact_location_rate_hz:
            rates = config.rate_hz, config.contact_location_rate_hz
            self._location = ContactLocationOutput(
                self._system, config.contact_location, self._order, self.publish_topic, *rates
            )
        self._reset()
        self._warm_up()
        self._reader = DirectReader(self)
        self._joint_states = [self._subscribe("joint_states", topic, DEPTH) for topic in driver.joint_states_topics]
        self._pose_reader = ObjectPoseReader(config.camera)
        self._poses = self._subscribe_camera(config.camera)
        if self._location is not None:
            self._location.subscribe(self._reader, self._subscribe)

    def activate(self) -> None:
        """Begin with an empty filter; what had arrived before is dropped."""
        self._reset()
        self._reader.drain()
        self._next_service_ns = time.monotonic_ns()
        self.wait_for_subscribers(self._joints, 1)
        self.wait_for_subscribers(self._odometry, 1)
        freeze_garbage()

    def cleanup(self) -> None:
        """Release the subscriptions that this node reads itself."""
        self._reader.destroy()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return the status of the last estimate and the counts of what was left out."""
        if not self.is_active:
            return super().diagnose()
        counts: dict[str, object] = {
            "refused_messages": self._refused,
            "outliers": self._estimator.outliers,
            "late_poses": self._estimator.late_poses,
            "late_joints": self._estimator.late_joints,
            "time_jumps": self._estimator.time_jumps,
            "camera_period_s": self._estimator.timings[0].period_s,
            "camera_delay_s": self._estimator.timings[0].delay_s,
            "camera_longest_gap_s": self._estimator.timings[0].longest_gap_s,
        }
        level = DiagnosticStatus.OK if self._status == "ok" else DiagnosticStatus.WARN
        return level, self._status, counts

    def _reset(self) -> None:
        self._estimator = StateEstimator(self._system, self.config.estimator)
        self._parts.clear()
        self._of_stamp: dict[int, dict[int, JointState]] = {}
        self._waiting: deque[_JointState] = deque()
        self._early_poses: deque[tuple[int, Any]] = deque()
        self._newest_pose_ns = -1
        self._last_tick = -1
        self._needs_all_joints = self._has_ticked = False
        self._status = "no data yet"

    def _warm_up(self) -> None:
        """Compile the estimator before time runs."""
        state = self._estimator.warm_up()
        object_motion(self._system, state)
        if self._contact_estimator is not None:
            self._markers.fill(state.t_ns, self._contact_estimator.estimate(state))
        if self._location is not None:
            self._location.warm_up()

    def _subscribe(self, name: str, other: str = "", depth: int = 1) -> Any:
        topic = TOPICS[name]
        profile = qos_profile(topic.quality, self.config.clock, depth)
        return self._reader.subscribe(topic.msg_type, other or topic.name, profile)

    def _subscribe_camera(self, camera: CameraConfig) -> Any:
        depth = POSE_DEPTH if camera.source == "tf" else 1
        profile = qos_profile(TOPICS["object_pose"].quality, self.config.clock, depth)
        return self._reader.subscribe(message_type(camera), camera.topic, profile)

    def spin_some(self, executor: Executor) -> None:
        """Handle what has arrived; in realtime sleep between ticks, since of what comes then only the newest counts.

        Poses and joint states are not left to the executor: where it has one queue of events, a pose waits behind
        every joint state that came before it.
        """
        if not self.is_active:
            super().spin_some(executor)
            return
        self._reader.wait(SERVICE_PERIOD_NS / NS_PER_S)
        early = []
        for pose in at_most(POSE_DEPTH, partial(self._reader.take, self._poses)):
            if self._is_early(pose[0]):
                early.append(pose[0])
            else:
                self._on_object_pose(pose[0])
        if self._location is not None:
            self._location.take_torques(self._refuse)
        for topic, subscription in enumerate(self._joint_states):
            for joints in at_most(DEPTH, partial(self._reader.take_serialized, subscription)):
                self._on_joint_state(joints[0], topic)
        for message in early:
            self._on_object_pose(message)
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_service_ns:
            self._next_service_ns = now_ns + SERVICE_PERIOD_NS
            self.handle_events(executor)
        if self.config.clock == "realtime" and self._has_ticked and not self._needs_all_joints:
            self._has_ticked = False
            time.sleep(SLEEP_FRACTION * self._period_ns / NS_PER_S)

    def _on_object_pose(self, message: Any) -> None:
        stamp_ns = self._pose_reader.stamp_ns(message)
        if stamp_ns is None:
            return
        self._newest_pose_ns = max(self._newest_pose_ns, stamp_ns)
        if self.config.clock != "lockstep":
            self._take_pose(message)
            return
        self._early_poses.append((stamp_ns, message))
        while self._waiting and not self._waits_for_pose(self._waiting[0]):
            self._take_joint_state(self._waiting.popleft())

    def _is_early(self, message: Any) -> bool:
        """Whether a pose is ahead of the joint states so far: after a stall those that belong to it are yet to be read.

        It is read after them: before, it would be refused although the clocks agree. In lockstep joint states name the
        pose that they wait for.
        """
        if self.config.clock == "lockstep":
            return False
        stamp_ns = self._pose_reader.stamp_ns(message)
        return stamp_ns is not None and self._estimator.is_ahead(stamp_ns)

    def _take_pose(self, message: Any) -> None:
        try:
            pose = self._pose_reader.read(message)
            if pose is not None:
                self._estimator.update_object_pose(pose.stamp_ns, pose.R_WB, pose.p_WB, 0, pose.deviations)
        except InputError as error:
            self._refuse(self.config.camera.topic, error)

    def _on_joint_state(self, data: bytes, topic: int) -> None:
        try:
            t_ns, frame_id = read_header(data)
        except InputError as error:
            self._refuse("joint_states", error)
            return
        state = t_ns, parse_named_stamp(frame_id), data, topic
        if self.config.clock == "lockstep" and (self._waiting or self._waits_for_pose(state)):
            self._waiting.append(state)
        else:
            self._take_joint_state(state)

    def _take_named_poses(self, named_ns: int | None) -> None:
        """Take the poses up to the one that a joint state names, all where it names none; later ones came early."""
        while self._early_poses and (named_ns is None or self._early_poses[0][0] <= named_ns):
            self._take_pose(self._early_poses.popleft()[1])

    def _waits_for_pose(self, state: _JointState) -> bool:
        """Whether the pose that a joint state names has not arrived yet."""
        _, named_ns, _, _ = state
        return named_ns is not None and named_ns > self._newest_pose_ns

    def _take_joint_state(self, state: _JointState) -> None:
        t_ns, named_ns, data, topic = state
        self._take_named_poses(named_ns)
        tick = t_ns // self._period_ns
        if tick == self._last_tick and not self._needs_all_joints:
            return
        try:
            message = self._whole(deserialize(data, JointState), topic)
            if message is None:
                return
            t_ns = messages.from_stamp(message.header.stamp)
            position, velocity, effort = messages.read_joint_state(message, self._order)
            self._estimator.update_joints(t_ns, position, velocity, effort)
        except InputError as error:
            self._refuse("joint_states", error)
            return
        self._needs_all_joints = velocity is None
        if tick != self._last_tick:
            self._last_tick = tick
            self._has_ticked = True
            self._publish(t_ns)

    def _whole(self, message: JointState, topic: int) -> JointState | None:
        """Return the joint state that a message completes; in lockstep each of a single driver is one."""
        if self.config.clock == "lockstep":
            return self._whole_of_stamp(message, topic) if self.config.driver.groups else message
        whole = self._parts.complete(message, topic)
        if whole is None and self._parts.missing:
            raise InputError(self._parts.missing)
        return whole

    def _whole_of_stamp(self, message: JointState, topic: int) -> JointState | None:
        """Return the joint state of several drivers at one instant, once all have sent theirs.

        The plant goes on when the bridge has answered, this node may be behind: a driver's next state does not replace
        the one that still waits for another driver's.
        """
        t_ns = messages.from_stamp(message.header.stamp)
        parts = self._of_stamp.setdefault(t_ns, {})
        parts[topic] = message
        if len(parts) < len(self.config.driver.joint_states_topics):
            return None
        end_ns = (t_ns // self._period_ns + 1) * self._period_ns  # others of this tick come to nothing
        self._of_stamp = {key: value for key, value in self._of_stamp.items() if key >= end_ns}
        self._parts.clear()
        wholes = [self._parts.complete(part, number) for number, part in sorted(parts.items())]
        return wholes[-1]

    def _publish(self, t_ns: int) -> None:
        state = self._estimator.estimate(t_ns)
        if state is None:
            return
        self._status, n_q_u, n_v_u = state.status, self._system.n_q_u, self._system.n_v_u
        motion = object_motion(self._system, state)
        effort = state.tau if np.isfinite(state.tau).all() else None
        self._joints_out.header.frame_id = state.status
        messages.fill_joint_state(self._joints_out, t_ns, state.q[n_q_u:], state.v[n_v_u:], effort)
        messages.fill_odometry(self._odometry_out, t_ns, motion)
        self._odometry.publish(self._odometry_out)
        self._joints.publish(self._joints_out)
        if self._last_tick % self._ticks_per_contacts == 0:
            self._publish_contacts(t_ns, state)
        if self._location is not None:
            self._location.publish(self._last_tick, state)

    def _publish_contacts(self, t_ns: int, state: EstimatedState) -> None:
        """Publish where the robots touch and how hard; viewers may be slow or absent, and nothing waits for them."""
        if self._contact_estimator is not None and self._contacts.get_subscription_count():
            self._contacts.publish(self._markers.fill(t_ns, self._contact_estimator.estimate(state)))

    def _refuse(self, topic: str, error: InputError) -> None:
        self._refused += 1
        self.get_logger().warning(f"message on {topic} refused: {error}", throttle_duration_sec=WARN_PERIOD_S)


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(StateEstimatorNode))


if __name__ == "__main__":
    main()
