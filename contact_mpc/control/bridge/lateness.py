"""Lateness of events against the grid of their stamps."""


class GridLateness:
    """Lateness of events against the regular grid of their stamps, whose offset to the local clock is not known.

    The offset is the least (event - stamp) of the last one to two windows, so that a shifted grid or a drifting clock
    is forgotten: lateness = (event - stamp) - offset >= 0.
    """

    def __init__(self, window_ns: int = 100_000_000) -> None:
        self._window_ns = window_ns
        self._window_end_ns = 0
        self._offset_before_ns: int | None = None
        self._offset_ns: int | None = None

    def measure(self, event_ns: int, stamp_ns: int) -> int:
        """Return the lateness of an event, ns."""
        offset_ns = event_ns - stamp_ns
        if event_ns >= self._window_end_ns:
            self._window_end_ns = event_ns + self._window_ns
            self._offset_before_ns, self._offset_ns = self._offset_ns, None
        self._offset_ns = offset_ns if self._offset_ns is None else min(self._offset_ns, offset_ns)
        least = self._offset_ns if self._offset_before_ns is None else min(self._offset_before_ns, self._offset_ns)
        return offset_ns - least
