"""ROS parameters from frozen pydantic configs: one place gives type, default, unit, range and meaning.

Every field becomes a parameter with a descriptor, read-only unless it is marked as tunable; a nested config becomes
`outer.inner`. The values given in parameter files, on the command line and while the node runs are validated by the
config itself; unknown names are refused.
"""

import difflib
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from contact_mpc.errors import ConfigError
from contact_mpc.ros.messages.qos import ClockName
from contact_mpc.settings.tunable import is_tunable
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.node_parameters import SHARED

T = TypeVar("T", bound=BaseModel)
RCLPY_PARAMETERS = ("use_sim_time", "start_type_description_service")
RCLPY_PREFIXES = ("qos_overrides.",)
LARGEST = {int: 2**63 - 1, float: 1.7976931348623157e308}


class NodeConfig(BaseModel):
    """Parameters that every node has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str = Field(min_length=1, description="name of a system in config/systems, or a path to a system YAML")
    clock: ClockName = Field(
        default="realtime", description="lockstep: one step per command, deterministic; realtime: wall clock"
    )
    nice: int = Field(
        default=0, ge=0, le=19, description="realtime only: niceness of the process, so that others come first; 0: none"
    )
    cores: tuple[Annotated[int, Field(ge=0, le=4095)], ...] = Field(
        default=(), description="realtime only: numbers of the cores to run on; empty: any, or where a run places it"
    )
    recorded: bool = Field(
        default=False, description="lockstep only: on activation wait until a recorder is connected to every publisher"
    )


class SessionConfig(BaseModel):
    """What sender and receiver of plans share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session: str = Field(
        default="", max_length=64,
        description="frame_id of plans, the same for mpc_tracker and command_bridge; run and launch files draw one. It "
        "keeps two stacks apart and is no secret. Empty: any",
    )  # fmt: skip


def declare_config(node: Node, config_class: type[T]) -> T:
    """Declare every field of a config as a parameter of a node and return the values.

    The node must have been made with `automatically_declare_parameters_from_overrides=True`, which is how values from
    parameter files arrive here.

    Parameters
    ----------
    node : Node
        The node.
    config_class : type
        Frozen pydantic model; nested models become dotted names.

    Returns
    -------
    T
        The validated config; calling again returns the same.

    Raises
    ------
    ConfigError
        A parameter is unknown, missing, of the wrong type or out of range; names node, key, value and what is allowed.
    """
    given = {name: parameter.value for name, parameter in node.get_parameters_by_prefix("").items()}
    for name in [n for n in given if n in RCLPY_PARAMETERS or n.startswith(RCLPY_PREFIXES)]:
        del given[name]
    fields = dict(flatten_fields(config_class))
    for name in [n for n in given if n in SHARED and n not in fields]:  # of `/**`, for others
        del given[name]
    _refuse_unknown(node, given, fields)
    config = validate(config_class, _nest(given), f"parameters of node {node.get_fully_qualified_name()}")
    for name, field in fields.items():
        _declare(node, name, field, _value_at(config, name))
    return config


def change_config(node: Node, config: T, changes: dict[str, Any]) -> T:
    """Return a config with other values of some parameters, by their dotted names.

    Raises
    ------
    ConfigError
        The values do not fit, or not together.
    """
    values = {name: _value_at(config, name) for name, _ in flatten_fields(type(config))}
    return validate(type(config), _nest(values | changes), f"parameters of node {node.get_fully_qualified_name()}")


def flatten_fields(config_class: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield (dotted name, field) of every leaf field of a config class."""
    for name, field in config_class.model_fields.items():
        nested = _nested_model(field)
        if nested is None:
            yield prefix + name, field
        else:
            yield from flatten_fields(nested, f"{prefix}{name}.")


def _nested_model(field: FieldInfo) -> type[BaseModel] | None:
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _refuse_unknown(node: Node, given: dict[str, Any], fields: dict[str, FieldInfo]) -> None:
    for name in given:
        if name not in fields:
            close = difflib.get_close_matches(name, fields, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"allowed: {', '.join(sorted(fields))}"
            raise ConfigError(f"parameters of node {node.get_fully_qualified_name()}: unknown key '{name}' ({hint})")


def _nest(flat: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, leaf = name.split(".")
        target = nested
        for parent in parents:
            target = target.setdefault(parent, {})
        target[leaf] = list(value) if not isinstance(value, str) and hasattr(value, "__len__") else value
    return nested


def _value_at(config: BaseModel, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return list(value) if isinstance(value, tuple) else value


def _declare(node: Node, name: str, field: FieldInfo, value: Any) -> None:
    """Declare one parameter with its descriptor, in place of the one that came from the parameter file."""
    if node.has_parameter(name):
        if node.describe_parameter(name).description:  # ours: configured before
            return
        node.undeclare_parameter(name)
    node.declare_parameter(name, value, make_descriptor(name, field, value), ignore_override=True)


def make_descriptor(name: str, field: FieldInfo, value: Any) -> ParameterDescriptor:
    """Return the descriptor of a field: description with unit, range, whether it is read-only."""
    unit = field.json_schema_extra.get("unit") if isinstance(field.json_schema_extra, dict) else None
    description = (field.description or "") + (f" [{unit}]" if unit else "")
    descriptor = ParameterDescriptor(name=name, description=description, read_only=not is_tunable(field))
    descriptor.dynamic_typing = value is None or value == []
    descriptor.additional_constraints = _constraints(field)
    low, high = _bounds(field)
    if (low is not None or high is not None) and isinstance(value, (int, float)) and not isinstance(value, bool):
        kind = type(value)
        ends = (-LARGEST[kind] if low is None else kind(low), LARGEST[kind] if high is None else kind(high))
        if kind is int:
            descriptor.integer_range = [IntegerRange(from_value=ends[0], to_value=ends[1], step=0)]
        else:
            descriptor.floating_point_range = [FloatingPointRange(from_value=ends[0], to_value=ends[1], step=0.0)]
    return descriptor


def _bounds(field: FieldInfo) -> tuple[Any, Any]:
    low = [item.ge if isinstance(item, Ge) else item.gt for item in field.metadata if isinstance(item, (Ge, Gt))]
    high = [item.le if isinstance(item, Le) else item.lt for item in field.metadata if isinstance(item, (Le, Lt))]
    return (low[0] if low else None), (high[0] if high else None)


def _constraints(field: FieldInfo) -> str:
    """Say what a range cannot: excluded ends and allowed words."""
    parts = [f"> {item.gt}" for item in field.metadata if isinstance(item, Gt)]
    parts += [f"< {item.lt}" for item in field.metadata if isinstance(item, Lt)]
    words = [str(word) for word in get_args(field.annotation) if isinstance(word, str)]
    return ", ".join(parts + ([f"one of {', '.join(words)}"] if words else []))
