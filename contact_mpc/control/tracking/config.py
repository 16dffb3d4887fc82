"""Parameters of the tracker: one frozen place with type, unit, range and meaning of each."""

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from contact_mpc.settings.tunable import TUNABLE


def _quantity(default: Any, unit: str, description: str, is_tunable: bool = False, **limits: Any) -> Any:
    return Field(default, description=description, json_schema_extra={"unit": unit, TUNABLE: is_tunable}, **limits)


def rename_mode(values: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of the tracker with `controller` where files and bags of version 0.1 say `mode`."""
    if "mode" not in values or "controller" in values:
        return values
    kept = {key: value for key, value in values.items() if key != "mode"}
    return {**kept, "controller": "tracker" if values["mode"] == "mpc" else values["mode"]}


class TrackerConfig(BaseModel):
    """Horizon, model, weights and bounds of the MPC on the smoothed linearisation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    controller: str = Field(
        default="tracker", min_length=1,
        description="tracker: follow the reference by MPC; playback: hand out its own commands and torques; "
        "receding_horizon: play back, but plan the push again from the measured state while it runs; "
        "reorient: go to the reference's last pose by turns and regrasps planned from the measured state; "
        "one_step, admm_lcs, sampling, torque_tracking: to compare with; module:name of your own",
    )  # fmt: skip
    task: str = Field(default="", description="receding_horizon, reorient: task whose planner section says how to plan")
    mpc_rate_hz: int = _quantity(20, "Hz", "rate of the solves, a divisor of 1000", ge=1, le=200)
    plan_delay_s: float = _quantity(
        0.02, "s", "a plan takes effect so long after the state that it was solved from", ge=0.0, le=0.5
    )
    plan_timeout_s: float = _quantity(
        0.05, "s", "the bridge's: it takes a plan so much older than one period and the delay for stale and holds; the "
        "reference stands still until the next", gt=0.0, le=5.0,
    )  # fmt: skip
    horizon_steps: int = _quantity(10, "1", "steps of the model; 1 is the one-step controller", ge=1, le=50)
    h_s: float = _quantity(0.1, "s", "time step of the model", gt=0.0, le=1.0)
    kappa_per_j: float = _quantity(3.0e4, "1/J", "log-barrier weight of the model", ge=1.0, le=1.0e7)
    friction: float = _quantity(0.65, "1", "friction of the model, below the real one for a margin", ge=0.0, le=5.0)
    iterations: int = _quantity(2, "1", "linearisations per solve", ge=1, le=20)
    object_rotation_weight: float = _quantity(
        30.0, "1/rad^2", "cost of the object's rotation error", True, ge=0.0, le=1.0e5
    )
    object_position_weight: float = _quantity(
        1.0e4, "1/m^2", "cost of the object's position error", True, ge=0.0, le=1.0e8
    )
    terminal_scale: float = _quantity(1.0, "1", "factor of both at the last step", True, ge=0.0, le=100.0)
    command_weight: float = _quantity(
        60.0, "1/rad^2", "cost of the command's distance from the reference", True, gt=0.0, le=1.0e5
    )
    rate_weight: float = _quantity(
        60.0, "1/rad^2", "cost of the command's change from step to step", True, ge=0.0, le=1.0e5
    )
    contact_trust_weight: float = _quantity(
        0.0, "1/N^2", "cost of linearised contact forces outside their friction cones, a contact trust region; 0: none",
        ge=0.0, le=10.0,
    )  # fmt: skip
    adaptation_s: float = _quantity(
        0.5, "s", "time constant of the integral action on commands that move the object; 0: none", True,
        ge=0.0, le=100.0,
    )  # fmt: skip
    adaptation_weakest: float = _quantity(
        0.1, "1", "directions in which commands do less than this share of their most are not adapted", gt=0.0, le=1.0
    )
    trust_region_rad: float = _quantity(
        0.03, "rad", "largest change of a command per linearisation", True, gt=0.0, le=1.0
    )
    command_rate_rad_s: float = _quantity(
        1.0, "rad/s", "largest rate of the command over the first step", True, gt=0.0, le=20.0
    )
    limit_margin_rad: float = _quantity(0.02, "rad", "distance of commands from the joint limits", ge=0.0, le=0.5)
    torque_share: float = _quantity(
        0.0, "1", "share of the joints' effort limits for their springs and the robot's weight; 0: any", ge=0.0, le=1.0
    )
    minimum_gap_m: float = _quantity(
        1.0e-4, "m", "smaller gaps are taken as this: penetrations of the estimate do not push", gt=0.0, le=0.01
    )
    contact_matching: bool = Field(
        default=True, description="match the model's contact forces to those that the joints' springs imply"
    )
    contact_reach_m: float = _quantity(
        4.0e-3, "m", "contact matching: pairs with a larger gap are no contacts", gt=0.0, le=0.05
    )
    newton_tolerance: float = _quantity(1.0e-6, "1", "of the model's step, on kappa * decrement^2", gt=0.0, le=1e-2)
    lost_angle_deg: float = _quantity(60.0, "deg", "object error from which the object counts as lost", gt=0.0)
    lost_distance_m: float = _quantity(0.05, "m", "object error from which the object counts as lost", gt=0.0)
    lag_angle_deg: float = _quantity(10.0, "deg", "object error from which it is reported as lagging", gt=0.0)
    lag_distance_m: float = _quantity(0.01, "m", "object error from which it is reported as lagging", gt=0.0)
    lag_release_share: float = _quantity(
        0.5, "1", "of both, below which an object that was behind has caught up: fingers that catch let it swing",
        gt=0.0, le=1.0,
    )  # fmt: skip
    torque_shortfall: float = _quantity(
        0.2, "1", "share of its effort limit that a joint's torque may lack unreported; 0: any", ge=0.0, le=1.0
    )
    torque_filter_s: float = _quantity(
        0.3, "s", "filter of that torque, longer than ripple and damping in motion", gt=0.0, le=10.0
    )
    slip_speed_m_s: float = _quantity(
        0.025, "m/s", "filtered speed of a finger along the object, from which it is reported; 0: any", ge=0.0
    )
    slip_window_s: float = _quantity(
        0.2, "s", "time over which that is measured: noise of the object's pose over it is speed", gt=0.0, le=5.0
    )
    slip_filter_s: float = _quantity(1.0, "s", "filter of that speed", gt=0.0, le=10.0)
    give_up_s: float = _quantity(3.0, "s", "lag that lasts so long ends in a hold", gt=0.0)
    slip_give_up_s: float = _quantity(1.0, "s", "the same where fingers have been sliding as long", gt=0.0)

    @property
    def adaptation_gain(self) -> float:
        """Share of the remaining offset of the commands' reference that one solve takes over, -."""
        return 1.0 - float(np.exp(-1.0 / (self.adaptation_s * self.mpc_rate_hz))) if self.adaptation_s > 0.0 else 0.0

    @model_validator(mode="before")
    @classmethod
    def _rename_mode(cls, values: Any) -> Any:
        return rename_mode(values) if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _check_consistency(self) -> "TrackerConfig":
        if 1000 % self.mpc_rate_hz:
            raise ValueError(f"mpc_rate_hz = {self.mpc_rate_hz}; expected a divisor of 1000, e.g. 10, 20, 50")
        if self.plan_delay_s >= self.h_s:
            raise ValueError(f"plan_delay_s = {self.plan_delay_s}; expected less than h_s = {self.h_s}")
        return self
