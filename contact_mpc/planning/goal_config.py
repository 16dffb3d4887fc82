"""What goals at run time are held against: how fast, how far and with how much force, on all tasks alike."""

from pydantic import BaseModel, ConfigDict, Field


class GoalConfig(BaseModel):
    """Speeds and shares by which a goal becomes a task."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    far: float = Field(
        default=2.0, ge=1.0, le=100.0,
        description="times as long as the task, from which on fingers must roll there before a plan is searched: "
        "optimisation would take long to find that there is no way",
    )  # fmt: skip
    least_duration_s: float = Field(default=1.0, gt=0.0, le=60.0, description="of any goal, s")
    least_regrasp_s: float = Field(
        default=40.0, gt=0.0, le=600.0, description="of a goal that may take a new grasp or several, s"
    )
    force_shares: tuple[float, ...] = Field(
        default=(1.0, 0.75, 0.5), min_length=1,
        description="of the task's least force per finger, tried in turn: a grasp that has rolled gives a little less",
    )  # fmt: skip
    most_loop_rad2: float = Field(
        default=0.02, gt=0.0, le=10.0,
        description="area between the task's start, the object and its goal among rotation vectors, rad^2, above which "
        "the way leads through the start: in a loop fingers end elsewhere on the object",
    )  # fmt: skip
    most_trail_turns: float = Field(
        default=2.0, ge=1.0, le=100.0,
        description="times the task's turn that the object may have been turned to and fro since the start, before the "
        "way leads through it again",
    )  # fmt: skip
    back_step_s: float = Field(default=0.1, gt=0.0, le=1.0, description="between instants of a way back, s")
    least_turn_deg: float = Field(
        default=10.0, gt=0.0, le=180.0, description="tasks that turn by less say nothing about the speed of turns, deg"
    )
    least_way_m: float = Field(
        default=0.01, gt=0.0, le=10.0, description="tasks that move by less say nothing about the speed of moves, m"
    )
    usual_turn_deg_s: float = Field(default=10.0, gt=0.0, le=360.0, description="speed of turns then, deg/s")
    usual_speed_m_s: float = Field(default=0.01, gt=0.0, le=1.0, description="speed of moves then, m/s")
