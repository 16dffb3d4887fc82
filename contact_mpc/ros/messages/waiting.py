"""For how long a reference has stood still, as the tracker's status says it."""

import math

from diagnostic_msgs.msg import DiagnosticStatus

from contact_mpc.settings.tunable import REFERENCE_START, WAITED
from contact_mpc.settings.units import NS_PER_S

LONGEST_S = 1e6


def read_waiting(status: DiagnosticStatus) -> tuple[int, int] | None:
    """Return when the reference starts that is followed, and for how long it has stood still, both ns.

    None where nothing is followed, or where a status of somebody else says what no tracker does.
    """
    values = {item.key: item.value for item in status.values}
    try:
        start_ns, waited_s = int(values[REFERENCE_START][:20]), float(values[WAITED])
    except (KeyError, ValueError):
        return None
    return (start_ns, round(waited_s * NS_PER_S)) if math.isfinite(waited_s) and 0.0 <= waited_s <= LONGEST_S else None
