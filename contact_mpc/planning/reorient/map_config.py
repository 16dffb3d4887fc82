"""Parameters of the search of grasps at other orientations; see `contact_mpc.planning.reorient.more_grasps`."""

from pydantic import BaseModel, ConfigDict, Field


class GraspMapConfig(BaseModel):
    """How grasps are varied, and what one is worth; the defaults found the grasps of a cube of 60 mm."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    stones: int = Field(
        default=3, ge=1, le=100, description="parts of the turn per grasp: its own, and stepping stones to the next"
    )
    turn_rad: float = Field(default=0.07, gt=0.0, le=1.0, description="standard deviation of a variation's turn, rad")
    joint_rad: float = Field(default=0.1, gt=0.0, le=1.0, description="the most that one of joints is, rad")
    place_m: float = Field(default=3e-3, ge=0.0, le=0.1, description="the most that one of the place is, m")
    pull_m: float = Field(
        default=1.5e-3, ge=0.0, le=0.1, description="the most that a variation goes back to the start's place, m"
    )
    near_m: float = Field(
        default=3e-3, ge=0.0, le=0.1, description="from the start's place, to which fingers roll with the object, m"
    )
    place_weight_per_m: float = Field(
        default=120.0, ge=0.0, description="of the distance beyond near_m in a grasp's worth, 1/m"
    )
    reach_m: float = Field(
        default=1e-3, gt=0.0, le=0.01, description="gap at which a finger counts as touching, as in a balance, m"
    )
    gap_weight: float = Field(
        default=0.3, gt=0.0, le=100.0, description="of a part with whole neighbours, to be varied; 1 more per other"
    )
