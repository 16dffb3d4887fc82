"""How the parts of a plan are handed out, corrected in physics and given up: section `parts` of a planning file."""

from pydantic import BaseModel, ConfigDict, Field


class PartsConfig(BaseModel):
    """What was tuned on all systems alike; distances are those of the objects in the global metric, rad."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    most_deg: float = Field(default=5.0, gt=0.0, le=180.0, description="tolerance of arrival where looser, deg")
    most_mm: float = Field(default=10.0, gt=0.0, le=1000.0, description="tolerance of arrival where looser, mm")
    hold_s: float = Field(default=2.0, ge=0.0, le=600.0, description="time that the goal is held at the end, s")
    time_factor: float = Field(
        default=3.0, ge=1.0, le=100.0, description="time of an execution that plans on the way, over that of the plan"
    )
    spare_s: float = Field(default=30.0, ge=0.0, le=600.0, description="time that it has beyond that, s")
    drop_distance_m: float = Field(
        default=0.2, gt=0.0, le=10.0,
        description="of an object from its plan that counts as dropped, m: it lags behind while it is gripped anew",
    )  # fmt: skip
    starts_rad: float = Field(
        default=0.02, gt=0.0, le=1.0,
        description="of an object from the problem's start, rad: a plan that starts further away is another problem's",
    )  # fmt: skip
    arrived: float = Field(
        default=0.7, gt=0.0, le=1.0, description="tolerances within which the object has arrived: estimates are noisy"
    )
    planned: float = Field(default=0.4, gt=0.0, le=1.0, description="tolerances within which new plans shall end, -")
    piece_rad: float = Field(
        default=0.5, gt=0.0, le=100.0,
        description="way of the object after which a held part pauses, rad: errors do not add up beyond it",
    )  # fmt: skip
    free_rad: float = Field(default=0.03, gt=0.0, le=1.0, description="error that stays after fingers moved, rad")
    held_rad: float = Field(default=0.03, gt=0.0, le=1.0, description="error that stays after a part in a grasp, rad")
    last_rad: float = Field(default=0.008, gt=0.0, le=1.0, description="error that stays after the last part, rad")
    mends: int = Field(default=2, ge=0, le=100, description="tries to bring an object back without a new plan")
    mend_s: float = Field(default=1.5, gt=0.0, le=60.0, description="time of such a try, s")
    mended: float = Field(default=0.5, gt=0.0, lt=1.0, description="share of the error that may be left after one")
    off_rad: float = Field(
        default=0.08, gt=0.0, le=10.0, description="error from which the rest of a plan is left, rad"
    )
    lost_rad: float = Field(
        default=1.0, gt=0.0, le=100.0, description="beyond the bounds of trees, from which on an object is lost, rad"
    )
    rest_s: float = Field(
        default=3.0, ge=0.0, le=60.0, description="longest wait for the object to come to rest after a part, s"
    )
    object_weight: float = Field(
        default=100.0, gt=0.0, le=1e6,
        description="of an object beside robots, where measured states are moved out of overlaps of nominal shapes, -",
    )  # fmt: skip
    start_overlap: float = Field(
        default=0.5, gt=0.0, le=1.0,
        description="share of rrt.deepest_m that measured states may overlap by: the step to rest adds to it, -",
    )  # fmt: skip
    pressing: tuple[float, ...] = Field(
        default=(1.0, 0.5, 0.25, 0.0), min_length=1,
        description="shares of the command's lead over the joints with which the model is asked, in turn, to leave an "
        "object that rests within off_rad of its place: new plans start from the first that does, -",
    )  # fmt: skip
    left: float = Field(
        default=0.5, gt=0.0, le=1.0,
        description="error left in physics, as share of a part's way, from which other plans are tried first",
    )  # fmt: skip
    refusals: int = Field(default=3, ge=1, le=100, description="plans tried then")
    last_refusals: int = Field(
        default=12,
        ge=1,
        le=100,
        description="plans tried where none of them leads nearer, before there is said to be none",
    )
    near_rad: float = Field(
        default=0.15, ge=0.0, le=100.0,
        description="distance from the goal up to which trees from one state share near_nodes: they find little there",
    )  # fmt: skip
    near_nodes: int = Field(
        default=1500, ge=1, le=1_000_000, description="nodes of all trees from one state so near to the goal"
    )
    searches: float = Field(
        default=16.0, gt=0.0, le=1000.0,
        description="nodes of all trees that a motion may need beside its plan, over those of a plan, -",
    )  # fmt: skip
    attempts: int = Field(
        default=4, ge=1, le=100, description="seeds tried from one state before there is said to be no plan"
    )

    def longest_s(self, plan_s: float) -> float:
        """Return the time, s, that an execution may take which plans on the way, for a plan of plan_s."""
        return self.time_factor * plan_s + self.spare_s
