"""Parameters of turns with new grasps; see `contact_mpc.planning.reorient.segments`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.optimisation.trajectory import TrajoptConfig


class ReorientationConfig(BaseModel):
    """Parameters of turns with new grasps: section `planner` of a task with method regrasp."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    method: Literal["regrasp"] = "regrasp"
    turn_deg: float = Field(
        default=15.0, gt=0.0, le=90.0, description="most that one grasp turns from the start's posture on, deg"
    )
    back_deg: float = Field(
        default=15.0, ge=0.0, le=90.0,
        description="most that fingers roll back before they grip, deg: so much more does one grasp turn",
    )  # fmt: skip
    arrived_deg: float = Field(default=2.0, gt=0.0, le=45.0, description="measured error from which on it rests, deg")
    carry_m: float = Field(
        default=0.0, ge=0.0, le=1.0,
        description="way to the goal's place one grasp carries the object, m; 0: it stays where the start holds it",
    )  # fmt: skip
    arrived_m: float = Field(default=2e-3, gt=0.0, le=0.1, description="the same of the place, where it is carried, m")
    turn_s: float = Field(
        default=0.6, gt=0.0, description="time of a turn by turn_deg or less, s; in proportion beyond"
    )
    put_down_s: float = Field(default=1.0, gt=0.0, description="time to put the object down where it was held, s")
    press_m: float = Field(default=2.5e-3, ge=0.0, description="depth in the support to put down to, m")
    lift_m: float = Field(default=4e-3, ge=0.0, description="height over the start while turning, m")
    clearance_m: float = Field(default=5e-3, gt=0.0, description="gap of the fingers on their way to a new grasp, m")
    release_s: float = Field(default=0.15, gt=0.0, description="time in which all forces go to zero together, s")
    loosen_s: float = Field(default=0.15, gt=0.0, description="time to move off by the first mm, s")
    retreat_s: float = Field(default=0.1, gt=0.0, description="time to move off, s")
    travel_s: float = Field(default=0.2, gt=0.0, description="time to travel to the new grasp, s")
    approach_s: float = Field(default=0.2, gt=0.0, description="time to touch, s")
    grip_s: float = Field(default=0.15, gt=0.0, description="time to press, s")
    settle_s: float = Field(
        default=0.1, ge=0.0, le=10.0, description="after a turn and a new grasp, before the next begins, s"
    )
    rest_s: float = Field(default=0.2, ge=0.0, le=10.0, description="most that what still moves is waited for, s")
    lift_share: float = Field(
        default=0.25, gt=0.0, le=0.5, description="of a turn, over which the object is lifted, and put down again, -"
    )
    press_s: float = Field(
        default=0.3, gt=0.0, description="time in which a turn's commands take over where the fingers really rest, s"
    )
    loose_m: float = Field(
        default=1e-3, gt=0.0, le=0.01,
        description="gap to which fingers let go slowly: at what speed they slide off, the object rolls on, m",
    )  # fmt: skip
    most_touch_gap_m: float = Field(
        default=0.01, ge=0.0, le=0.1,
        description="of nominal shapes, at which a finger may touch an object of another size; with more it is away, m",
    )  # fmt: skip
    first_offset_m: float = Field(
        default=1e-3, ge=0.0, le=0.1,
        description="of the object from where the start holds it: with more the fingers grip anew at once, m",
    )  # fmt: skip
    first_joints_rad: float = Field(
        default=0.1,
        ge=0.0,
        le=1.0,
        description="the same for the joints: who turned before has its fingers elsewhere, rad",
    )
    least_turn_rad: float = Field(default=0.05, gt=0.0, le=1.0, description="less than this is no progress, rad")
    half_turn_rad: float = Field(
        default=0.05, ge=0.0, le=1.0,
        description="so near to half a turn the fingers turn whichever way they can roll further, rad",
    )  # fmt: skip
    shift_instants: int = Field(default=6, ge=2, le=100, description="of the object's way within a grasp")
    travel_instants: int = Field(
        default=6, ge=2, le=100, description="of the fingers' way to the new grasp, at which they keep their clearance"
    )
    back_instants: int = Field(default=16, ge=2, le=200, description="of the way that fingers roll back")
    retreat_step_m: float = Field(
        default=5e-4, gt=0.0, le=0.01, description="of a finger that leaves the object along the contact's normal, m"
    )
    retreat_damping_m2: float = Field(
        default=1e-4, gt=0.0,
        description="of its motion by its joints, m^2/rad^2: where that is little it moves less than asked",
    )  # fmt: skip
    minimum_force_n: float = Field(default=3.0, gt=0.0, description="normal force per finger, N")
    grasp_friction: float = Field(default=0.4, gt=0.0, description="friction of the cones of those forces, -")
    trajopt: TrajoptConfig = TrajoptConfig()
