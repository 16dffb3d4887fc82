"""Subscriptions that a node reads itself, in its own loop, instead of an executor calling it back.

One wait on several subscriptions with a deadline, then the messages in the order that the loop wants them: the same
thread waits, answers and watches the time, so there is one hop from message to answer and nothing to lock.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from contact_mpc.ros.runtime.message_source import MessageSource, Taken
from contact_mpc.settings.units import NS_PER_S

MOST_AT_ONCE = 4  # messages for each turn of a loop: a flood of one topic must not keep the others waiting
T = TypeVar("T")


def at_most(count: int, take: Callable[[], T | None]) -> Iterator[T]:
    """Yield what `take` returns until that is None, at most so many times.

    While a loop handles a message, others arrive: on a busy machine one that goes on until there are none never ends,
    and what else the node reads has to wait.
    """
    for _ in range(count):
        taken = take()
        if taken is None:
            return
        yield taken


class DirectReader:
    """Waits for and takes messages of subscriptions that no executor knows of.

    Parameters
    ----------
    node : Node
        Owner of the subscriptions.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._subscriptions: list[Subscription] = []
        self._wait_set: Any = None
        self._source = MessageSource()

    def subscribe(self, msg_type: Any, topic: str, profile: QoSProfile) -> Subscription:
        """Create a subscription and take it off the list that the node's executor reads."""
        subscription = self._node.create_subscription(msg_type, topic, _not_called, profile)
        self._node._subscriptions.remove(subscription)
        self._subscriptions.append(subscription)
        context, count = self._node.context, len(self._subscriptions)
        self._wait_set = rclpy_implementation.WaitSet(count, 0, 0, 0, 0, 0, context.handle)
        return subscription

    def wait(self, timeout_s: float) -> None:
        """Return when a message has arrived or the time is over."""
        wait_set = self._wait_set
        wait_set.clear_entities()
        for subscription in self._subscriptions:
            wait_set.add_subscription(subscription.handle)
        wait_set.wait(max(int(timeout_s * NS_PER_S), 0))

    @staticmethod
    def take(subscription: Subscription) -> tuple[Any, int] | None:
        """Return the oldest message and when it was published (system clock, ns; 0 if unknown), or None."""
        taken = subscription.handle.take_message(subscription.msg_type, False)
        return None if taken is None else (taken[0], int(taken[1].get("source_timestamp", 0)))

    @staticmethod
    def take_serialized(subscription: Subscription) -> tuple[bytes, int] | None:
        """Return the oldest message as bytes and when it was received (system clock, ns; 0 if unknown), or None."""
        taken = subscription.handle.take_message(subscription.msg_type, True)
        return None if taken is None else (taken[0], int(taken[1].get("received_timestamp", 0)))

    def take_from(self, subscription: Subscription, largest: int) -> Taken | None:
        """Return the oldest message as bytes with its publisher, or None; see `MessageSource.take`."""
        return self._source.take(subscription.handle, largest)

    def drain(self) -> int:
        """Drop everything that has arrived; returns how many messages."""
        dropped = 0
        for subscription in self._subscriptions:
            while self.take(subscription) is not None:
                dropped += 1
        return dropped

    def destroy(self) -> None:
        """Destroy the subscriptions."""
        for subscription in self._subscriptions:
            subscription.destroy()
        self._subscriptions.clear()
        self._wait_set = None


def _not_called(_message: Any) -> None:
    raise AssertionError("a subscription that is read directly was given to an executor")
