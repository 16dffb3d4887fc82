"""One topic on its way through the relay: passed on untouched, or as the fault of the moment leaves it."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher

from contact_mpc.errors import StackError
from contact_mpc.ros.messages.qos import Topic, qos_profile
from contact_mpc.ros.messages.serialized import read_stamp_ns
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.settings.arrays import FloatArray

HISTORY = 2000


class Spoiler:
    """What a fault does to the messages of a topic; this one does nothing."""

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return what is sent in place of a message that arrives at now_ns (monotonic clock)."""
        return (data,)

    def due(self, now_ns: int) -> Sequence[bytes]:
        """Return what is sent at now_ns without a message."""
        return ()


class Channel:
    """Forwards one topic.

    Parameters
    ----------
    reader : DirectReader
        Takes the messages.
    subscription : Subscription
        Where they come from.
    node : Node
        Owner of the publisher.
    topic : Topic
        Name and type of what goes on.
    v_max : (n_a,) array
        The robot's velocity limits, by which spoilt states are measured, rad/s.

    Attributes
    ----------
    spoiler : Spoiler
        The fault of the moment.
    history : deque of bytes
        What has arrived.
    last_sent_ns, last_stamp_ns : int
        When the latest untouched message was passed on, monotonic clock, and its stamp.
    offset_ns : int
        Receipt, monotonic clock, less stamp of the latest message.
    first_spoilt_ns, first_spoilt_stamp_ns : int or None
        When something else than what had come was first sent, since `spoil`, and the stamp of what had come.
    """

    def __init__(self, reader: DirectReader, subscription: Any, node: Node, topic: Topic, v_max: FloatArray) -> None:
        self.v_max = v_max
        self._reader, self._subscription, self._node, self._topic = reader, subscription, node, topic
        self._publisher: Publisher | None = None
        self._intruder: Publisher | None = None
        self.connect()
        self.spoiler = Spoiler()
        self.history: deque[bytes] = deque(maxlen=HISTORY)
        self.last_sent_ns = self.last_stamp_ns = 0
        self.offset_ns = 0
        self.first_spoilt_ns: int | None = None
        self.first_spoilt_stamp_ns: int | None = None

    @property
    def msg_type(self) -> Any:
        """Class of the messages."""
        return self._topic.msg_type

    def intrude(self, spoiler: Spoiler, wait: Callable[[Callable[[], bool]], bool]) -> int:
        """Send the newest message, spoilt, from a publisher of its own; returns when, monotonic clock, ns."""
        profile = qos_profile(self._topic.quality, "realtime")
        self._intruder = self._node.create_publisher(self._topic.msg_type, self._topic.name, profile)
        if not wait(lambda: self._intruder is not None and self._intruder.get_subscription_count() > 0):
            raise StackError(f"nobody listens to {self._topic.name}")
        now_ns = time.monotonic_ns()
        for item in spoiler.take(self.history[-1], now_ns):
            self._intruder.publish(item)
        return now_ns

    def spoil(self, spoiler: Spoiler) -> None:
        """Begin a fault."""
        self.spoiler = spoiler
        self.first_spoilt_ns = self.first_spoilt_stamp_ns = None

    def mend(self) -> None:
        """End the fault."""
        self.spoiler = Spoiler()
        if self._intruder is not None:
            self._node.destroy_publisher(self._intruder)
            self._intruder = None

    def disconnect(self) -> None:
        """Take the publisher away."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None

    def connect(self) -> None:
        """Make the publisher anew, so that its subscribers have to discover it."""
        if self._publisher is None:
            profile = qos_profile(self._topic.quality, "realtime")
            self._publisher = self._node.create_publisher(self._topic.msg_type, self._topic.name, profile)

    def forward(self) -> list[bytes]:
        """Pass on what has arrived and is due; returns what arrived."""
        arrived = []
        while (taken := self._reader.take_serialized(self._subscription)) is not None:
            arrived.append(taken[0])
            self._pass(taken[0])
        now_ns = time.monotonic_ns()
        for data in self.spoiler.due(now_ns):
            self._publish(data)
            self._note_spoilt(now_ns, data)
        return arrived

    def _pass(self, data: bytes) -> None:
        now_ns = time.monotonic_ns()
        self.history.append(data)
        self.offset_ns = now_ns - read_stamp_ns(data)
        out = self.spoiler.take(data, now_ns)
        for item in out:
            self._publish(item)
        if len(out) == 1 and out[0] is data:
            self.last_sent_ns, self.last_stamp_ns = now_ns, read_stamp_ns(data)
        else:
            self._note_spoilt(now_ns, data)

    def _note_spoilt(self, now_ns: int, data: bytes) -> None:
        if self.first_spoilt_ns is None:
            self.first_spoilt_ns, self.first_spoilt_stamp_ns = now_ns, read_stamp_ns(data)

    def _publish(self, data: bytes) -> None:
        if self._publisher is not None:
            self._publisher.publish(data)
