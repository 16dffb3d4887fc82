"""The system file (config/systems/*.yaml) as a validated, frozen record; unknown keys are refused."""

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from contact_mpc.errors import ConfigError

TYPE_MISMATCHES = ("tuple_type", "float_type")
T = TypeVar("T", bound=BaseModel)
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

    name: str = Field(description="name of the joint, before which the robot's joint_prefix is put")
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

    name: str
    urdf: str = Field(description="file name in urdf/ or a path beside the system file")
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


class ObjectConfig(_Frozen):
    """A manipulated object: a free body, or a body on the joints of its own URDF."""

    name: str
    urdf: str
    mobility: Literal["free", "jointed"] = Field(description="free: six degrees; jointed: the URDF's own joints")
    position_m: Vector3 = (0.0, 0.0, 0.0)
    rpy_rad: Vector3 = (0.0, 0.0, 0.0)
    default_joints_rad: dict[str, float] = Field(
        default_factory=dict, description="by joint, rad or m; those left out: as near to 0 as limits allow"
    )


class FixedConfig(_Frozen):
    """A shape at rest in the world, e.g. the ground: objects touch it, robots pass through."""

    name: str
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

    name: str
    gravity_m_s2: Vector3 = (0.0, 0.0, -9.81)
    h_s: Positive = Field(default=0.1, description="time step of the quasi-dynamic model, s")
    kappa_per_j: Positive = Field(default=1.0e4, description="log-barrier weight, 1/J")
    activation_distance_m: Positive = Field(default=0.1, description="pairs further apart are left out, m")
    friction: Friction
    robots: tuple[RobotConfig, ...] = Field(min_length=1)
    objects: tuple[ObjectConfig, ...] = Field(min_length=1)
    fixed: tuple[FixedConfig, ...] = ()


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping; raises ConfigError naming the file and the line of a syntax error."""
    try:
        data = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected a mapping of keys to values, found {type(data).__name__}")
    return data


def validate(model: type[T], data: dict[str, Any], source: Path | str) -> T:
    """Validate data against a pydantic model; raises ConfigError naming source, key, value and what is allowed."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{source}: {_explain(model, error)}") from error


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    lines = []
    found = [(tuple(part for part in item["loc"] if not _is_alternative(part)), item) for item in error.errors()]
    for loc, item in found:
        if any(_tells_more(loc, item["type"], *other) for other in ((at, more["type"]) for at, more in found)):
            continue
        key = ".".join(str(part) for part in loc) or "(top level)"
        if item["type"] == "extra_forbidden":
            lines.append(f"unknown key '{key}'{_suggest(model, loc)}")
        elif item["type"] == "missing":
            lines.append(f"key '{key}' is missing")
        else:
            lines.append(f"key '{key}' = {item['input']!r}: {item['msg']}")
    return "; ".join(lines)


def _is_alternative(part: int | str) -> bool:
    """Whether a part of a location is pydantic's name for one of several types that a key may have."""
    return isinstance(part, str) and ("[" in part or part.startswith("constrained-"))


def _tells_more(loc: tuple[int | str, ...], kind: str, other: tuple[int | str, ...], other_kind: str) -> bool:
    """Whether the other error says more: it lies deeper, or is no mismatch of types with another alternative."""
    if other[: len(loc)] != loc:
        return False
    return len(other) > len(loc) or (kind in TYPE_MISMATCHES and other_kind not in TYPE_MISMATCHES)


def _suggest(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    owner = model
    for part in loc[:-1]:
        owner = _nested(owner.model_fields[part].annotation) if isinstance(part, str) else owner
    names = list(owner.model_fields)
    close = difflib.get_close_matches(str(loc[-1]), names, n=1)
    return f" (did you mean '{close[0]}'?)" if close else f" (allowed: {', '.join(sorted(names))})"


def _nested(annotation: Any) -> type[BaseModel]:
    """Return the model that a field holds, by itself or in a tuple."""
    candidates = (annotation, *get_args(annotation))
    return next(item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel))
