"""Faults of messages: stopped, delayed, old, edited, multiplied."""

import copy
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.serialization import deserialize_message, serialize_message

from contact_mpc.ros.faults.channel import Spoiler
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.settings.units import NS_PER_S


class Stop(Spoiler):
    """Nothing passes."""

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return nothing."""
        return ()


class Delay(Spoiler):
    """Messages pass later: by `delay_s`, growing by `growth` seconds per second."""

    def __init__(self, delay_s: float, growth: float = 0.0) -> None:
        self._delay_ns, self._growth = delay_s * NS_PER_S, growth
        self._begin_ns: int | None = None
        self._queue: deque[tuple[int, bytes]] = deque()

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Queue the message."""
        if self._begin_ns is None:
            self._begin_ns = now_ns
        late_ns = self._delay_ns + self._growth * (now_ns - self._begin_ns)
        self._queue.append((now_ns + round(late_ns), data))
        return ()

    def due(self, now_ns: int) -> Sequence[bytes]:
        """Return what has waited for long enough."""
        out = []
        while self._queue and self._queue[0][0] <= now_ns:
            out.append(self._queue.popleft()[1])
        return out


class Replay(Spoiler):
    """Old messages pass in place of new ones: the history from the beginning on, or one of them again and again."""

    def __init__(self, history: Sequence[bytes], frozen: bool = False) -> None:
        self._old = deque(history)
        self._frozen = frozen

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return an old message."""
        if self._frozen:
            return (self._old[-1],)
        return (self._old.popleft(),) if self._old else ()


class Edit(Spoiler):
    """Messages pass with other contents."""

    def __init__(self, msg_type: Any, change: Callable[[Any], None]) -> None:
        self._type, self._change = msg_type, change

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return the changed message."""
        message = deserialize_message(data, self._type)
        self._change(message)
        return (serialize_message(message),)


class Multiply(Spoiler):
    """Every message passes `count` times, with stamps `spacing_s` apart."""

    def __init__(self, msg_type: Any, count: int, spacing_s: float) -> None:
        self._type, self._count, self._spacing_ns = msg_type, count, round(spacing_s * NS_PER_S)
        self._queue: deque[tuple[int, bytes]] = deque()

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return the message and queue its copies."""
        message = deserialize_message(data, self._type)
        stamp_ns = messages.from_stamp(message.header.stamp)
        for k in range(1, self._count):
            again = copy.deepcopy(message)
            messages.set_stamp(again.header.stamp, stamp_ns + k * self._spacing_ns)
            self._queue.append((now_ns + k * self._spacing_ns, serialize_message(again)))
        return (data,)

    def due(self, now_ns: int) -> Sequence[bytes]:
        """Return the copies whose time has come."""
        out = []
        while self._queue and self._queue[0][0] <= now_ns:
            out.append(self._queue.popleft()[1])
        return out


class Ramp(Spoiler):
    """Messages pass with contents that drift: `change` gets the message and its age since the first, s, by stamps."""

    def __init__(self, msg_type: Any, change: Callable[[Any, float], None]) -> None:
        self._type, self._change = msg_type, change
        self._begin_ns: int | None = None

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return the changed message."""
        message = deserialize_message(data, self._type)
        stamp_ns = messages.from_stamp(message.header.stamp)
        if self._begin_ns is None:
            self._begin_ns = stamp_ns
        self._change(message, (stamp_ns - self._begin_ns) / NS_PER_S)
        return (serialize_message(message),)


class Flood(Spoiler):
    """Messages pass, and the newest one again every `spacing_s`, far more often than anybody can answer."""

    def __init__(self, spacing_s: float) -> None:
        self._spacing_ns = round(spacing_s * NS_PER_S)
        self._newest: bytes | None = None
        self._sent_ns = 0

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return the message and remember it."""
        self._newest, self._sent_ns = data, now_ns
        return (data,)

    def due(self, now_ns: int) -> Sequence[bytes]:
        """Return as many copies as the time since the last one asks for."""
        if self._newest is None:
            return ()
        count = (now_ns - self._sent_ns) // self._spacing_ns
        self._sent_ns += count * self._spacing_ns
        return (self._newest,) * count


class Pad(Spoiler):
    """Messages pass with so many bytes that belong to nothing at their end."""

    def __init__(self, count: int) -> None:
        self._padding = bytes(count)

    def take(self, data: bytes, now_ns: int) -> Sequence[bytes]:
        """Return the longer message."""
        return (data + self._padding,)
