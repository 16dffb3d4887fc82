"""Stamps and receipts against the own clock: lateness on a grid, the time that both have seen pass, rates.

How often messages come is their mean rate, and whether they have come steadily for long enough to start.
"""

import math

from contact_mpc.settings.units import NS_PER_S


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
        self._credit_ns = min(max(available_ns - round(spent_s * NS_PER_S), 0), self._slack_ns)
        return spent_s

    def begin_at(self, own_ns: int) -> None:
        """Let the time before an instant of the own clock, ns, not count for what is yet to be spent."""
        self._own_ns = max(own_ns, self._own_ns)


class RateMonitor:
    """Mean rate of events over windows of a fixed number of nominal periods.

    Parameters
    ----------
    period_ns : int
        Nominal time between events, ns.
    tolerance : float
        Share by which the rate may be off.
    periods : int
        Length of a window.

    Attributes
    ----------
    rate_hz : float
        Mean rate over the latest whole window; NaN before the first.
    """

    def __init__(self, period_ns: int, tolerance: float, periods: int) -> None:
        self._nominal_hz = NS_PER_S / period_ns
        self._tolerance = tolerance
        self._window_ns = period_ns * periods
        self.clear()

    def clear(self) -> None:
        """Forget all events."""
        self._start_ns: int | None = None
        self._count = 0
        self.rate_hz = math.nan

    def add(self, t_ns: int) -> None:
        """Count an event; one that is older than the window's begin starts anew."""
        if self._start_ns is None or t_ns < self._start_ns:
            self._start_ns, self._count = t_ns, 0
            return
        self._count += 1
        elapsed_ns = t_ns - self._start_ns
        if elapsed_ns >= self._window_ns:
            self.rate_hz = self._count * NS_PER_S / elapsed_ns
            self._start_ns, self._count = t_ns, 0

    @property
    def is_off(self) -> bool:
        """Whether the rate is known and off by more than the tolerance, of the period as of the rate.

        rate < nominal / (1 + tolerance) or rate > nominal (1 + tolerance)
        """
        ratio = self.rate_hz / self._nominal_hz
        return ratio * (1.0 + self._tolerance) < 1.0 or ratio > 1.0 + self._tolerance

    def describe(self) -> str:
        """Return measured and nominal rate in words."""
        return f"{self.rate_hz:.0f} Hz, expected {self._nominal_hz:.0f} Hz within {100.0 * self._tolerance:.0f} %"


class StartGuard:
    """Says when joint states have come steadily, at their rate, for long enough.

    Parameters
    ----------
    period_ns : int
        Nominal time between states, ns.
    tolerance : float
        Share by which the rate may be off.
    duration_ns : int
        How long they must come, ns; 0: the first one is enough.
    gap_ns : int
        A gap in their receipt of this length starts the wait anew, ns.
    """

    def __init__(self, period_ns: int, tolerance: float, duration_ns: int, gap_ns: int) -> None:
        self._duration_ns, self._gap_ns = duration_ns, gap_ns
        self._newest_ns: int | None = None
        self._start_ns = 0
        self.rate = RateMonitor(period_ns, tolerance, max(duration_ns // period_ns, 1))

    def clear(self) -> None:
        """Begin to wait."""
        self._newest_ns = None
        self.rate.clear()

    def add(self, receipt_ns: int) -> bool:
        """Count a state; returns whether commands may begin with it."""
        if self._duration_ns == 0:
            return True
        if self._newest_ns is None or receipt_ns - self._newest_ns > self._gap_ns:
            self._start_ns = receipt_ns
            self.rate.clear()
        self._newest_ns = receipt_ns
        self.rate.add(receipt_ns)
        return receipt_ns - self._start_ns >= self._duration_ns and not self.rate.is_off
