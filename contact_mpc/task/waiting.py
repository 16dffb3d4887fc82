"""For how long a reference has stood still because the bridge held, as the status of the tracker's solves says it."""

import math
from collections.abc import Mapping

from contact_mpc.settings.tunable import REFERENCE_START, WAITED
from contact_mpc.settings.units import NS_PER_S

LONGEST_S = 1e6
MOST_LATER_S = 60.0  # by which a run ends later at most: a camera may never see the object again
MOST_DIGITS = 20


def read_waiting(values: Mapping[str, str]) -> tuple[int, int] | None:
    """Return when the reference starts that is followed, and for how long it has stood still, both ns.

    None where nothing is followed, or where the values of a status are such as no tracker gives.
    """
    start, waited = values.get(REFERENCE_START, ""), values.get(WAITED, "")
    try:
        start_ns, waited_s = int(start[:MOST_DIGITS]), float(waited)
    except ValueError:
        return None
    return (start_ns, round(waited_s * NS_PER_S)) if math.isfinite(waited_s) and 0.0 <= waited_s <= LONGEST_S else None


def later_ns(values: Mapping[str, str], before_ns: int) -> int:
    """Return by how much later a run in realtime ends, ns: as the motion waited, within bounds.

    before_ns, what it was before, where the values of a status do not say.
    """
    waiting = read_waiting(values)
    return before_ns if waiting is None else min(waiting[1], round(MOST_LATER_S * NS_PER_S))
