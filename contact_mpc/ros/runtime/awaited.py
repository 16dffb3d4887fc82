"""An answer that a simulator waits for before its time goes on: of a bridge, of a tracker."""


class Awaited:
    """Says whether to wait for the next answer, and counts how often and how long that was.

    Parameters
    ----------
    longest_ns : int
        Age, ns, of the state that the newest answer belongs to, from which the next one is waited for; 0: never.
    patience_s : float
        For how long at most; then time goes on, and nothing is waited for until there is an answer again. 0: never.

    Attributes
    ----------
    waits : int
        How often there was something to wait for.
    waited_s : float
        How long that was in all, s.
    """

    def __init__(self, longest_ns: int, patience_s: float) -> None:
        self._longest_ns, self._patience_s = longest_ns, patience_s
        self._newest_ns: int | None = None
        self._since_s: float | None = None
        self.waits, self.waited_s = 0, 0.0

    def answer(self, stamp_ns: int) -> None:
        """Take note of the answer to the state stamped stamp_ns."""
        self._newest_ns = stamp_ns

    def is_late(self, t_ns: int, now_s: float) -> bool:
        """Whether to wait, with the newest state at t_ns, now_s on the monotonic clock; not before the first answer."""
        if self._newest_ns is None or self._longest_ns == 0 or self._patience_s == 0.0:
            return False
        if t_ns - self._newest_ns <= self._longest_ns:
            if self._since_s is not None:
                self.waited_s += min(now_s - self._since_s, self._patience_s)
                self._since_s = None
            return False
        if self._since_s is None:
            self._since_s, self.waits = now_s, self.waits + 1
        return now_s - self._since_s < self._patience_s
