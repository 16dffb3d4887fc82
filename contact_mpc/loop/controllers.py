"""The controllers that an evaluation compares: ours and four others, all behind the face of `Tracker`.

All have the tracker's rate, delay, weights, box of commands and guard against a lost object; what differs is how the
next commands are found.
"""

from pydantic import BaseModel, ConfigDict

from contact_mpc.control.registry import Controller, build_tracker
from contact_mpc.control.tracking.comparison.admm import AdmmConfig, AdmmMpc
from contact_mpc.control.tracking.comparison.sampling import SamplingConfig, SamplingMpc
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.playback import Playback
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.model.system import System
from contact_mpc.planning.methods import make_replanner, make_segment_planner

CONTROLLERS = {
    "tracker": "MPC on the smoothed linearisation, or what mpc_tracker.mode says",
    "open_loop": "the reference's commands replayed",
    "one_step": "one step of the smoothed linearisation, no rate cost, no contact matching (seeds/003)",
    "admm_lcs": "MPC on a linear complementarity system by ADMM (C3)",
    "sampling": "sampling MPC on MuJoCo roll-outs (cross-entropy method)",
}


class ComparisonConfig(BaseModel):
    """Parameters of the controllers that have some of their own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    admm_lcs: AdmmConfig = AdmmConfig()
    sampling: SamplingConfig = SamplingConfig()


def make_controller(
    name: str, system: System, config: TrackerConfig, comparison: ComparisonConfig, seed: int = 0
) -> Controller:
    """Return a controller of `CONTROLLERS` with the tracker's configuration as far as it applies.

    Parameters
    ----------
    seed : int
        Of a controller that draws at random.
    """
    if name == "open_loop":
        return Playback(system, config)
    if name == "one_step":
        return Tracker(system, one_step_config(config))
    if name == "admm_lcs":
        config = config.model_copy(update={"horizon_steps": comparison.admm_lcs.horizon_steps})
        return Tracker(system, config, AdmmMpc(system, config, comparison.admm_lcs))
    if name == "sampling":
        from contact_mpc.loop.mujoco_rollouts import MujocoRollouts

        config = config.model_copy(update={"horizon_steps": comparison.sampling.horizon_steps})
        rollouts = MujocoRollouts(system, config.friction, config.h_s, comparison.sampling)
        return Tracker(system, config, SamplingMpc(system, config, comparison.sampling, rollouts, seed))
    return build_tracker(system, config, make_replanner, make_segment_planner)


def one_step_config(config: TrackerConfig) -> TrackerConfig:
    """Return the controller of seeds/003, "Controller": min |q_next - q_ref|^2_Q + |u - u_ref|^2_R over one step."""
    plain = {
        "horizon_steps": 1, "iterations": 1, "rate_weight": 0.0, "contact_matching": False, "adaptation_s": 0.0,
        "contact_trust_weight": 0.0, "torque_share": 0.0,
    }  # fmt: skip
    return config.model_copy(update=plain)
