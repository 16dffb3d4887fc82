"""Parameters of the contact-implicit program and of its solution."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ReplanConfig(BaseModel):
    """How a push is watched, learnt from and planned again while it runs; key `replan` of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    due_steps: int = Field(
        default=2, ge=0, le=20, description="a hit in so few steps is not planned again: the arm cannot change it"
    )
    stops_short_m: float = Field(
        default=0.005, ge=0.0, le=0.1, description="error of where it will stop up to which a slide is as planned, m"
    )
    limit_noise_rad: float = Field(
        default=0.01, ge=0.0, le=0.1, description="by which noise may put a joint beyond its limits, rad"
    )
    watch_after_steps: int = Field(
        default=2, ge=0, le=20, description="steps after a hit before the slide is watched: contact lasts about one"
    )
    least_travel_m: float = Field(default=1e-3, gt=0.0, le=0.1, description="travel that counts as moved, m")
    largest_restitution: float = Field(default=0.9, ge=0.0, le=1.0, description="that a slide is believed to show, -")
    most_searches: int = Field(default=4, ge=0, le=100, description="of further pushes; each takes 0.3 to 0.5 s")
    moving_m_s: float = Field(default=0.15, gt=0.0, le=1.0, description="speed below which a slide has ended, m/s")
    least_samples: int = Field(
        default=6, ge=3, le=100, description="of a slide whose friction is believed: with 4, a was off by up to 27 %"
    )
    resting_samples: int = Field(default=2, ge=1, le=100, description="without motion after which the object rests")
    slowing_range: tuple[float, float] = Field(
        default=(0.3, 3.0), description="of the model's deceleration; a fit outside is none, -"
    )
    least_left_m: float = Field(
        default=0.04, gt=0.0, le=1.0,
        description="nearer to its goal a block is not pushed again, or by less than a turn could mend, m",
    )  # fmt: skip
    largest_turn_deg: float = Field(default=12.0, gt=0.0, le=45.0, description="that one hit is aimed to give, deg")
    largest_share: float = Field(
        default=0.2, gt=0.0, le=1.0,
        description="of a block's half width to hit at: further out it gives way by turning and takes less of the hit",
    )  # fmt: skip


class ContactImplicitSettings(BaseModel):
    """Everything that a user may set; keys carry units. Defaults are the paper's where it gives one."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    stages: int = Field(default=40, ge=5, le=200, description="N, stages over the horizon")
    horizon_s: float = Field(default=1.5, gt=0.0, le=10.0, description="T; the step is T / (N - 1)")
    friction_form: Literal["next", "printed"] = Field(
        default="next", description="(12) on the velocity after the step (next), or at the same index (printed)"
    )
    restitution: float = Field(default=0.0, ge=0.0, le=1.0, description="epsilon of (10), -")
    object_at_rest: bool = Field(
        default=True, description="whether the block must be at rest at the end; the paper leaves its velocity free"
    )
    clearance_m: float = Field(default=0.05, ge=0.0, le=1.0, description="least height of the tool's head, m")
    edge_m: float = Field(
        default=0.03, ge=0.0, le=0.5,
        description="below a block's upper edge that the tool stays, where its round head would slip over, m",
    )  # fmt: skip
    rod_clearance_m: float = Field(
        default=0.015, ge=0.0, le=0.5, description="least distance of the rod's axis behind the virtual plane, m"
    )
    tau_weight: float = Field(default=1.0, gt=0.0, le=1e3, description="R of (7), on the diagonal")
    velocity_weights: tuple[float, ...] = Field(
        default=(0.05, 0.05, 0.05, 0.5, 0.5), description="Q of (7), on the diagonal, per joint: the wrist costs more"
    )
    limit_share: float = Field(
        default=1.0, gt=0.0, le=1.0, description="share of the URDF's torque and velocity limits that a plan may use"
    )
    starts: Literal["one_hit", "relaxed"] = Field(
        default="one_hit",
        description="what is solved from a guess: its one hit, and the relaxed program where that fails, or always",
    )
    relaxations: tuple[float, ...] = Field(
        default=(1e-2,), min_length=1, description="sigma of the relaxed complementarity, one search after the other"
    )
    contact_times_s: tuple[float, ...] = Field(
        default=(0.38, 0.54), min_length=1, description="when the initial guesses touch: one start each, ranked by cost"
    )
    contact_spacing: int = Field(
        default=2,
        ge=1,
        le=50,
        description="a start may touch at its contact time, this many steps before and after, and so on; 1: any step",
    )
    tolerance: float = Field(default=1e-8, gt=0.0, le=1e-3, description="largest residual of an accepted plan")
    iterations: int = Field(default=150, ge=10, le=5000, description="most iterations per solve")
    caution: float = Field(
        default=0.12,
        ge=0.0,
        lt=1.0,
        description="receding horizon: the first push aims short by this share of the way, ...",
    )
    caution_m: float = Field(
        default=0.05,
        ge=0.0,
        le=1.0,
        description="... and by this, m: a second push by a few cm often has no solution",
    )
    later_caution: float = Field(
        default=0.1,
        ge=0.0,
        lt=1.0,
        description="receding horizon: later pushes, which are slow, aim short by this share of what is missing",
    )
    correct_from_m: float = Field(
        default=0.01, gt=0.0, le=1.0, description="receding horizon: an object that stops this short is pushed again, m"
    )
    spin_decay: float = Field(
        default=1.0,
        ge=0.0,
        le=100.0,
        description="receding horizon: p of a block that turns while it slides, omega ~ v^p; see `aim`",
    )
    search_delay_s: float = Field(
        default=0.4,
        ge=0.0,
        le=5.0,
        description="receding horizon: the plan of another push begins so long after the state it was searched from",
    )
    clear_after_steps: int = Field(
        default=3, ge=1, le=50, description="steps after the last contact from which on the tool stays clear of a block"
    )
    clear_m: float = Field(default=0.01, ge=0.0, le=0.2, description="by which it then stays clear, m")
    speed_at_end: float = Field(
        default=0.1, ge=0.0, le=10.0, description="of sigma, m/s: how fast a block may still be at the end of a search"
    )
    braking_steps: int = Field(default=8, ge=1, le=100, description="in which the tool of a first guess stops")
    small_force_n: float = Field(default=0.1, ge=0.0, le=100.0, description="force of a first guess at every step, N")
    hit_spacing: int = Field(
        default=4, ge=1, le=50, description="steps between the instants at which a plan of one hit is tried"
    )
    most_hits: int = Field(default=3, ge=1, le=50, description="instants that are tried")
    trace: float = Field(
        default=0.02, ge=0.0, le=1.0, description="share of the largest force below which a contact is dropped, -"
    )
    replan: ReplanConfig = ReplanConfig()
    tool_link: str = Field(default="tool", description="link whose sphere is the head of the tool")
