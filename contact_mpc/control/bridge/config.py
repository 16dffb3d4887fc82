"""Parameters of the command bridge: one frozen place with type, unit, range and meaning of each."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from contact_mpc.settings.units import NS_PER_S


def _quantity(default: Any, unit: str, description: str, **limits: Any) -> Any:
    return Field(default, description=description, json_schema_extra={"unit": unit}, **limits)


Seconds = Annotated[float, Field(allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class BridgeConfig(BaseModel):
    """Interface, timing, watchdogs, limits and fault policy of the command bridge."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command_interface: Literal["effort", "position"] = Field(
        "effort", description="effort: the bridge runs the joint impedance law; position: the robot does"
    )
    gravity_compensation: Literal["robot", "bridge"] = Field(
        description="who adds the gravity torque, exactly one of both; always the robot with the position interface"
    )
    gain_set: str = Field(
        default="",
        description="effort interface: Kp, N m/rad, and Kd, N m s/rad, of this name in gain_sets of the system file; "
        "empty: the robot's own",
    )
    rate_hz: int = _quantity(1000, "Hz", "rate of joint states and commands", ge=100, le=1000)
    mpc_rate_hz: int = _quantity(20, "Hz", "rate of the tracker's plans, a divisor of 1000", ge=1, le=200)
    plan_delay_s: Seconds = _quantity(
        0.02, "s", "a plan takes effect so long after the state that it was solved from", ge=0.0, le=0.5
    )
    state_timeout_s: Seconds = _quantity(
        0.01, "s", "realtime: age of the joint state from which the last command is repeated", gt=0.0, le=1.0
    )
    state_fault_s: Seconds = _quantity(0.05, "s", "realtime: age of the joint state that is a fault", gt=0.0, le=5.0)
    state_lag_s: Seconds = _quantity(
        0.03, "s", "realtime: delay of the joint states over their least delay that is a fault; the impedance law "
        "does not survive much more", gt=0.0, le=5.0,
    )  # fmt: skip
    plan_timeout_s: Seconds = _quantity(
        0.05, "s", "a plan so much older than one period and the delay is stale: hold", gt=0.0, le=5.0
    )
    plan_wait_s: Seconds = _quantity(
        20.0, "s", "lockstep: wall time to wait for the plan of a tick before it is a fault", gt=0.0, le=600.0
    )
    simulated: bool = Field(
        default=False,
        description="realtime: the robot is a simulator, whose time stops while it falls behind: it is waited for. "
        "Never with a robot: there late states are a fault",
    )
    simulator_patience_s: Seconds = _quantity(
        2.0, "s", "with simulated: age of the joint state that is a fault, in place of state_fault_s", gt=0.0, le=60.0
    )
    start_guard_s: Seconds = _quantity(
        0.25, "s", "realtime: no command leaves until joint states have come at their rate for so long", ge=0.0, le=10.0
    )
    rate_tolerance: Number = _quantity(
        0.2, "1", "realtime: share by which the rate of joint states may be off; beyond it nothing starts, what has "
        "started warns", gt=0.0, le=1.0,
    )  # fmt: skip
    clock_jump_s: Seconds = _quantity(0.1, "s", "a stamp off by more than this is a jump of the clock", gt=0.0, le=5.0)
    start_from: Literal["position", "effort"] = Field(
        "position",
        description="first setpoint: the measured position, or the one whose torque is the measured effort (keeps a "
        "grip that another controller holds)",
    )
    blend_rate_rad_s: Number = _quantity(
        1.0, "rad/s", "rate at which the gap to a new plan or to a hold is closed", gt=0.0, le=20.0
    )
    resume_distance_rad: Number = _quantity(
        0.2, "rad", "a plan further than this from the command is not followed", gt=0.0, le=3.2
    )
    start_motion_fraction: Number = _quantity(
        0.1,
        "1",
        "share of the velocity limits, with velocity_fraction, with which ~/go_to_start moves at most",
        gt=0.0,
        le=0.5,
    )
    hold_policy: Literal["measured", "last_command"] = Field(
        "measured",
        description="where to hold without a plan: at the measured position, without feed-forward; or at the last "
        "command with its feed-forward (a hand keeps its grip)",
    )
    fault_policy: Literal["zero_torque", "damping", "hold"] = Field(
        "damping",
        description="effort interface, after holding for fault_hold_s, as long as the state is fresh: ramp the torque "
        "to zero, to damping alone (an arm without brakes sinks instead of falling), or go on holding; the position "
        "interface always holds its last setpoint",
    )
    fault_hold_s: Seconds = _quantity(0.2, "s", "time to hold on a fault", ge=0.0, le=10.0)
    fault_ramp_s: Seconds = _quantity(0.5, "s", "time of the ramp after it", gt=0.0, le=10.0)
    blind_ramp_s: Seconds = _quantity(
        0.05, "s", "a fault without a state to rely on: within this time the torque goes to that of the robot's "
        "weight, then with fault_hold_s and fault_ramp_s to zero", gt=0.0, le=10.0,
    )  # fmt: skip
    position_margin_deg: Number = _quantity(1.0, "deg", "margin to the URDF's position limits", ge=0.0, le=20.0)
    velocity_fraction: Number = _quantity(1.0, "1", "share of the URDF's velocity limit", gt=0.0, le=1.0)
    acceleration_per_s: Number = _quantity(
        50.0, "1/s", "largest acceleration of the setpoint, in URDF velocity limits per second", ge=1.0, le=1000.0
    )
    jerk_per_s2: Number = _quantity(
        0.0, "1/s^2", "largest change of that acceleration, in URDF velocity limits per second squared; 0: not limited",
        ge=0.0, le=1e6,
    )  # fmt: skip
    self_distance_m: Number = _quantity(
        0.0, "m", "links of the robots are kept so far apart: what would bring them nearer comes to rest; 0: not "
        "watched", ge=0.0, le=1.0,
    )  # fmt: skip
    contact_force_n: Number = _quantity(
        0.0, "N", "no end of a robot presses harder than that, beside its weight: setpoint and feed-forward give way; "
        "0: not limited", ge=0.0, le=1e5,
    )  # fmt: skip
    effort_fraction: Number = _quantity(0.9, "1", "share of the URDF's effort limit", gt=0.0, le=0.9)
    torque_rate_per_s: Number = _quantity(
        100.0, "1/s", "largest change of the torque, in URDF effort limits per second", ge=1.0, le=1000.0
    )
    command_jump_rad: Number = _quantity(
        0.2, "rad", "a request further than this from the command before is refused", gt=0.0, le=3.2
    )
    state_jump_rad: Number = _quantity(
        0.2, "rad", "a measured position that moves by this beyond the velocity limit, or lies by this beyond the "
        "joint's range, is a fault", gt=0.0, le=3.2,
    )  # fmt: skip
    state_velocity_factor: Number = _quantity(
        3.0, "1", "a measured velocity beyond this multiple of the URDF's limit is a fault", ge=1.0, le=100.0
    )
    state_mismatch_rad: Number = _quantity(
        0.1, "rad", "measured positions that move by this more or less than the velocities say, within 0.1 s, are a "
        "fault", gt=0.0, le=3.2,
    )  # fmt: skip

    @model_validator(mode="after")
    def _check_consistency(self) -> "BridgeConfig":
        if 1000 % self.mpc_rate_hz:
            raise ValueError(f"mpc_rate_hz {self.mpc_rate_hz} does not divide 1000 Hz; use e.g. 10, 20, 25, 40 or 50")
        if self.plan_delay_s * self.mpc_rate_hz >= 1.0:
            raise ValueError(
                f"plan_delay_s {self.plan_delay_s:g} is not below the plan's period {1.0 / self.mpc_rate_hz:g} s"
            )
        if self.state_fault_s <= self.state_timeout_s:
            raise ValueError(f"state_fault_s {self.state_fault_s:g} <= state_timeout_s {self.state_timeout_s:g}: raise")
        if self.command_interface == "position" and self.gravity_compensation == "bridge":
            raise ValueError("gravity_compensation 'bridge' needs command_interface 'effort'; use 'robot'")
        if self.command_interface == "position" and self.gain_set:
            raise ValueError(f"gain_set '{self.gain_set}' needs command_interface 'effort'; use ''")
        return self

    @property
    def period_ns(self) -> int:
        """Time between plans, ns."""
        return NS_PER_S // self.mpc_rate_hz

    @property
    def state_period_ns(self) -> int:
        """Time between joint states, ns."""
        return NS_PER_S // self.rate_hz

    @property
    def plan_delay_ns(self) -> int:
        """Time from a plan's stamp until it takes effect, ns."""
        return round(self.plan_delay_s * NS_PER_S)

    @property
    def plan_max_age_ns(self) -> int:
        """Age from which a plan is stale, ns."""
        return self.plan_delay_ns + self.period_ns + round(self.plan_timeout_s * NS_PER_S)
