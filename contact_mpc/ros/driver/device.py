"""The device's end of the wire: joint states as a driver sends them, commands as it reads them.

What stands in for a robot, a simulated plant or the mock driver, wears a robot's names, topics and types with it.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from contact_mpc.errors import InputError
from contact_mpc.ros.driver.command_output import MESSAGE_TYPES, check_driver
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import qos_profile
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.settings.arrays import FloatArray


class DeviceStates:
    """Publishes joint states under a driver's names.

    Parameters
    ----------
    node : ContactNode
        The node that stands in for the robot.
    config : DriverConfig
        The driver.
    joint_names : sequence of str
        The system's joints.
    parts : int
        Messages that a joint state comes in.
    """

    def __init__(self, node: ContactNode, config: DriverConfig, joint_names: Sequence[str], parts: int = 1) -> None:
        names, n_a = config.names(tuple(joint_names)), len(joint_names)
        self._others = [name for name in config.command_joints if name not in names]
        profile = qos_profile("BE1", node.config.clock)
        self._outputs: list[tuple[Publisher, JointState, slice]] = []
        for topic, part in zip(config.joint_states_topics, config.slices(n_a), strict=True):
            publisher = node.create_publisher(JointState, topic, profile)
            node.add_topic_entity(publisher)
            for rows in np.array_split(np.arange(part.start, part.stop), parts):
                piece = slice(int(rows[0]), int(rows[-1]) + 1)
                message = messages.make_joint_state([*names[piece], *(self._others if not self._outputs else ())])
                self._outputs.append((publisher, message, piece))

    @property
    def publishers(self) -> list[Publisher]:
        """One for each topic."""
        return list(dict.fromkeys(publisher for publisher, _, _ in self._outputs))

    def publish(self, t_ns: int, q: FloatArray, dq: FloatArray, tau: FloatArray, frame_id: str = "") -> None:
        """Send positions, rad, velocities, rad/s, and torques, N m, all (n_a,) in the system's order."""
        for k, (publisher, message, piece) in enumerate(self._outputs):
            message.header.frame_id = frame_id
            messages.fill_joint_state(message, t_ns, q[piece], dq[piece], tau[piece])
            if k == 0 and self._others:
                rest = array("d", [0.0] * len(self._others))
                for field in ("position", "velocity", "effort"):
                    setattr(message, field, getattr(message, field) + rest)
            publisher.publish(message)


class DeviceCommands:
    """Reads commands as a driver does.

    Parameters
    ----------
    config : DriverConfig
        The driver.
    joint_names : sequence of str
        The system's joints.
    interface : str
        "effort" or "position".
    """

    def __init__(self, config: DriverConfig, joint_names: Sequence[str], interface: str) -> None:
        check_driver(config, tuple(joint_names), interface)
        self._names = config.names(tuple(joint_names))
        self._order = config.command_joints or self._names
        self._slices = config.slices(len(self._names)) if config.groups else [slice(0, len(self._order))]
        self._columns = np.array([self._order.index(name) for name in self._names], dtype=np.int64)
        if config.groups:
            self._columns = np.arange(len(self._names))
        self._field = interface
        self._row = np.zeros(len(self._order))
        self._stamps: list[int | None] = [-1] * len(self._slices)
        self.topics = config.topics_of_commands(interface)
        self.msg_type = MESSAGE_TYPES[config.command_type]

    def subscribe(self, create: Callable[[Any, str], Any]) -> list[Any]:
        """Return what `create(message type, topic)` makes for each topic."""
        return [create(self.msg_type, topic) for topic in self.topics]

    def read(self, message: Any, topic: int = 0) -> tuple[int | None, FloatArray] | None:
        """Return the stamp, ns, where it has one, and the commands (n_a,) in the system's order.

        None until every driver has been commanded, at the same stamp where commands have one.

        Raises
        ------
        InputError
            Other joints or lengths, or a value that is not finite.
        """
        part = self._slices[topic]
        stamp_ns, values = self._values(message, self._order[part])
        self._row[part] = values
        self._stamps[topic] = stamp_ns
        is_whole = all(stamp == stamp_ns for stamp in self._stamps)
        return (stamp_ns, self._row[self._columns].copy()) if is_whole else None

    def _values(self, message: Any, names: tuple[str, ...]) -> tuple[int | None, FloatArray]:
        if isinstance(message, Float64MultiArray):
            return messages.read_commands(message, len(names))
        if isinstance(message, JointState):
            order = messages.JointOrder(names)
            return messages.from_stamp(message.header.stamp), order.pick(
                self._field, getattr(message, self._field), message.name
            )
        if len(message.points) != 1:
            raise InputError(f"trajectory has {len(message.points)} points; expected 1")
        return None, messages.JointOrder(names).pick("positions", message.points[0].positions, message.joint_names)
