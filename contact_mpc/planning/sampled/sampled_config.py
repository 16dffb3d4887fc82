"""How random motions are drawn and judged that take the place of trees: section `sampled` of a planning file."""

from pydantic import BaseModel, ConfigDict, Field, model_validator


class SampledConfig(BaseModel):
    """What was tuned on `allegro_pen`; distances are those of the objects in the global metric, rad."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    samples: int = Field(default=60, ge=1, le=1_000_000, description="random motions of a part, rolled out once each")
    finalists: int = Field(
        default=6, ge=1, le=1000, description="best of them, which the draws of friction, mass and size decide between"
    )
    children: int = Field(default=3, ge=1, le=1000, description="of a rest, by the best of its motions, at most")
    rounds: int = Field(default=3, ge=0, le=100, description="in which the best is varied, at most")
    failed_rounds: int = Field(
        default=2, ge=1, le=100, description="in a row that find nothing better, after which it ends"
    )
    variations: int = Field(default=20, ge=1, le=1_000_000, description="motions of such a round")
    steps: tuple[float, ...] = Field(
        default=(0.25, 0.5, 1.0, 1.5), description="lengths of the step that least squares make of such a round, -"
    )
    most_step_rad: float = Field(default=0.5, gt=0.0, le=10.0, description="of a finger in that step at most, rad")
    varied_finalists: int = Field(default=3, ge=1, le=1000, description="the best of them, which draws decide between")
    expansions: int = Field(
        default=80, ge=1, le=100_000, description="rests that motions are drawn from, on a way from the start"
    )
    expansions_again: int = Field(
        default=12, ge=1, le=100_000, description="the same, on a way from where what was planned misses"
    )
    failed_rests: int = Field(
        default=5,
        ge=1,
        le=100_000,
        description="in a row that lead no nearer, after which a new tree begins at the start",
    )
    visit_share: float = Field(
        default=1.0, ge=0.0, le=10.0, description="by which a rest counts as further away for each time it was left, -"
    )
    visit_rad: float = Field(
        default=0.2, ge=0.0, le=10.0, description="between the objects of rests that count as the same then, rad"
    )
    follow_rad: float = Field(
        default=0.1, ge=0.0, le=10.0, description="by which a part that is followed may end further from the goal, rad"
    )
    elsewhere: int = Field(
        default=3, ge=0, le=1000, description="motions that only move fingers, which are tried where none leads nearer"
    )
    most_loss_rad: float = Field(default=0.25, ge=0.0, le=10.0, description="of a part that only does that, rad")
    motion_s: float = Field(default=1.2, gt=0.0, le=60.0, description="time of a part, s")
    knots: tuple[float, float] = Field(
        default=(0.4, 0.8), description="shares of that time at which commands bend; it rests after the second, -"
    )
    speed_share: float = Field(
        default=0.9, gt=0.0, le=1.0, description="of the joints' limits of speed: a bridge refuses what is beyond, -"
    )
    screen_step_s: float = Field(
        default=0.004, gt=0.0, le=0.01, description="time step of the roll-outs that motions are ranked by, s"
    )
    settle_s: float = Field(default=0.5, ge=0.0, le=60.0, description="rest after it before it is judged, s")
    rested_s: float = Field(default=1.0, ge=0.0, le=60.0, description="rest before what is kept is judged, s")
    spread_rad: float = Field(
        default=0.3,
        gt=0.0,
        le=10.0,
        description="standard deviation of a finger's command, rad",
    )
    sizes: tuple[float, ...] = Field(
        default=(0.3, 1.0, 2.0), min_length=1, description="factors on it that are drawn, one for each motion, -"
    )
    full_rad: float = Field(
        default=0.5, gt=0.0, le=10.0, description="cost from which it is that; in proportion below, rad"
    )
    least_scale: float = Field(default=0.15, gt=0.0, le=1.0, description="of it at least, near the goal, -")
    slide_spread_m: float = Field(
        default=0.02, ge=0.0, le=1.0, description="standard deviation of the slides' command, m"
    )
    sliding_share: float = Field(
        default=0.3, ge=0.0, le=1.0, description="of the motions in which slides move by themselves, -"
    )
    posture_share: float = Field(
        default=0.4, ge=0.0, le=1.0, description="of moving fingers that first go to any posture within their limits"
    )
    variation_rad: float = Field(
        default=0.1, gt=0.0, le=10.0, description="standard deviation of a variation, rad; halved where none is better"
    )
    most_carried_m: float = Field(
        default=0.15, ge=0.0, le=10.0, description="way that slides carry the object towards the goal in a part, m"
    )
    turned: float = Field(
        default=1.8, ge=1.0, le=100.0,
        description="tolerances of arrival within which an object is turned enough for slides to carry it, -",
    )  # fmt: skip
    tilt_weight: float = Field(
        default=2.0, ge=1.0, le=100.0,
        description="of turns across gravity, which undoes them, beside those about it, where slides carry, -",
    )  # fmt: skip
    free_shift_m: float = Field(
        default=0.05, ge=0.0, le=10.0, description="way in the hand, from where it starts, that an object may take, m"
    )
    shift_weight: float = Field(
        default=0.15, ge=0.0, le=10.0, description="of a longer one beside the turn, where slides mend the position, -"
    )
    least_friction: float | None = Field(
        default=None, gt=0.0, le=1.0,
        description="factor on the system's friction in one more draw, of heavy objects: what may slip out of a hand",
    )  # fmt: skip
    spread_weight: float = Field(
        default=1.0, ge=0.0, le=10.0, description="of the standard deviation between draws beside their mean, -"
    )
    lost_rad: float = Field(
        default=1.0, gt=0.0, le=100.0, description="further from the goal than before a draw counts as this, rad"
    )
    least_gain: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="of a part, in the median of the draws, over what is left, -"
    )
    least_gain_rad: float = Field(
        default=0.003, gt=0.0, le=1.0, description="of a part, in the median of the draws, rad"
    )
    corrected: float = Field(
        default=0.8, gt=0.0, lt=1.0, description="share of the error that a correction by least squares may leave, -"
    )
    near_rad: float = Field(
        default=0.35, ge=0.0, le=10.0, description="what is left from which commands are corrected first, rad"
    )

    @model_validator(mode="after")
    def _check_knots(self) -> "SampledConfig":
        if not 0.0 < self.knots[0] < self.knots[1] < 1.0:
            raise ValueError(f"knots {self.knots}: expected 0 < first < second < 1")
        return self
