"""Commands in the driver's order, names and message type, to one driver or to several."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_mpc.errors import ConfigError
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import qos_profile
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.settings.arrays import FloatArray

MESSAGE_TYPES: dict[str, Any] = {
    "Float64MultiArray": Float64MultiArray, "JointState": JointState, "JointTrajectory": JointTrajectory,
}  # fmt: skip


class CommandOutput:
    """Publishes commands for a driver.

    Parameters
    ----------
    node : ContactNode
        The node that commands.
    config : DriverConfig
        The driver.
    joint_names : sequence of str
        The system's joints.
    interface : str
        "effort" or "position".
    period_s : float
        Time between commands, s: what a JointTrajectory looks ahead.

    Raises
    ------
    ConfigError
        The driver's joints or message type do not fit.
    """

    def __init__(
        self, node: ContactNode, config: DriverConfig, joint_names: Sequence[str], interface: str, period_s: float
    ) -> None:
        check_driver(config, tuple(joint_names), interface)
        names = config.names(tuple(joint_names))
        order = config.command_joints or names
        self._others = {name: column for column, name in enumerate(order) if name not in names}
        self._unknown = set(self._others)
        columns = [order.index(name) for name in names] if not config.groups else list(range(len(names)))
        self._columns = np.array(columns, dtype=np.int64)
        self._row = np.zeros(len(order))
        self._slices = config.slices(len(names)) if config.groups else [slice(0, len(order))]
        self._field = "position" if interface == "position" else "effort"
        msg_type = MESSAGE_TYPES[config.command_type]
        self.publishers, self._messages = [], []
        profile = qos_profile("R1", node.config.clock)
        for topic, part in zip(config.topics_of_commands(interface), self._slices, strict=True):
            self.publishers.append(node.create_publisher(msg_type, topic, profile))
            node.add_topic_entity(self.publishers[-1])
            self._messages.append(_make_message(config.command_type, order[part], period_s))

    @property
    def unknown(self) -> str:
        """Joints besides the system's that are held, and whose place is not known yet; "" where all are."""
        return ", ".join(sorted(self._unknown))

    def take_others(self, message: JointState) -> None:
        """Note where joints besides the system's are, from the first joint states on."""
        for name, position in zip(message.name, message.position, strict=False):
            if name in self._unknown and np.isfinite(position):
                self._row[self._others[name]] = position
                self._unknown.discard(name)

    def publish(self, t_ns: int, values: FloatArray) -> None:
        """Send the commands (n_a,) that answer the joint state stamped t_ns, in the system's order."""
        self._row[self._columns] = values
        for publisher, message, part in zip(self.publishers, self._messages, self._slices, strict=True):
            publisher.publish(self._fill(message, t_ns, self._row[part]))

    def wait_for_all_acked(self, timeout_s: float) -> None:
        """Wait until the drivers have acknowledged the last commands."""
        for publisher in self.publishers:
            publisher.wait_for_all_acked(Duration(seconds=timeout_s))

    def _fill(self, message: Any, t_ns: int, values: FloatArray) -> Any:
        if isinstance(message, Float64MultiArray):
            return messages.fill_commands(message, t_ns, values)
        if isinstance(message, JointState):
            messages.set_stamp(message.header.stamp, t_ns)
            setattr(message, self._field, messages.to_array(values))
            return message
        message.points[0].positions = messages.to_array(values)
        return message


def check_driver(config: DriverConfig, joint_names: tuple[str, ...], interface: str) -> None:
    """Raise ConfigError where a driver's joints or message type do not fit a system's joints and the interface."""
    if mistake := config.find_mistake(joint_names, interface):
        raise ConfigError(f"driver: {mistake}")


def _make_message(kind: str, names: Sequence[str], period_s: float) -> Any:
    """Return a message to be filled; a trajectory without a stamp begins when it is received."""
    if kind == "Float64MultiArray":
        return messages.make_commands(len(names))
    if kind == "JointState":
        return JointState(name=list(names))
    point = JointTrajectoryPoint(time_from_start=messages.to_duration(period_s))
    return JointTrajectory(joint_names=list(names), points=[point])
