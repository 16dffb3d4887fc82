"""Where the nodes of a simulation run on a machine of two or three cores: the plant on one, who closes the loop not.

Plant and bridge are real-time threads (SCHED_FIFO) and take most of two cores. A node that waits for its turn on the
plant's core gets next to none of it, and a core that another program keeps busy never looks for what waits elsewhere:
beside one busy loop on two cores the estimator ran at a tenth of its rate. Apart from the plant it shares a core with
that program instead, by halves. Who only records or plans takes what is left anywhere. With four cores or more the
scheduler finds room.
"""

from collections.abc import Sequence
from typing import Any

FEWEST, MOST = 2, 3
CLOSES_THE_LOOP = ("state_estimator", "mpc_tracker", "command_bridge")


def place_nodes(parameters: dict[str, dict[str, Any]], cores: Sequence[int]) -> None:
    """Set `cores` of the nodes of the loop, by their names, to those of a machine's cores where they are to run.

    Nothing is set on a machine of one core or of many, nor where the files or settings say it of any node.
    """
    if not FEWEST <= len(cores) <= MOST or any("cores" in values for values in parameters.values()):
        return
    parameters["plant"]["cores"] = [cores[-1]]
    for name in CLOSES_THE_LOOP:
        parameters[name]["cores"] = list(cores[:-1])
