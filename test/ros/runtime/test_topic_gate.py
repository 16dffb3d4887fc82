"""One publisher per topic, within a size: who came first is heard, everybody else is counted and named."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from contact_mpc.ros.runtime.direct_reader import MOST_AT_ONCE, DirectReader
from contact_mpc.ros.runtime.message_source import Taken
from contact_mpc.ros.runtime.topic_gate import TopicGate
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.settings.units import NS_PER_S

pytestmark = [pytest.mark.dds, pytest.mark.realtime]
QUEUE = QoSProfile(depth=100)


class Ends:
    """A subscription and two nodes that publish to it, and counts of what was published and of what a gate has seen."""

    def __init__(self, context: Context) -> None:
        self.published = self.seen = 0
        self.nodes = [Node(name, context=context, namespace="/hand") for name in ("reader", "driver", "intruder")]
        self.reader = DirectReader(self.nodes[0])
        self.subscription = self.reader.subscribe(JointState, "joint_states", QUEUE)
        self.driver, self.intruder = (Publisher(self, node) for node in self.nodes[1:])
        deadline = time.monotonic() + HANG_S
        while self.subscription.handle.get_publisher_count() < 2 or not (
            self.driver.is_heard and self.intruder.is_heard
        ):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def gate(self, **options: Any) -> tuple[TopicGate, Counter[str]]:
        refused: Counter[str] = Counter()

        def count(reason: str, _taken: Taken) -> None:
            refused.update([reason])
            self.seen += 1

        return TopicGate(self.reader, self.subscription, count, 1000, **options), refused

    def take(self, gate: TopicGate) -> list[str]:
        """Return the first joint of each message that passes, once all that were published have come."""
        passed, deadline = list[str](), time.monotonic() + HANG_S
        while self.seen < self.published:
            assert time.monotonic() < deadline, f"{self.seen} of {self.published} messages"
            self.reader.wait(0.01)
            if (taken := gate.take()) is not None:
                passed.append(taken[0].name[0])
                self.seen += 1
        return passed


class Publisher:
    """Publishes and counts."""

    def __init__(self, ends: Ends, node: Node) -> None:
        self._ends, self._publisher = ends, node.create_publisher(JointState, "joint_states", QUEUE)

    @property
    def is_heard(self) -> bool:
        return self._publisher.get_subscription_count() > 0

    def publish(self, message: JointState) -> None:
        self._publisher.publish(message)
        self._ends.published += 1


@pytest.fixture(scope="module")
def ends() -> Iterator[Ends]:
    lease, context = DomainLease(None), Context()
    rclpy.init(context=context, domain_id=lease.domain)
    ends = Ends(context)
    yield ends
    ends.reader.destroy()
    for node in ends.nodes:
        node.destroy_node()
    context.try_shutdown()
    lease.release()


def message(name: str, frame_id: str = "") -> JointState:
    out = JointState(name=[name])
    out.header.frame_id = frame_id
    return out


def test_only_the_first_publisher_is_heard_and_the_others_are_counted_and_named(ends: Ends) -> None:
    gate, refused = ends.gate()
    ends.driver.publish(message("a"))
    assert ends.take(gate) == ["a"]
    for _ in range(3):
        ends.intruder.publish(message("b"))
    ends.driver.publish(message("c"))
    assert ends.take(gate) == ["c"]
    assert refused == {"stranger": 3}
    assert gate.describe_strangers(ends.nodes[0]) == "/hand/intruder (3)"
    gate.release()
    ends.intruder.publish(message("d"))
    ends.take(gate)
    ends.driver.publish(message("e"))
    assert ends.take(gate) == []


def test_another_takes_over_after_a_silence_where_that_is_allowed(ends: Ends) -> None:
    gate, _refused = ends.gate(takeover_ns=2 * NS_PER_S)
    ends.driver.publish(message("a"))
    assert ends.take(gate) == ["a"]
    ends.intruder.publish(message("b"))
    assert ends.take(gate) == []
    time.sleep(2.0)
    ends.intruder.publish(message("c"))
    assert ends.take(gate) == ["c"]


def test_what_is_too_long_or_of_another_session_is_refused_unread(ends: Ends) -> None:
    gate, refused = ends.gate(session="here")
    ends.driver.publish(message("x" * 1000, "here"))
    ends.driver.publish(message("a", "there"))
    ends.driver.publish(message("b"))
    ends.driver.publish(message("c", "here"))
    assert ends.take(gate) == ["c"]
    assert refused == {"too_long": 1, "session": 2}


def test_a_flood_is_looked_at_in_small_portions(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, refused = ends.gate()
    ends.driver.publish(message("a"))
    assert ends.take(gate) == ["a"]
    for _ in range(2 * MOST_AT_ONCE):
        ends.intruder.publish(message("b"))
    queue, deadline = list[Taken](), time.monotonic() + HANG_S
    while len(queue) < 2 * MOST_AT_ONCE:  # all are there before the gate looks
        assert time.monotonic() < deadline
        ends.reader.wait(0.01)
        if (taken := ends.reader.take_from(ends.subscription, 1000)) is not None:
            queue.append(taken)
    monkeypatch.setattr(ends.reader, "take_from", lambda _subscription, _largest: queue.pop(0) if queue else None)
    assert gate.take() is None
    assert refused["stranger"] == MOST_AT_ONCE
    assert gate.take() is None
    assert refused["stranger"] == 2 * MOST_AT_ONCE
