"""Which controller follows the reference: all have the face of `Tracker`."""

from contact_mpc.control.playback import Playback
from contact_mpc.control.tracker import Tracker
from contact_mpc.control.tracker_config import TrackerConfig
from contact_mpc.model.system import System

Controller = Tracker | Playback


def build_tracker(system: System, config: TrackerConfig) -> Controller:
    """Return the controller that `config.mode` names."""
    return Playback(system, config) if config.mode == "playback" else Tracker(system, config)
