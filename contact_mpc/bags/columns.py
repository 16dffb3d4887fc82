"""Rows of numbers that grow message by message in flat buffers: 8 bytes a number, no object per message."""

from array import array
from typing import Any

import numpy as np

from contact_mpc.bags.record import IntArray
from contact_mpc.errors import BagError
from contact_mpc.settings.arrays import FloatArray


def ints(values: "array[int]") -> IntArray:
    """Return a buffer of integers as an array."""
    return np.array(values, dtype=np.int64)


class Columns:
    """Stamps, times of receipt and named rows of constant width."""

    def __init__(self, key: str, topic: str) -> None:
        self.key = key
        self.topic = topic
        self.skipped: dict[str, int] = {}
        self._stamps = array("q")
        self._receipts = array("q")
        self._rows: dict[str, tuple[int, array[float]]] = {}

    def row(self, stamp_ns: int, receive_ns: int, **values: Any) -> None:
        """Append one message; values of another length than the first message's are an error."""
        flat = {name: np.asarray(value, dtype=np.float64).ravel() for name, value in values.items()}
        for name, value in flat.items():
            width = self._rows.setdefault(name, (len(value), array("d")))[0]
            if len(value) != width:
                raise BagError(f"topic {self.topic}: {name} changes its length from {width} to {len(value)}")
        for name, value in flat.items():
            self._rows[name][1].frombytes(value.tobytes())
        self._stamps.append(stamp_ns)
        self._receipts.append(receive_ns)

    def stamps(self) -> dict[str, Any]:
        """Return the constructor arguments that every series needs."""
        return {"topic": self.topic, "t_ns": ints(self._stamps), "receive_ns": ints(self._receipts)}

    def column(self, name: str, *shape: int) -> FloatArray:
        """Return the values called `name`, (n, *shape), by default (n, width)."""
        width, data = self._rows[name]
        return np.array(data, dtype=np.float64).reshape(len(self._stamps), *(shape or (width,)))

    def warnings(self) -> list[str]:
        """Return how many messages were left out and why."""
        return [f"topic {self.topic}: {count} messages left out: {why}" for why, count in self.skipped.items()]
