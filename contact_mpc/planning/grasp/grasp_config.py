"""What the search for a start posture was tuned with, on all hands and objects alike."""

from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.geometry.extent import USUAL_HALF_M


class GraspSearchConfig(BaseModel):
    """Shares, rooms and weights of `GraspSearch`; each default is what most systems found starts with."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    contact_gap_m: float = Field(
        default=3e-4,
        gt=0.0,
        le=0.01,
        description="of a fingertip that touches, m: the smoothed model presses there",
    )
    clearance_m: float = Field(
        default=2e-3, ge=0.0, le=0.1, description="of all that does not hold the object, at the start and on the way, m"
    )
    is_lying: bool = Field(
        default=False,
        description="whether the object is gripped where it lies, on links or fixed shapes, not in the air",
    )
    lying_gap_m: float = Field(
        default=1.4e-3, gt=0.0, le=0.1,
        description="over what it lies on, m: beyond the reach of a contact, and what is pressed sinks in by less",
    )  # fmt: skip
    lying_margin_m: float = Field(
        default=0.005, ge=0.0, le=0.5, description="to all sides, in which it stays where it lies when fingers go, m"
    )
    most_unbalanced: float = Field(
        default=0.05, gt=0.0, lt=1.0,
        description="share of its weight that what it lies on may leave unbalanced without friction: a slope of 3 deg",
    )  # fmt: skip
    limit_room_rad: float = Field(
        default=0.05, ge=0.0, le=1.0, description="room of a start posture to the joint limits, rad (m)"
    )
    spread_m: float = Field(
        default=0.015,
        ge=0.0,
        le=1.0,
        description="half width of the box of object positions about the given one, m",
    )
    usual_half_m: float = Field(
        default=USUAL_HALF_M,
        gt=0.0,
        le=10.0,
        description="half of an object's size, m; of larger ones positions are spread and varied by so much more",
    )
    tries_per_place: int = Field(
        default=20, ge=1, le=10_000, description="places drawn for one posture, until its object stays where it lies"
    )
    tries_per_finger: int = Field(default=40, ge=1, le=10_000, description="open postures, before a finger stays open")
    least_bend: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="share of the largest: joints that would close by less stand still"
    )
    friction_steps: tuple[float, ...] = Field(
        default=(1.0, 0.8, 0.65), min_length=1,
        description="shares of the friction that rolling is tried with, each after a complete one: margin in the cones",
    )  # fmt: skip
    useful_room_rad: float = Field(
        default=0.15, gt=0.0, le=1.0, description="room to the joint limits on the way; more does not count, rad (m)"
    )
    patience: int = Field(
        default=60,
        ge=1,
        le=100_000,
        description="samples without a better one that end a search with a complete best",
    )
    room_weight: float = Field(default=0.5, ge=0.0, le=100.0, description="of the room to the limits in the score")
    conditioning_weight: float = Field(default=0.2, ge=0.0, le=100.0, description="of the conditioning in the score")
    finger_weight: float = Field(default=0.3, ge=0.0, le=100.0, description="of the share of fingers that hold")
    held_weight: float = Field(
        default=3.0, ge=0.0, le=100.0,
        description="of the share of plants that keep the object: as much as rolling at all of `friction_steps`",
    )  # fmt: skip
    held_enough: float = Field(
        default=0.9, gt=0.0, le=1.0, description="share of plants that a complete best keeps: more would add little"
    )
    random_share: float = Field(
        default=0.4, gt=0.0, le=1.0, description="of the samples that are drawn anew; after them the best is varied"
    )
    variation_m: float = Field(
        default=0.003, gt=0.0, le=0.1, description="standard deviation of a variation of the object's position, m"
    )
    variation_rad: float = Field(
        default=0.06, gt=0.0, le=1.0, description="standard deviation of one of its rotation and of joints, rad"
    )
    draws_fingers: bool = Field(
        default=False, description="whether fingers that close are drawn for each posture, the others stay open"
    )
    open_draws: int = Field(default=10, ge=1, le=1000, description="postures of a finger that stays open, widest taken")
    slip_share: float = Field(
        default=0.1, gt=0.0, lt=1.0,
        description="of the largest singular value: what slips by less on a free turn is taken by the fingers' springs",
    )  # fmt: skip
    most_continued: float = Field(
        default=5.0,
        ge=1.0,
        le=100.0,
        description="times the angle at which rolling stops that a free turn is tried for",
    )
    instants: int = Field(default=8, ge=2, le=1000, description="of a path at which a posture must hold")
    turn_share: float = Field(
        default=1.1, ge=1.0, le=2.0, description="of the turns that a start must serve, so that it has some to spare"
    )
    most_draws: int = Field(default=1000, ge=1, le=1_000_000, description="postures drawn before a start is refused")
