"""Stamps against the own clock: lateness on their grid, and the time that both have seen pass."""


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


class TimeBudget:
    """The time that a limit of change may count on: that of the stamps, as far as the own clock has seen it pass.

    Stamps are set by others. Whatever they say, the times spent within any interval of the own clock add up to no more
    than the interval plus `slack_ns`, which lets messages come early after late ones.

    Parameters
    ----------
    slack_ns : int
        How far the time spent may be ahead of the own clock, ns.
    """

    def __init__(self, slack_ns: int) -> None:
        self._slack_ns = slack_ns
        self._own_ns = self._credit_ns = 0

    def start(self, own_ns: int) -> None:
        """Begin at an instant of the own clock, ns."""
        self._own_ns, self._credit_ns = own_ns, self._slack_ns

    def spend(self, wanted_s: float, own_ns: int) -> float:
        """Return as much of a time >= 0, s, as may be counted on at an instant of the own clock, ns."""
        available_ns = self._credit_ns + max(own_ns - self._own_ns, 0)
        self._own_ns = max(own_ns, self._own_ns)
        spent_s = min(wanted_s, available_ns * 1e-9)
        self._credit_ns = min(max(available_ns - round(spent_s * 1e9), 0), self._slack_ns)
        return spent_s
