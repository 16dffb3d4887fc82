"""A part of a long way, as a planner hands it to who follows it."""

from dataclasses import dataclass
from typing import Protocol

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan


@dataclass(frozen=True)
class Segment:
    """A plan that is tracked (the object is held) or else played back (fingers let go and grip anew).

    Without a plan, `reason` says why there is none. At its end the next one waits for settle_s, and for up to rest_s
    more where objects still move. `note` tells people which part it is and what is expected of it. `has_free_slides`
    says that slides which carry a whole robot meet nothing on their way, even where its fingers hold an object.
    """

    plan: Plan | None
    is_tracked: bool = True
    reason: str = ""
    rest_s: float = 0.0
    note: str = ""
    settle_s: float = 0.3
    has_free_slides: bool = False


SEARCHING = Segment(None, reason="searching")  # by another process; to be asked for again


class SegmentPlanner(Protocol):
    """What plans segments; a function of the calls since `begin`."""

    def begin(self, plan: Plan) -> None:
        """Take the reference, of which the last pose of the objects is the goal."""

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """Return the segment from the state q (n_q,) under the command u (n_a,); None where the goal is reached.

        `SEARCHING` where another process searches it: who asks lets the joints rest at u, and asks again.
        """
