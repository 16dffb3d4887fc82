"""One topic, one publisher: messages of the publisher that came first, within a size, in bounded numbers at a time.

What is too long is refused by its length, before anything is converted: a plan of 10^5 points would hold the loop that
reads it for the better part of a second. What comes from another publisher than the first, by its GID, is counted by
publisher and never used. The first one is forgotten by `release`, on activation and on an operator's reset; another
takes its place by itself only after a silence of `takeover_ns`, and if whoever asks is asked for a session it must name
the right one.

The session keeps stacks apart that share a network; it is no secret, since plans and parameters can be read by all.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.subscription import Subscription

from contact_mpc.errors import InputError
from contact_mpc.ros.messages.serialized import deserialize, read_header
from contact_mpc.ros.runtime.direct_reader import MOST_AT_ONCE, DirectReader, at_most
from contact_mpc.ros.runtime.message_source import Gid, Taken


class TopicGate:
    """Takes the messages of a topic for a loop.

    Parameters
    ----------
    reader : DirectReader
        Waits for the subscription.
    subscription : Subscription
        The topic.
    on_refused : callable
        Called with reason and message for each that is not used: "stranger", "too_long", "session" or "malformed".
    largest : int
        Bytes of the longest message that is used.
    takeover_ns : int or None
        Silence of the publisher after which another one may take its place, ns; None: never by itself.
    session : str
        What `header.frame_id` must say, for messages with a header; empty: anything.

    Attributes
    ----------
    strangers : Counter
        Messages of other publishers by their GID.
    """

    def __init__(
        self, reader: DirectReader, subscription: Subscription, on_refused: Callable[[str, Taken], None], largest: int,
        takeover_ns: int | None = None, session: str = "",
    ) -> None:  # fmt: skip
        self._reader, self._subscription, self._largest = reader, subscription, largest
        self._on_refused = on_refused
        self._takeover_ns, self._session = takeover_ns, session
        self.strangers: Counter[Gid] = Counter()
        self._gid: Gid | None = None
        self._heard_ns = 0

    def release(self) -> None:
        """Take the next publisher that sends for the one to listen to."""
        self._gid = None

    def take(self) -> tuple[Any, int] | None:
        """Return the oldest message that may be used and when it was published (system clock, ns), or None.

        At most `MOST_AT_ONCE` messages are looked at; None also where these were refused.
        """
        for taken in at_most(MOST_AT_ONCE, lambda: self._reader.take_from(self._subscription, self._largest)):
            reason, message = self._read(taken)
            if not reason:
                return message, taken.published_ns
            self._on_refused(reason, taken)
        return None

    def _read(self, taken: Taken) -> tuple[str, Any]:
        """Return why a message is refused, empty if it is not, and the message."""
        if self._gid not in (None, taken.gid) and not self._may_take_over(taken):
            self.strangers[taken.gid] += 1
            return "stranger", None
        if len(taken.data) > self._largest:
            return "too_long", None
        try:
            if self._session and read_header(taken.data)[1] != self._session:
                return "session", None
            message = deserialize(taken.data, self._subscription.msg_type)
        except InputError:
            return "malformed", None
        self._gid, self._heard_ns = taken.gid, taken.received_ns
        return "", message

    def _may_take_over(self, taken: Taken) -> bool:
        return self._takeover_ns is not None and taken.received_ns - self._heard_ns > self._takeover_ns

    def describe_strangers(self, node: Node) -> str:
        """Return who they are and how many messages each has sent, by their nodes' names as the graph knows them."""
        names = {
            bytes(info.endpoint_gid): f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in node.get_publishers_info_by_topic(self._subscription.topic_name)
        }
        return ", ".join(
            f"{names.get(gid, 'unknown ' + gid.hex())} ({count})" for gid, count in self.strangers.most_common(3)
        )
