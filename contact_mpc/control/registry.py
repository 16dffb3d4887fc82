"""Which controller follows the reference: all have the face of `Tracker`."""

from collections.abc import Callable

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.playback import Playback, Replanner
from contact_mpc.control.tracking.reorienter import Reorienting, SegmentPlanner
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.model.system import System

Controller = Tracker | Playback | Reorienting
ReplannerFactory = Callable[[str, float], Replanner]
SegmentPlannerFactory = Callable[[str], SegmentPlanner]


def build_tracker(
    system: System,
    config: TrackerConfig,
    make_replanner: ReplannerFactory,
    make_segment_planner: SegmentPlannerFactory,
) -> Controller:
    """Return the controller that `config.mode` names.

    Parameters
    ----------
    system, config
        What moves, and the parameters.
    make_replanner : callable
        Builds what plans again, from the name of a task and the delay of plans, s; called in the mode that needs it.
    make_segment_planner : callable
        Builds what plans segments, from the name of a task; called in the mode that needs it.
    """
    if config.mode == "mpc":
        return Tracker(system, config)
    if config.mode == "reorient":
        return Reorienting(system, config, make_segment_planner(config.task))
    is_receding = config.mode == "receding_horizon"
    return Playback(system, config, make_replanner(config.task, config.plan_delay_s) if is_receding else None)
