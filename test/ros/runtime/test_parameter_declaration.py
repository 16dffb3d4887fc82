"""Parameters come from the configs alone: described, bounded, read-only but for a few, and all reach their config."""

from collections.abc import Iterator
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest

pytest.importorskip("rclpy")

import rclpy
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter

from contact_mpc.errors import ConfigError
from contact_mpc.ros.nodes.command_bridge import CommandBridgeConfig
from contact_mpc.ros.nodes.mpc_tracker import MpcTrackerConfig
from contact_mpc.ros.nodes.plant_config import PlantConfig
from contact_mpc.ros.nodes.recorder import RecorderConfig
from contact_mpc.ros.nodes.state_estimator import StateEstimatorConfig
from contact_mpc.ros.nodes.trajectory_server import TrajectoryServerConfig
from contact_mpc.ros.runtime.parameters import change_config, declare_config, flatten_fields, make_descriptor
from contact_mpc.settings.tunable import is_tunable

REQUIRED: dict[type[BaseModel], dict[str, Any]] = {
    StateEstimatorConfig: {},
    MpcTrackerConfig: {},
    TrajectoryServerConfig: {"plan_file": "plan.npz"},
    CommandBridgeConfig: {"gravity_compensation": "robot"},
    PlantConfig: {"gravity_compensation": "robot", "task": "planar_hand_ball"},
    RecorderConfig: {"bag": "bag"},
}
FIELDS = [(config, name) for config in REQUIRED for name, _ in flatten_fields(config)]
# What validators tie to another parameter needs that one too.
TOGETHER = {
    "mpc_rate_hz": {"mpc_rate_hz": 10},
    "command_interface": {"command_interface": "position", "gravity_compensation": "robot"},
    "gravity_compensation": {"gravity_compensation": "bridge"},
    "state_timeout_s": {"state_timeout_s": 0.02},
    "state_fault_s": {"state_fault_s": 0.1},
    "plan_delay_s": {"plan_delay_s": 0.03},
    "h_s": {"h_s": 0.2},
    "camera.child_frame": {"camera.child_frame": "tag", "camera.source": "tf"},
    "camera.quaternion_wxyz": {"camera.quaternion_wxyz": [0.0, 1.0, 0.0, 0.0]},
    "camera.object_quaternion_wxyz": {"camera.object_quaternion_wxyz": [0.0, 1.0, 0.0, 0.0]},
}


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    context = Context()
    rclpy.init(args=[], context=context, domain_id=49)
    yield context
    context.try_shutdown()


def make_node(context: Context, values: dict[str, Any]) -> Node:
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    return Node(
        "tested", context=context, parameter_overrides=overrides, automatically_declare_parameters_from_overrides=True
    )


def declare(context: Context, config: type[BaseModel], **values: Any) -> tuple[Node, Any]:
    node = make_node(context, {"system": "planar_hand_ball"} | REQUIRED.get(config, {}) | values)
    try:
        return node, declare_config(node, config)
    finally:
        node.destroy_node()


def read(config: BaseModel, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def off_default(field: FieldInfo, default: Any) -> Any:
    """Return an allowed value that is not the default."""
    annotation = field.annotation
    if get_origin(annotation) is Literal:
        return next(word for word in get_args(annotation) if word != default)
    kinds = set(get_args(annotation)) - {NoneType} if get_origin(annotation) is UnionType else {annotation}
    if bool in kinds:
        return not default
    if str in kinds:
        return f"{default}x"
    if isinstance(default, tuple):
        kind = next(kind for kind in get_args(annotation) if kind is not Ellipsis)
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        more = {str: "x", int: 1}.get(kind, 0.125)  # else a float
        return [item + more for item in default] or [more]
    if int in kinds:
        return int(default) + 1 if _allows(field, int(default) + 1) else int(default) - 1
    return _other_float(field, 0.5 if default is None else float(default))


def _other_float(field: FieldInfo, default: float) -> float:
    candidates = (1.25 * default, 0.75 * default, default + 1e-3, 0.5)
    return next(value for value in candidates if value != default and _allows(field, value))


def _allows(field: FieldInfo, value: float) -> bool:
    limits = {
        name: getattr(item, name) for item in field.metadata for name in ("ge", "gt", "le", "lt") if hasattr(item, name)
    }
    return (
        value >= limits.get("ge", value)
        and value <= limits.get("le", value)
        and not value <= limits.get("gt", value - 1.0)
        and not value >= limits.get("lt", value + 1.0)
    )


@pytest.mark.parametrize(("config", "name"), FIELDS, ids=[f"{config.__name__}-{name}" for config, name in FIELDS])
def test_every_parameter_reaches_its_config(context: Context, config: type[BaseModel], name: str) -> None:
    field = dict(flatten_fields(config))[name]
    _, before = declare(context, config)
    default = read(before, name)
    values = TOGETHER.get(name, {})
    if name in ("clock", "system") or name not in values:
        values = {name: off_default(field, default)}
    node, after = declare(context, config, **values)
    expected = values[name]
    assert read(after, name) == (tuple(expected) if isinstance(expected, list) else expected)
    assert read(after, name) != default


@pytest.mark.parametrize("config", REQUIRED, ids=lambda config: config.__name__)
def test_every_parameter_is_described_and_read_only_unless_it_is_tunable(
    context: Context, config: type[BaseModel]
) -> None:
    node = make_node(context, {"system": "planar_hand_ball"} | REQUIRED[config])
    try:
        declare_config(node, config)
        for name, field in flatten_fields(config):
            descriptor = node.describe_parameter(name)
            assert descriptor.read_only != is_tunable(field), name
            assert descriptor.description, name
            if name.endswith(("_s", "_hz", "_rad", "_m", "_mm", "_deg", "_rad_s", "_nm")):
                assert (field.json_schema_extra or {}).get("unit"), f"{name} has no unit"
        result = node.set_parameters([Parameter("system", value="allegro_ball")])[0]
        assert not result.successful and "read-only" in result.reason
    finally:
        node.destroy_node()


def test_ranges_are_those_of_the_config(context: Context) -> None:
    node = make_node(context, {"system": "x"})
    try:
        declare_config(node, StateEstimatorConfig)
        rate = node.describe_parameter("rate_hz").integer_range[0]
        noise = node.describe_parameter("estimator.pose_noise_m")
        assert (rate.from_value, rate.to_value) == (1, 1000)
        assert noise.floating_point_range[0].to_value == 1.0
        assert "> 0" in noise.additional_constraints
        assert "[m]" in noise.description
        assert "one of lockstep, realtime" in node.describe_parameter("clock").additional_constraints
    finally:
        node.destroy_node()


def test_the_bridge_and_what_it_promises_never_change_while_it_runs() -> None:
    assert not any(is_tunable(field) for _, field in flatten_fields(CommandBridgeConfig))


def test_tunable_parameters_have_two_ends() -> None:
    """A slider needs them; `ros2 param set` then names the range."""
    tunable = [field for config in REQUIRED for _, field in flatten_fields(config) if is_tunable(field)]
    assert tunable
    for field in tunable:
        limits = make_descriptor("x", field, field.default).floating_point_range[0]
        assert limits.from_value >= 0.0 and limits.to_value <= 1e8, field


def test_a_change_is_judged_by_the_config() -> None:
    config = MpcTrackerConfig(system="x")
    node = SimpleNamespace(get_fully_qualified_name=lambda: "/hand/mpc_tracker")
    assert change_config(node, config, {"rate_weight": 3}).rate_weight == 3.0
    with pytest.raises(ConfigError, match="/hand/mpc_tracker.*command_weight"):
        change_config(node, config, {"command_weight": 0.0})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rate_hz": 0}, ["/tested", "rate_hz", "greater than or equal to 1"]),
        ({"rate_hz": "fast"}, ["rate_hz", "'fast'"]),
        ({"rate_hertz": 100}, ["unknown key 'rate_hertz'", "did you mean 'rate_hz'"]),
        ({"estimator.pose_nose_m": 0.1}, ["did you mean 'estimator.pose_noise_m'"]),
        ({"clock": "sundial"}, ["clock", "'lockstep' or 'realtime'"]),
        ({"estimator.pose_noise_m": float("nan")}, ["pose_noise_m"]),
        ({"estimator.gate_probability": 1.0}, ["gate_probability", "less than 1"]),
    ],
)
def test_wrong_parameters_are_refused_with_node_key_and_what_is_allowed(
    context: Context, values: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        declare(context, StateEstimatorConfig, **values)
    for word in words:
        assert word in str(caught.value)


def test_a_missing_parameter_is_named(context: Context) -> None:
    node = make_node(context, {})
    try:
        with pytest.raises(ConfigError, match="key 'system' is missing"):
            declare_config(node, StateEstimatorConfig)
    finally:
        node.destroy_node()


def test_integers_are_taken_for_floats_and_stay_floats(context: Context) -> None:
    node, config = declare(context, StateEstimatorConfig, **{"estimator.pose_stale_after_s": 1})
    assert config.estimator.pose_stale_after_s == 1.0
    assert isinstance(config.estimator.pose_stale_after_s, float)


def test_parameters_of_rclpy_itself_are_no_mistake(context: Context) -> None:
    _, config = declare(context, StateEstimatorConfig, use_sim_time=False)
    assert config.rate_hz == 200


def test_what_a_file_gives_all_nodes_for_others_is_no_mistake(context: Context) -> None:
    _, config = declare(context, StateEstimatorConfig, mpc_rate_hz=20, command_interface="effort")
    assert not hasattr(config, "mpc_rate_hz")


def test_declaring_again_gives_the_same(context: Context) -> None:
    node = make_node(context, {"system": "x", "rate_hz": 100})
    try:
        assert declare_config(node, StateEstimatorConfig) == declare_config(node, StateEstimatorConfig)
    finally:
        node.destroy_node()
