"""The controllers by name, in one process and in the nodes; adding one is a file and a line of `CONTROLLERS`.

All have the face of `contact_mpc.control.controller.Controller`, and the tracker's rate, delay, box of commands and
guard against a lost object where they apply; what differs is how the next commands are found. `PlainController` leaves
two methods to write, see docs/tutorials/your_controller.md.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from contact_mpc.control.controller import Controller, ControllerSetup
from contact_mpc.control.motion_time import MotionTime
from contact_mpc.control.tracking.comparison.admm import AdmmMpc
from contact_mpc.control.tracking.comparison.sampling import SamplingMpc
from contact_mpc.control.tracking.comparison.torque_tracking import TorqueTracker
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.playback import Playback
from contact_mpc.control.tracking.reorienter import Reorienting
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.loop.parts.background_segments import BackgroundSegments
from contact_mpc.planning.methods import make_replanner, make_segment_planner
from contact_mpc.settings.registry import Entry, Registry
from contact_mpc.task.segment import SegmentPlanner

HERE = "contact_mpc.loop.controllers"
ONE_STEP: dict[str, Any] = {  # parameters of the tracker that make it the controller of seeds/003
    "horizon_steps": 1, "iterations": 1, "rate_weight": 0.0, "contact_matching": False, "adaptation_s": 0.0,
    "contact_trust_weight": 0.0, "torque_share": 0.0,
}  # fmt: skip
CONTROLLERS: Registry[Callable[[ControllerSetup], Controller]] = Registry(
    "controller",
    {
        "tracker": Entry(f"{HERE}:build_tracker", "MPC on the smoothed linearisation"),
        "playback": Entry(f"{HERE}:build_playback", "the reference's own commands and torques"),
        "receding_horizon": Entry(
            f"{HERE}:build_receding_horizon", "playback, with pushes planned again", "casadi", "contact-implicit"
        ),
        "reorient": Entry(f"{HERE}:build_reorienting", "turns and regrasps planned from the measured state"),
        "reorient_rollouts": Entry(
            f"{HERE}:build_reorienting_rollouts",
            "reorient, parts corrected by MuJoCo roll-outs",
            "mujoco",
            "mujoco",
        ),
        "one_step": Entry(f"{HERE}:build_one_step", "one step of the smoothed linearisation (seeds/003)"),
        "admm_lcs": Entry(f"{HERE}:build_admm", "MPC on a linear complementarity system by ADMM (C3)"),
        "sampling": Entry(f"{HERE}:build_sampling", "cross-entropy method on MuJoCo roll-outs", "mujoco", "mujoco"),
        "torque_tracking": Entry(
            f"{HERE}:build_torque_tracking", "the tracker with a cost on joint torques (seeds/003)"
        ),
    },
    aliases={"mpc": "tracker", "open_loop": "playback"},
)


def make_controller(setup: ControllerSetup) -> MotionTime:
    """Return the controller that `setup.config.controller` names, whose reference waits while the bridge holds.

    Raises
    ------
    ConfigError
        It is unknown, or what it needs is not installed.
    """
    return MotionTime(CONTROLLERS.load(setup.config.controller)(setup), setup.config)


def build_tracker(setup: ControllerSetup) -> Controller:
    """Return the MPC on the smoothed linearisation."""
    return Tracker(setup.system, setup.config)


def build_playback(setup: ControllerSetup) -> Controller:
    """Return what hands out the reference."""
    return Playback(setup.system, setup.config)


def build_receding_horizon(setup: ControllerSetup) -> Controller:
    """Return what hands out the reference and plans a push again while it runs."""
    config = setup.config
    return Playback(setup.system, config, make_replanner(config.task, config.plan_delay_s))


def build_reorienting(setup: ControllerSetup) -> Controller:
    """Return what goes to the reference's last pose by segments."""
    return _reorienting(setup, partial(make_segment_planner, setup.task or setup.config.task))


def build_reorienting_rollouts(setup: ControllerSetup) -> Controller:
    """Return what goes to the goal of a planning problem by trees, whose parts roll-outs correct."""
    from contact_mpc.loop.parts.corrected_parts import load_parts

    return _reorienting(setup, partial(load_parts, setup.config.task))


def _reorienting(setup: ControllerSetup, make: Callable[[], SegmentPlanner]) -> Controller:
    """Return what follows segments that this process plans, or another one where the setup has patience."""
    segments = make() if setup.patience is None else BackgroundSegments(make, setup.patience)
    return Reorienting(setup.system, setup.config, segments)


def build_one_step(setup: ControllerSetup) -> Controller:
    """Return the tracker with one step of the model."""
    return Tracker(setup.system, one_step_config(setup.config))


def build_admm(setup: ControllerSetup) -> Controller:
    """Return the tracker's frame about the MPC by ADMM."""
    own = setup.comparison.admm_lcs
    config = setup.config.model_copy(update={"horizon_steps": own.horizon_steps})
    return Tracker(setup.system, config, AdmmMpc(setup.system, config, own))


def build_sampling(setup: ControllerSetup) -> Controller:
    """Return the tracker's frame about the sampling MPC."""
    from contact_mpc.loop.mujoco_rollouts import MujocoRollouts

    own = setup.comparison.sampling
    config = setup.config.model_copy(update={"horizon_steps": own.horizon_steps})
    rollouts = MujocoRollouts(setup.system, config.friction, config.h_s, own)
    return Tracker(setup.system, config, SamplingMpc(setup.system, config, own, rollouts, setup.seed))


def build_torque_tracking(setup: ControllerSetup) -> Controller:
    """Return the tracker with a cost on joint torques, or with measured ones fed forward."""
    return TorqueTracker(setup.system, setup.config, setup.comparison.torque_tracking)


def one_step_config(config: TrackerConfig) -> TrackerConfig:
    """Return the controller of seeds/003, "Controller": min |q_next - q_ref|^2 + |u - u_ref|^2 over one step."""
    return config.model_copy(update=ONE_STEP)
