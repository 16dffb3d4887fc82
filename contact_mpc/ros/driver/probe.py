"""The wire to a robot's driver without the stack: joint states in, commands out, for the checks of a robot."""

import time
from types import SimpleNamespace
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState

from contact_mpc.commissioning.robot import Reading
from contact_mpc.errors import InputError, StackError
from contact_mpc.model.system import System
from contact_mpc.ros.driver.command_output import CommandOutput
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.joint_parts import DEPTH, JointParts

CONNECT_S = 15.0
WHOLE_S = 3.0  # from the first part of a joint state to a whole one
MOST_CLOCK_S = 1.0  # between a state's stamp and this machine's clock


class DriverProbe:
    """Reads and commands a robot's driver; see `contact_mpc.commissioning.robot.Robot`.

    Parameters
    ----------
    beside : Node
        In the robot's namespace; the probe has a node of its own there, which nothing else spins.
    system : System
        Whose joints are commanded.
    config : DriverConfig
        Names, topics, message type.
    interface : str
        "effort" or "position".
    period_s : float
        Time between commands, s.

    Raises
    ------
    StackError
        Nothing sends joint states, they have other joints, or something else commands the robot.
    """

    def __init__(self, beside: Node, system: System, config: DriverConfig, interface: str, period_s: float) -> None:
        node = Node("driver_probe", namespace=beside.get_namespace(), context=beside.context)
        self._node, names = node, config.names(system.joint_names)
        self._parts = JointParts(names, config.slices(system.n_a), round(config.parts_within_s * NS_PER_S))
        self._order = messages.JointOrder(self._parts.names)
        self._reader = DirectReader(node)
        profile = qos_profile(TOPICS["joint_states"].quality, "realtime", DEPTH)
        self._topics = config.joint_states_topics
        self._states = [self._reader.subscribe(JointState, topic, profile) for topic in self._topics]
        self._seen: tuple[str, ...] = ()
        try:
            self._wait_for_states()
            self._refuse_other_commanders(config.topics_of_commands(interface))
        except StackError:
            self.close()
            raise
        owner: Any = _Owner(node)
        self._output = CommandOutput(owner, config, system.joint_names, interface, period_s)
        self._stamp_ns = 0

    def read(self, timeout_s: float) -> Reading | None:
        """Return the newest whole joint state that has come since the last; None where none did in time."""
        deadline, newest = time.monotonic() + timeout_s, None
        while newest is None and (left_s := deadline - time.monotonic()) > 0.0:
            self._reader.wait(left_s)
            newest = self._take()
        if newest is None:
            return None
        stamp_ns = messages.from_stamp(newest.header.stamp)
        if abs(off_s := time.time() - stamp_ns / NS_PER_S) > MOST_CLOCK_S:
            raise StackError(
                f"joint states are stamped {off_s:.3f} s before this machine's time; synchronise the clocks"
            )
        self._stamp_ns = stamp_ns
        try:
            return Reading(stamp_ns / NS_PER_S, *messages.read_joint_state(newest, self._order))
        except InputError as error:
            raise StackError(f"joint states on {', '.join(self._topics)}: {error}") from error

    def send(self, values: FloatArray) -> float:
        """Send commands (n_a,) that answer the newest state."""
        self._output.publish(self._stamp_ns, values)
        return time.time()

    def close(self) -> None:
        """Leave the wire."""
        self._reader.destroy()
        self._node.destroy_node()

    def _take(self) -> JointState | None:
        newest = None
        for topic, subscription in enumerate(self._states):
            while (taken := self._reader.take(subscription)) is not None:
                self._seen = tuple(taken[0].name)
                newest = self._parts.complete(taken[0], topic) or newest
        return newest

    def _wait_for_states(self) -> None:
        deadline = time.monotonic() + CONNECT_S
        while time.monotonic() < deadline:
            self._reader.wait(0.1)
            had_seen = bool(self._seen)
            if self._take() is not None:
                return
            if self._seen and not had_seen:
                deadline = time.monotonic() + WHOLE_S
        topics = ", ".join(self._node.resolve_topic_name(topic) for topic in self._topics)
        if self._seen:
            missing = self._parts.missing or "no whole joint state"
            raise StackError(f"{topics}: {missing}; correct driver.joint_names of the robot file")
        raise StackError(
            f"no joint states on {topics} within {CONNECT_S:g} s: does the driver run, in this domain and namespace?"
        )

    def _refuse_other_commanders(self, topics: tuple[str, ...]) -> None:
        for topic in topics:
            if self._node.count_publishers(topic):
                name = self._node.resolve_topic_name(topic)
                raise StackError(f"something else commands the robot on {name}; end it first: two masters are none")


class _Owner:
    """A plain node with the face of a `ContactNode` for `CommandOutput`."""

    def __init__(self, node: Node) -> None:
        self.config = SimpleNamespace(clock="realtime")
        self.create_publisher = node.create_publisher

    def add_topic_entity(self, _entity: Any) -> None:
        """Do nothing: `DriverProbe.close` releases."""
