"""Joint states that come in parts, as some drivers send them: A1 to A3 in one message, A4 to A7 in the next.

Parts whose stamps differ by no more than a tolerance are one joint state, with the stamp of the oldest, so that its age
is never understated. A message with all joints passes unchanged; one that has none of them is somebody else's.

Messages are anything with the fields of sensor_msgs/JointState: those of ROS, and those read from a bag without it.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S

DEPTH = 8  # of subscriptions to joint states: parts that come at once are all there
IntArray = NDArray[np.int64]
FIELDS = ("position", "velocity", "effort")


@dataclass
class Stamp:
    """Time of a header."""

    sec: int = 0
    nanosec: int = 0


@dataclass
class Header:
    """Stamp and frame."""

    stamp: Stamp = field(default_factory=Stamp)
    frame_id: str = ""


@dataclass
class MergedJointState:
    """What parts became, with the fields of sensor_msgs/JointState."""

    name: list[str]
    header: Header = field(default_factory=Header)
    position: "array[float]" = field(default_factory=lambda: array("d"))
    velocity: "array[float]" = field(default_factory=lambda: array("d"))
    effort: "array[float]" = field(default_factory=lambda: array("d"))

    def fill(self, t_ns: int, **values: FloatArray | None) -> "MergedJointState":
        """Write stamp and values; None leaves a field empty."""
        self.header.stamp.sec, self.header.stamp.nanosec = divmod(t_ns, NS_PER_S)
        for name, value in values.items():
            setattr(self, name, array("d") if value is None else array("d", value.tobytes()))
        return self


class JointParts:
    """Puts the parts of joint states together.

    Parameters
    ----------
    names : sequence of str
        The driver's names, in the order of the system's joints.
    slices : sequence of slice
        The joints of each topic.
    within_ns : int
        How far apart the stamps of parts may be, ns.

    Attributes
    ----------
    names : tuple of str
        The joints of a whole state: the driver's names, in several groups with the group's number before them.
    missing : str
        What the newest part lacks although others have come twice; "" otherwise.
    """

    def __init__(self, names: Sequence[str], slices: Sequence[slice], within_ns: int) -> None:
        self._names, self._slices, self._within_ns = tuple(names), list(slices), within_ns
        groups = [(k, row) for k, part in enumerate(slices) for row in range(part.start, part.stop)]
        self.names = tuple(f"{k}/{names[row]}" for k, row in groups) if len(slices) > 1 else self._names
        self._last_whole: list[str] | None = None
        self._columns = lru_cache(maxsize=64)(self._find_columns)
        self._merged = MergedJointState(list(self.names))
        self.clear()

    def clear(self) -> None:
        """Forget parts."""
        n = len(self._names)
        self._stamps = np.full(n, -1, dtype=np.int64)
        self._values = {name: np.full(n, np.nan) for name in FIELDS}
        self._has = {name: np.zeros(n, dtype=bool) for name in FIELDS}
        self.missing, self._has_completed = "", False

    def complete(self, message: Any, topic: int = 0) -> Any:
        """Return the joint state that a message completes, the message itself where it has all; None until then.

        A message that names a joint twice is handed on: who reads it refuses it.
        """
        if message.name == self._last_whole and len(self._slices) == 1:
            return message
        names = tuple(message.name)
        if len(set(names)) != len(names):
            return message
        rows, columns = self._columns(names, topic)
        if len(rows) == len(self._names):
            self._last_whole, self.missing, self._has_completed = list(names), "", True
            return message
        if not len(rows):
            if not self._has_completed:
                self.missing = f"joints {', '.join(self.names)} missing; the message names {', '.join(names) or 'none'}"
            return None
        return self._take(message, rows, columns)

    def _take(self, message: Any, rows: IntArray, columns: IntArray) -> MergedJointState | None:
        t_ns = int(message.header.stamp.sec) * NS_PER_S + int(message.header.stamp.nanosec)
        is_repeated = bool(np.any(self._stamps[rows] >= 0))
        self._stamps[np.abs(self._stamps - t_ns) > self._within_ns] = -1
        self._stamps[rows] = t_ns
        for kind in FIELDS:
            sent: FloatArray = np.array(getattr(message, kind), dtype=np.float64)
            has = sent.shape == (len(message.name),)
            self._has[kind][rows] = has
            if has:
                self._values[kind][rows] = sent[columns]
        absent = self._stamps < 0
        if absent.any():
            if is_repeated:
                lacking = [name for name, is_absent in zip(self.names, absent, strict=True) if is_absent]
                self.missing = f"joints {', '.join(lacking)} missing; the message names {', '.join(message.name)}"
            return None
        oldest_ns, self.missing, self._has_completed = int(self._stamps.min()), "", True
        self._stamps[:] = -1
        known = {kind: self._values[kind] if self._has[kind].all() else None for kind in FIELDS}
        if known["position"] is None:
            self.missing = "positions missing"
            return None
        return self._merged.fill(oldest_ns, **known)

    def _find_columns(self, names: tuple[str, ...], topic: int) -> tuple[IntArray, IntArray]:
        """Return rows of the system's joints that a message has, and their columns in it."""
        own = range(*self._slices[topic].indices(len(self._names)))
        found = [(row, names.index(self._names[row])) for row in own if self._names[row] in names]
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]
