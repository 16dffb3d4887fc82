"""Records the topics of the table as a rosbag2 bag: MCAP and metadata.yaml, from the serialized bytes as they arrived.

A robot's own topics, as `driver` names them, are recorded beside those of the table. A topic enters the bag with its
first message, with the quality of service that its publishers offer. What is written reaches the disk at least once a
second, so that a bag whose recorder was killed lacks its last second and its index, nothing else. Memory does not grow
with the run. In lockstep `recorder/written_until` tells the plant how far the bag is, and the plant waits for a
recorder that falls behind.
"""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field
from rclpy.executors import Executor
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo
from rosbags.interfaces import Connection, Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import Writer
from rosbags.rosbag2.errors import WriterError
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String, UInt64
from trajectory_msgs.msg import JointTrajectory

from contact_mpc.bags.checked_writer import CheckedWriter
from contact_mpc.errors import BagError, InputError
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.messages.qos import LOCKSTEP_DEPTH, TOPICS, Topic, qos_profile
from contact_mpc.ros.messages.serialized import read_stamp_ns
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import run_node
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.version import __version__

FLUSH_PERIOD_S = 1.0
POLL_S = 0.01
WARN_PERIOD_S = 1.0
PROGRESS_PERIOD_NS = 100_000_000


class RecorderConfig(NodeConfig):
    """Parameters of the recorder."""

    nice: int = Field(default=10, ge=0, le=19, description="realtime only: niceness of the process; queues are deep")
    driver: DriverConfig = DriverConfig()
    bag: str = Field(min_length=1, description="folder of the bag; it must not exist yet")
    metadata_json: str = Field(default="{}", description="JSON object about the run, written to the topic run_metadata")


class RecorderNode(ContactNode):
    """Writes every recorded topic to one bag, from configuration to cleanup."""

    config_class = RecorderConfig

    def __init__(self) -> None:
        super().__init__("recorder")
        self._writer: Writer | None = None
        self._connections: dict[str, Connection] = {}
        self._sources: list[tuple[Topic, Subscription]] = []
        self.create_steady_timer(FLUSH_PERIOD_S, self._flush)

    def configure(self) -> None:
        """Open the bag and subscribe to everything."""
        config: RecorderConfig = self.config
        metadata = _read_metadata(config.metadata_json)
        self._typestore = get_typestore(Stores.ROS2_JAZZY)
        self._writer = _open(Path(config.bag).expanduser())
        self._connections.clear()
        self._written_until = self.publish_topic("recorder/written_until")
        self._metadata = self.publish_topic("run_metadata")
        self._reader = DirectReader(self)
        self._sources = [(topic, self._subscribe(topic)) for topic in recorded_topics(config.driver)]
        self._clock_topic = config.driver.joint_states_topics[-1]
        message = String(data=json.dumps({"version": __version__, "clock": config.clock, **metadata}))
        self._write(TOPICS["run_metadata"], serialize_message(message), time.time_ns())
        self._metadata.publish(message)

    def cleanup(self) -> None:
        """Write the index and metadata.yaml; from then on any reader opens the bag."""
        for source in self._sources:
            self._write_all(*source)
        self._reader.destroy()
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close()
            _sync(writer.path)
        except OSError as error:
            _abort(writer)
            raise BagError(f"bag {writer.path} could not be closed: {error}; free space on that disk") from error

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return the number of messages written."""
        counts = {} if self._writer is None else self._writer.counts
        return DiagnosticStatus.OK, "recording" if counts else "idle", {"messages": sum(counts.values())}

    def _subscribe(self, topic: Topic) -> Subscription:
        """Subscribe as the table says, but with a deep queue: a bag that keeps the last of each is no record."""
        profile = qos_profile(topic.quality, self.config.clock)
        profile = QoSProfile(
            depth=LOCKSTEP_DEPTH,
            history=profile.history,
            reliability=profile.reliability,
            durability=profile.durability,
        )
        return self._reader.subscribe(topic.msg_type, topic.name, profile)

    def spin_some(self, executor: Executor) -> None:
        """Write everything that has arrived, a hundred times a second: waking up for each message costs more."""
        if self._writer is None:
            super().spin_some(executor)
            return
        for source in self._sources:
            self._write_all(*source)
        self.handle_events(executor)
        time.sleep(POLL_S)

    def _write_all(self, topic: Topic, subscription: Subscription) -> None:
        is_clock = topic.name == self._clock_topic and self.config.clock == "lockstep"
        for _ in range(LOCKSTEP_DEPTH):  # no more than fits the queue, lest one flooded topic keep the others waiting
            taken = self._reader.take_serialized(subscription)
            if taken is None:
                return
            data, receive_ns = taken
            self._write(topic, data, receive_ns or time.time_ns())
            if is_clock:
                self._report_progress(data)

    def _write(self, topic: Topic, data: bytes, receive_ns: int) -> None:
        if self._writer is None:
            return
        try:
            connection = self._connections.get(topic.name) or self._connect(topic)
            self._writer.write(connection, receive_ns, data)
        except OSError as error:
            self._give_up(error)

    def _connect(self, topic: Topic) -> Connection:
        assert self._writer is not None
        name = self.resolve_topic_name(topic.name)
        offered = [_to_qos(info) for info in self.get_publishers_info_by_topic(name)]
        connection = self._writer.add_connection(
            name, type_name(topic), typestore=self._typestore, offered_qos_profiles=offered
        )
        self._connections[topic.name] = connection
        return connection

    def _report_progress(self, data: bytes) -> None:
        try:
            stamp_ns = read_stamp_ns(data)
        except InputError as error:
            self.get_logger().warning(f"joint state recorded as it came: {error}", throttle_duration_sec=WARN_PERIOD_S)
            return
        if stamp_ns % PROGRESS_PERIOD_NS == 0:
            self._written_until.publish(UInt64(data=stamp_ns))

    def _flush(self) -> None:
        """Hand the chunk begun so far to the disk."""
        storage = None if self._writer is None else self._writer.storage
        if storage is None:
            return
        try:
            if storage.chunk.msgs:
                storage.close_chunk()
            storage.bio.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """End the process; what was written so far stays readable, without an index."""
        writer, self._writer = self._writer, None
        assert writer is not None
        self.fail(f"bag {writer.path} cannot be written: {error}; free space or choose another folder")
        _abort(writer)


def recorded_topics(driver: DriverConfig) -> list[Topic]:
    """Return the topics of the table that are recorded, and those of a robot's own that are not in it."""
    kind = {"Float64MultiArray": Float64MultiArray, "JointState": JointState, "JointTrajectory": JointTrajectory}
    own = [Topic(name, JointState, "BE1") for name in driver.joint_states_topics]
    own += [Topic(name, kind[driver.command_type], "R1") for name in driver.command_topics]
    return [topic for topic in TOPICS.values() if topic.recorded] + [topic for topic in own if topic.name not in TOPICS]


def _abort(writer: Writer) -> None:
    with suppress(OSError):  # closing hands the rest of the buffer to the disk that has just refused it
        writer.abort()


def _sync(folder: Path) -> None:
    """Bring the files of a bag to the disk, past the system's buffers."""
    for file in folder.iterdir():
        with file.open("rb") as opened:
            os.fsync(opened.fileno())


def type_name(topic: Topic) -> str:
    """Return the full name of a topic's type, such as sensor_msgs/msg/JointState."""
    package, kind, *_ = topic.msg_type.__module__.split(".")
    return f"{package}/{kind}/{topic.msg_type.__name__}"


def _read_metadata(text: str) -> dict[str, object]:
    try:
        metadata = json.loads(text)
    except json.JSONDecodeError as error:
        raise BagError(f"parameter metadata_json is not valid JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise BagError(f"parameter metadata_json is a {type(metadata).__name__}; give a JSON object")
    return metadata


def _open(path: Path) -> Writer:
    try:
        writer: Writer = CheckedWriter(path)
        writer.open()
    except WriterError as error:
        raise BagError(f"bag {path} exists already; choose a new folder or remove it") from error
    except OSError as error:
        raise BagError(f"bag {path} cannot be created: {error.strerror}; choose a folder you may write to") from error
    return writer


def _to_qos(info: TopicEndpointInfo) -> Qos:
    """Return what a publisher offers in the bag's terms; DDS does not tell history and depth of others."""
    profile = info.qos_profile
    never = QosTime(9223372036, 854775807)
    return Qos(
        history=QosHistory(int(profile.history)),
        depth=profile.depth,
        reliability=QosReliability(int(profile.reliability)),
        durability=QosDurability(int(profile.durability)),
        deadline=never,
        lifespan=never,
        liveliness=QosLiveliness(int(profile.liveliness)),
        liveliness_lease_duration=never,
        avoid_ros_namespace_conventions=False,
    )


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(RecorderNode))


if __name__ == "__main__":
    main()
