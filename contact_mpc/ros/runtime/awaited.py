"""An answer that a simulator waits for before its time goes on: of a bridge, of a tracker."""


class Awaited:
    """Says whether to wait for the next answer, and counts how often and how long that was.

    Parameters
    ----------
    longest_ns : int
        Age, ns, of the state that the newest answer belongs to, from which the next one is waited for; 0: never.
    patience_s : float
        For how long at most without any answer; then time goes on, and nothing is waited for until there is one again.
        An answer that comes too late begins the wait anew: who is slow is waited for each time. 0: never.
    first_ns : int, optional
        Time, ns, as of which a first answer may be expected; by default nothing is waited for before there is one.

    Attributes
    ----------
    waits : int
        How often there was something to wait for.
    waited_s : float
        How long that was in all, s.
    is_missed : bool
        Whether the last look found an answer late for longer than patience lasts.
    """

    def __init__(self, longest_ns: int, patience_s: float, first_ns: int | None = None) -> None:
        self._longest_ns, self._patience_s = longest_ns, patience_s
        self._newest_ns = first_ns
        self._is_answered = False  # since the last look
        self._since_s: float | None = None
        self.waits, self.waited_s = 0, 0.0
        self.is_missed = False

    def answer(self, stamp_ns: int) -> None:
        """Take note of the answer to the state stamped stamp_ns."""
        self._is_answered |= self._newest_ns is None or stamp_ns > self._newest_ns
        self._newest_ns = stamp_ns

    def is_late(self, t_ns: int, now_s: float) -> bool:
        """Whether to wait, with the newest state at t_ns, now_s on the monotonic clock."""
        if self._newest_ns is None or self._longest_ns == 0 or self._patience_s == 0.0:
            return False
        is_answered, self._is_answered = self._is_answered, False
        is_young = t_ns - self._newest_ns <= self._longest_ns
        if self._since_s is not None and (is_answered or is_young):
            self.waited_s += min(now_s - self._since_s, self._patience_s)
            self._since_s = None
        self.is_missed = False
        if is_young:
            return False
        if self._since_s is None:
            self._since_s, self.waits = now_s, self.waits + 1
        self.is_missed = now_s - self._since_s >= self._patience_s
        return not self.is_missed
