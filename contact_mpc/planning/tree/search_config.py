"""How a tree goes on from stage to stage, and how its paths become motions: section `search` of a planning file."""

from pydantic import BaseModel, ConfigDict, Field


class SearchConfig(BaseModel):
    """What was tuned on all systems alike; distances are those of the objects in the global metric, rad."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    least_gain: float = Field(
        default=0.1, ge=0.0, lt=1.0,
        description="share of the distance to the goal; what takes off less counts as tried as often as its origin",
    )  # fmt: skip
    least_spread: float = Field(
        default=0.2, ge=0.0, le=1.0, description="of samples about the goal, as share of their ranges"
    )
    near_rad: float = Field(
        default=0.5, ge=0.0, le=10.0,
        description="distance from the goal from which on stages are small and more of their ends count, rad",
    )  # fmt: skip
    near_nodes: float = Field(
        default=0.2, gt=0.0, le=1.0, description="share of the nodes of a stage that begins there, -"
    )
    grasps: int = Field(default=4, ge=1, le=100, description="ends of a stage, each in another grasp")
    grasps_near: int = Field(default=8, ge=1, le=100, description="ends of a stage that begins near the goal")
    first_iterations: int = Field(
        default=400, ge=1, le=100_000, description="without a node, after which a stage counts as stuck"
    )
    iterations_per_node: int = Field(default=20, ge=1, le=10_000, description="more of them for each node of a stage")
    stuck_stages: float = Field(
        default=3.0, ge=0.0, le=100.0,
        description="stages that may be stuck before the tree is, times those that its nodes make",
    )  # fmt: skip
    steered_rad: float = Field(
        default=1.5, ge=0.0, le=10.0,
        description="distance from the goal from which the best nodes of a stage are steered there, rad",
    )  # fmt: skip
    radians_per_step: float = Field(
        default=0.14, gt=0.0, le=1.0, description="of the object along straight ways, rad: more is not linear enough"
    )
    fewest_steps: int = Field(default=5, ge=1, le=1000, description="of a straight way")
    most_steps: int = Field(default=40, ge=1, le=1000, description="of a straight way")
    arrives_within: float = Field(
        default=2.0, gt=0.0, le=10.0, description="tolerances of the goal within which a tree arrives at first, -"
    )
    arrives_close: float = Field(
        default=0.95, gt=0.0, le=1.0, description="tolerances within which one from there arrives, -"
    )
    least_charge: int = Field(
        default=5, ge=1, le=1000,
        description="nodes of the budget that a tree costs at least: one that does not grow takes its time",
    )  # fmt: skip
    most_stuck: int = Field(
        default=2, ge=1, le=100, description="trees at the start that hardly grow, before planning ends"
    )
    first: tuple[str, ...] = Field(
        default=(), description="coordinates of objects brought to their goals while the others stay, first"
    )
    first_rad: float = Field(
        default=0.2, gt=0.0, le=10.0,
        description="distance of a coordinate of `first` from its goal above which it is planned alone, rad (m)",
    )  # fmt: skip
    first_share: float = Field(
        default=0.1, gt=0.0, le=1.0,
        description="half width of the ranges of the other coordinates then, as share of their width",
    )  # fmt: skip
    look_ahead: int = Field(default=3, ge=1, le=20, description="segments that a shortcut may span")
    approach_rad: float = Field(
        default=1.5, ge=0.0, le=10.0, description="distance from which the goal is approached in the last grasp, rad"
    )
    approaches: int = Field(default=2, ge=0, le=20, description="how often")
    rest_arrives_rad: float = Field(
        default=0.2, gt=0.0, le=10.0, description="from the goal, up to which the rest of a refined path may end, rad"
    )
    missed: float = Field(
        default=0.5, gt=0.0, le=1.0,
        description="share of a segment's way by which a motion may miss its end, and still use the grasps after it, -",
    )  # fmt: skip
    segment_tolerance_rad: float = Field(
        default=0.02, gt=0.0, le=1.0, description="from the end of a segment, up to which a refined one may end, rad"
    )
