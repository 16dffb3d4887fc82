"""What became of the goals: state and words of the newest, counts of all."""

from contact_mpc.ros.goals.goal import ENDED, State


class Ledger:
    """Books of the goals.

    Attributes
    ----------
    state, message : str
        What became of the newest goal, and why.
    goal_ns : int or None
        Stamp of the newest goal.
    refused_ns, refusal : int or None, str
        Stamp of the newest message that was no goal, and why; a goal that is gone to goes on beside it.
    counts : dict
        How many goals ended how.
    """

    def __init__(self) -> None:
        self.state: State = "idle"
        self.message = "no goal yet"
        self.goal_ns: int | None = None
        self.refused_ns: int | None = None
        self.refusal = ""
        self.counts: dict[str, int] = {"goals": 0} | dict.fromkeys(ENDED, 0)

    @property
    def is_open(self) -> bool:
        """Whether something is still to become of the newest goal."""
        return self.state in ("searching", "moving")

    def take(self, stamp_ns: int) -> None:
        """Write down a new goal; one before that was open is replaced."""
        self.counts["goals"] += 1
        if self.is_open:
            self.counts["replaced"] += 1
        self.goal_ns = stamp_ns

    def refuse(self, stamp_ns: int, reason: str) -> None:
        """Write down what was no goal; one that is open stays the newest."""
        self.counts["goals"] += 1
        self.refused_ns, self.refusal = stamp_ns, f"refused: {reason}"
        if self.is_open:
            self.counts["refused"] += 1
        else:
            self.goal_ns = stamp_ns
            self.end("refused", self.refusal)

    def end(self, state: State, message: str) -> None:
        """Say what became of the newest goal."""
        self.counts[state] += 1
        self.tell(state, message)

    def tell(self, state: State, message: str) -> None:
        """Say how the newest goal fares."""
        self.state, self.message = state, message
