"""The file of a planning problem (config/planning) as a validated, frozen record."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.parts_config import PartsConfig
from contact_mpc.planning.tree.search_config import SearchConfig
from contact_mpc.planning.tree.timing import TimingConfig
from contact_mpc.settings.names import FileName, Name

Range = tuple[float, float]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CoordinateConfig(_Frozen):
    """One coordinate of an object: where it starts, where it shall go, the range that samples are drawn from."""

    start: float
    goal: float
    range: Range = Field(description="range of samples; nodes further out by half its width are refused")

    @model_validator(mode="after")
    def _check_range(self) -> "CoordinateConfig":
        if self.range[0] > self.range[1]:
            raise ValueError(f"range {self.range}: expected lower <= upper")
        return self


class RrtConfig(_Frozen):
    """Parameters of the tree."""

    nodes: int = Field(default=1000, ge=1, le=1_000_000, description="nodes of all trees of a plan at most")
    stage_nodes: int = Field(
        default=300, ge=1, le=1_000_000, description="nodes after which a tree goes on from one of its best alone"
    )
    h_s: float = Field(default=0.1, gt=0.0, le=1.0, description="time step of the model, s")
    step_rad: float = Field(default=0.2, gt=0.0, description="largest |du| of an extension, Euclidean, rad (m)")
    gamma: float = Field(default=1e-4, gt=0.0, description="regularisation of the metric's Sigma")
    gamma_position: float | None = Field(
        default=None, gt=0.0, description="of its rows that are positions, (m/rad)^2; `gamma` where left out"
    )
    smoothed_kappa_per_j: float = Field(default=3e3, gt=0.0, description="barrier weight of metric and extension, 1/J")
    check_kappa_per_j: float = Field(
        default=1e6, gt=0.0, description="barrier weight that counts as unsmoothed while the tree grows, 1/J"
    )
    run_steps: int = Field(default=1, ge=1, le=1000, description="extensions in a row towards one target, at most")
    goal_probability: float = Field(default=0.3, ge=0.0, le=1.0, description="of the goal as sample")
    contact_probability: float = Field(default=0.2, ge=0.0, le=1.0, description="of contact sampling")
    candidates: int = Field(default=3, ge=1, le=100, description="grasps drawn per contact sample, the best is kept")
    least_progress: float = Field(
        default=0.2, ge=0.0, le=1.0, description="share of the smoothed step's progress that the unsmoothed step keeps"
    )
    progress_halvings: int = Field(
        default=2, ge=0, le=2, description="how often the command of an extension that keeps less is halved"
    )
    effort_share: float = Field(
        default=1.0, gt=0.0, le=1.0, description="of the effort limits, for |K (u - q_a)| at the end of a step"
    )
    limit_margin_rad: float = Field(default=0.02, ge=0.0, description="distance from the joint limits, rad (m)")
    length_m: float = Field(gt=0.0, description="motion in m that counts as 1 rad in the global metric")
    deepest_m: float = Field(
        default=2e-3, gt=0.0, description="penetration after a step, from linearised gaps, above which it is refused, m"
    )
    metric: str = Field(
        default="local", pattern="^(local|global)$", description="metric of the nearest node and of progress towards it"
    )
    selective: bool = Field(
        default=True,
        description="refuse extensions without progress and nodes that refuse; else every possible step is a node",
    )


class ApproachConfig(_Frozen):
    """A pusher that starts on a circle about the object and moves straight towards a point near it."""

    joints: tuple[str, str] = Field(description="prismatic joints along the world's axes `axes`")
    axes: tuple[int, int] = Field(default=(0, 1), description="world axes of the two joints")
    radius_m: float = Field(gt=0.0, description="of the circle, outside everything")
    spread_m: float = Field(ge=0.0, description="half width of the square of points aimed at")


class CloseConfig(_Frozen):
    """A posture with fingers open, and how each closes until it touches."""

    open_rad: dict[str, Range] = Field(description="joint -> range of the open posture, rad (m)")
    close_rad: dict[str, Range] = Field(description="joint -> range of the motion of closing, rad (m)")
    fingers: dict[str, tuple[str, ...]] = Field(description="finger -> the joints that close it")
    follow_m: dict[str, tuple[float, float, float]] = Field(
        default_factory=dict, description="joint -> factors of the object's world position, added to the posture"
    )
    weight: float = Field(default=1.0, gt=0.0, description="how often this posture is drawn, relative to the others")


class ContactConfig(_Frozen):
    """How contacts are sampled: by an approach or by closing fingers from one of several postures."""

    approach: ApproachConfig | None = None
    close: tuple[CloseConfig, ...] = ()
    preload_rad: float = Field(default=0.0, ge=0.0, description="norm of the closing command beyond touch, rad (m)")
    clearance_m: float = Field(default=0.003, gt=0.0, description="gap that fingers in free motion keep, m")
    all_fingers_probability: float = Field(
        default=1.0, ge=0.0, le=1.0, description="of moving all fingers; else a random part of them moves, others hold"
    )
    least_touching: int = Field(default=1, ge=1, description="fingers that touch after contact sampling, at least")
    hold_m: float = Field(
        default=0.003, gt=0.0, description="largest motion of the object while fingers are away, and when they press, m"
    )

    @model_validator(mode="after")
    def _check_kind(self) -> "ContactConfig":
        if (self.approach is None) == (not self.close):
            raise ValueError("give either `approach` or a list `close`")
        return self


class TrajoptCaseConfig(_Frozen):
    """A short motion for the trajectory optimisation from a trivial start."""

    goal: dict[str, float] = Field(description="coordinate -> goal, in place of those of `objects`")
    steps: int = Field(default=20, ge=1, le=1000, description="steps of the horizon")
    h_s: float | None = Field(default=None, gt=0.0, le=1.0, description="time step, s; that of `rrt` where left out")
    starts: int = Field(
        default=20, ge=1, le=1000, description="contact samples of which the start is the one with the least cost"
    )
    settings: dict[str, float | int | str] = Field(default_factory=dict, description="of the trajectory optimisation")


class ProblemFile(_Frozen):
    """The keys of a planning file."""

    name: Name
    description: str = ""
    system: FileName = Field(description="name of a system or path of its YAML")
    friction: float | None = Field(default=None, ge=0.0, description="of all pairs; the system's where left out")
    objects: dict[str, CoordinateConfig] = Field(
        description="per joint of an object, NAME_rad or NAME_m; of a free object NAME_x_m .. NAME_yaw_rad"
    )
    start_joints_rad: dict[str, float] = Field(
        default_factory=dict, description="robot at the start, rad (m); a contact sample where left out"
    )
    is_random: bool = Field(
        default=False,
        description="every seed of `study execution` draws the goal's rotation of the one free object from SO(3)",
    )
    tolerance_deg: float = Field(gt=0.0, le=180.0)
    tolerance_mm: float = Field(gt=0.0, le=1000.0)
    turns: FileName | None = Field(
        default=None,
        description="task with planner.method: regrasp, whose turns and new grasps, planned from the measured state, "
        "take the place of a tree's parts (for what looks the same however it is turned)",
    )
    rrt: RrtConfig
    contacts: ContactConfig
    plan_step_rad: float = Field(
        default=1.0, gt=0.0, description="largest change of a command per step of a plan while it holds, rad (m)"
    )
    plan_move_rad: float = Field(
        default=0.25, gt=0.0, description="most that an object moves in a step of a plan, global metric, rad"
    )
    sampled: SampledConfig | None = Field(
        default=None, description="random motions in a physics engine take the place of trees; none where left out"
    )
    search: SearchConfig = SearchConfig()
    parts: PartsConfig = PartsConfig()
    timing: TimingConfig = TimingConfig()
    refinement: dict[str, float | int | str] = Field(
        default_factory=dict, description="parameters of the trajectory optimisation of segments"
    )
    disturbance: dict[str, float | bool] = Field(
        default_factory=dict, description="ranges that executions of plans draw from, where not the package's"
    )
    trajopt: TrajoptCaseConfig | None = Field(default=None, description="a short motion, planned without a tree")
