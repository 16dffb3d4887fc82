"""The system file (config/systems/*.yaml) as a validated, frozen record; unknown keys are refused."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from contact_mpc.settings.names import FileName, Name

Vector3 = tuple[float, float, float]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FrictionPair(_Frozen):
    """Friction coefficient of one pair of links, objects or robots, by name."""

    bodies: tuple[str, str] = Field(description="two names: link, object or robot")
    mu: NonNegative = Field(description="Coulomb friction coefficient, -")


class Friction(_Frozen):
    """Coulomb friction coefficients of the contact pairs."""

    default: NonNegative = Field(description="friction coefficient of pairs that are not listed, -")
    pairs: tuple[FrictionPair, ...] = Field(default=(), description="exceptions, the last match wins")


class SlideConfig(_Frozen):
    """A linear axis between the world and a robot's base."""

    name: Name = Field(description="name of the joint, before which the robot's joint_prefix is put")
    axis: Literal["x", "y", "z"] = Field(description="axis of the world")
    lower_m: float
    upper_m: float
    effort_n: Positive = Field(description="force limit, N")
    velocity_m_s: Positive
    mass_kg: Positive = Field(default=1.0, description="of the carriage (physics engines only)")


class GainSet(_Frozen):
    """Gains of the joint impedance law that may take the place of a robot's own."""

    joint_stiffness_nm_per_rad: Positive | tuple[Positive, ...] = Field(description="Kp per joint, N m/rad")
    joint_damping_nms_per_rad: NonNegative | tuple[NonNegative, ...] = Field(description="Kd per joint, N m s/rad")


class RobotConfig(_Frozen):
    """An impedance-controlled robot: its URDF, where it stands, its joint stiffness."""

    name: Name
    urdf: FileName = Field(description="file name in urdf/ or a path beside the system file")
    joint_prefix: str = Field(default="", description="put before the URDF's joint names: two robots can share it")
    base_position_m: Vector3 = (0.0, 0.0, 0.0)
    base_rpy_rad: Vector3 = (0.0, 0.0, 0.0)
    base_slides: tuple[SlideConfig, ...] = Field(
        default=(), description="linear axes, from the world on, that carry the base: the first joints of the robot"
    )
    joint_stiffness_nm_per_rad: Positive | tuple[Positive, ...] = Field(description="Kp per joint, N m/rad")
    joint_damping_nms_per_rad: NonNegative | tuple[NonNegative, ...] = Field(description="Kd per joint, N m s/rad")
    gain_sets: dict[str, GainSet] = Field(
        default_factory=dict, description="other gains by name, for the command bridge's parameter gain_set"
    )
    joint_reflected_inertia_kg_m2: NonNegative | tuple[NonNegative, ...] = Field(
        default=0.0, description="rotor inertia seen at the joint, kg m^2 (physics engines only)"
    )
    default_joints_rad: dict[str, float] = Field(
        default_factory=dict, description="by joint, rad or m; those left out: as near to 0 as limits allow"
    )
    fingertips: tuple[str, ...] = Field(
        default=(),
        description="links that a grasp may hold with, all of them where the robot is one arm; none: the last of each "
        "finger that has a shape",
    )


class ObjectConfig(_Frozen):
    """A manipulated object: a free body, or a body on the joints of its own URDF."""

    name: Name
    urdf: FileName
    mobility: Literal["free", "jointed"] = Field(description="free: six degrees; jointed: the URDF's own joints")
    position_m: Vector3 = (0.0, 0.0, 0.0)
    rpy_rad: Vector3 = (0.0, 0.0, 0.0)
    default_joints_rad: dict[str, float] = Field(
        default_factory=dict, description="by joint, rad or m; those left out: as near to 0 as limits allow"
    )


class FixedConfig(_Frozen):
    """A shape at rest in the world, e.g. the ground: objects touch it, robots pass through."""

    name: Name
    shape: Literal["half_space", "sphere", "box", "capsule", "cylinder"] = Field(
        description="half_space: solid below its surface, whose normal is the z axis of the pose"
    )
    size_m: tuple[Positive, ...] = Field(
        default=(), description="sphere: [radius]; box: [x, y, z]; capsule, cylinder: [radius, length]; else none"
    )
    position_m: Vector3 = (0.0, 0.0, 0.0)
    rpy_rad: Vector3 = (0.0, 0.0, 0.0)

    @model_validator(mode="after")
    def _check_size(self) -> "FixedConfig":
        count = {"half_space": 0, "sphere": 1, "box": 3}.get(self.shape, 2)
        if len(self.size_m) != count:
            raise ValueError(f"size_m of a {self.shape} has {count} values, found {len(self.size_m)}")
        return self


class SystemConfig(_Frozen):
    """Robots, objects and contact parameters of one system."""

    name: Name
    gravity_m_s2: Vector3 = (0.0, 0.0, -9.81)
    h_s: Positive = Field(default=0.1, description="time step of the quasi-dynamic model, s")
    kappa_per_j: Positive = Field(default=1.0e4, description="log-barrier weight, 1/J")
    activation_distance_m: Positive = Field(default=0.1, description="pairs further apart are left out, m")
    friction: Friction
    robots: tuple[RobotConfig, ...] = Field(min_length=1)
    objects: tuple[ObjectConfig, ...] = Field(description="none: a robot by itself, to look at")
    fixed: tuple[FixedConfig, ...] = ()
