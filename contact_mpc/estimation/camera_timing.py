"""Rate and delay of a camera as it shows them: from the stamps of its poses and the time at which they are taken.

Both are medians over the last `POSES` poses, so that dropouts and single late messages do not count. They say how old
the newest pose may be before something is wrong: a camera of 10 Hz with a delay of 150 ms is never younger than that.
"""

from collections import deque
from statistics import median

POSES = 15
LEAST_POSES = 3  # before that nothing is known
PATIENCE_PERIODS = 1.5
NS = 1e-9


class CameraTiming:
    """Timing of the poses of one object.

    Attributes
    ----------
    period_s, delay_s : float
        Time between poses, and from the picture to its pose, s; 0 while not known.
    longest_gap_s : float
        Longest time between two stamps so far, s.
    """

    def __init__(self) -> None:
        self._last_ns: int | None = None
        self._periods_s: deque[float] = deque(maxlen=POSES)
        self._delays_s: deque[float] = deque(maxlen=POSES)
        self.period_s = self.delay_s = self.longest_gap_s = 0.0

    def note(self, stamp_ns: int, now_ns: int | None) -> None:
        """Take the stamp of a pose and the time at which it is taken, ns of the same clock; None: not known."""
        if now_ns is not None:
            self._delays_s.append((now_ns - stamp_ns) * NS)
        if self._last_ns is not None and stamp_ns > self._last_ns:
            gap_s = (stamp_ns - self._last_ns) * NS
            self._periods_s.append(gap_s)
            self.longest_gap_s = max(self.longest_gap_s, gap_s)
        if self._last_ns is None or stamp_ns > self._last_ns:
            self._last_ns = stamp_ns
        if len(self._periods_s) >= LEAST_POSES:
            self.period_s = median(self._periods_s)
        if len(self._delays_s) >= LEAST_POSES:
            self.delay_s = max(0.0, median(self._delays_s))

    def stale_after_s(self, least_s: float, most_s: float) -> float:
        """Return the age of the newest pose, s, beyond which one is missing; within the bounds given."""
        return max(least_s, min(self.delay_s + PATIENCE_PERIODS * self.period_s, most_s))
