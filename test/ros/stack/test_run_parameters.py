"""Parameters of a run: the task's file, the user's settings, and what the run decides; nodes that agree."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy")

from contact_mpc.bags.record import RunRecord
from contact_mpc.bags.sources import find_task
from contact_mpc.errors import ConfigError, StackError
from contact_mpc.ros.stack.run_parameters import CONFIGS, RunOptions, build_parameters, run_duration_s
from contact_mpc.ros.stack.stack import StackSpec, to_parameter_file
from contact_mpc.settings.resources import resource
from contact_mpc.task.node_parameters import SHARED, check_node_names, default_parameter_file
from contact_mpc.task.task import load_task

TASK = load_task("planar_hand_ball")
OPTIONS = RunOptions(plant="mujoco", clock="lockstep", seed=5, parameter_file="planar_hand_ball")


def build(folder: Path, options: RunOptions = OPTIONS, **changes: Any) -> dict[str, dict[str, Any]]:
    return build_parameters(TASK, replace(options, **changes), folder, folder / "plan.npz")


def test_every_node_gets_system_and_clock(tmp_path: Path) -> None:
    for values in build(tmp_path).values():
        assert values["system"] == str(TASK.system.path)
        assert values["clock"] == "lockstep"
        assert values["recorded"] is True


def test_choices_of_the_run_reach_their_nodes(tmp_path: Path) -> None:
    parameters = build(tmp_path)
    assert (parameters["plant"]["engine"], parameters["plant"]["seed"]) == ("mujoco", 5)
    assert parameters["trajectory_server"]["plan_file"] == str(tmp_path / "plan.npz")
    assert parameters["recorder"]["bag"] == str(tmp_path / "bag")


def test_settings_win_over_the_file_also_nested_ones(tmp_path: Path) -> None:
    settings = ("plant.sensors.pose_noise_mm=2.5", "mpc_tracker.mpc_rate_hz=10", "command_bridge.mpc_rate_hz=10")
    parameters = build(tmp_path, settings=settings)
    assert parameters["plant"]["sensors"]["pose_noise_mm"] == 2.5
    assert parameters["plant"]["sensors"]["pose_rate_hz"] == 60.0
    assert parameters["mpc_tracker"]["mpc_rate_hz"] == 10


def test_position_commands_leave_gravity_to_the_robot(tmp_path: Path) -> None:
    parameters = build(tmp_path, interface="position")
    for name in ("plant", "command_bridge"):
        assert parameters[name]["command_interface"] == "position"
        assert parameters[name]["gravity_compensation"] == "robot"


def test_what_nodes_share_is_known_to_the_nodes_that_are_said_to_have_it() -> None:
    for key, nodes in SHARED.items():
        having = [name for name, (module, config) in CONFIGS.items()
                  if key in getattr(import_module(module), config).model_fields]  # fmt: skip
        assert sorted(having) == sorted(nodes), key


def test_without_recording_there_is_no_recorder(tmp_path: Path) -> None:
    parameters = build(tmp_path, recorded=False)
    assert "recorder" not in parameters
    assert not any(values["recorded"] for values in parameters.values())


@pytest.mark.parametrize(
    ("key", "value"), [("mpc_rate_hz", "10"), ("plan_delay_s", "0.01"), ("gravity_compensation", "robot")]
)
def test_nodes_that_disagree_are_refused(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} is .* both must be the same"):
        build(tmp_path, settings=(f"command_bridge.{key}={value}",))


@pytest.mark.parametrize("setting", ["plant", "plant=1", "plant.seed", ".seed=1", "robot.seed=1", "plant.seed=[1"])
def test_settings_that_cannot_be_read_are_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        build(tmp_path, settings=(setting,))


@pytest.mark.parametrize(("duration_s", "hold_s", "total_s"), [(3.0, 2.0, 5.3), (0.45, 0.0, 0.8), (0.4, 0.1, 0.8)])
def test_a_run_ends_on_a_report_of_the_recorder(
    tmp_path: Path, duration_s: float, hold_s: float, total_s: float
) -> None:
    task = replace(TASK, duration_s=duration_s, hold_s=hold_s)
    assert run_duration_s(task, build(tmp_path)) == pytest.approx(total_s, abs=1e-12)


@pytest.mark.parametrize("axis", ["", "-x"])
def test_the_metadata_hold_the_axis_of_the_turn(axis: str, tmp_path: Path) -> None:
    parameters = build_parameters(TASK.about(axis), OPTIONS, tmp_path, tmp_path / "plan.npz")
    metadata = json.loads(parameters["recorder"]["metadata_json"])
    assert metadata["axis"] == axis
    found = find_task(RunRecord(path=tmp_path, topics={}, metadata=metadata))
    np.testing.assert_array_equal(found.goal.axis_W, TASK.about(axis).goal.axis_W)


def test_the_metadata_hold_all_parameters(tmp_path: Path) -> None:
    parameters = build(tmp_path)
    metadata = json.loads(parameters["recorder"]["metadata_json"])
    assert (metadata["task"], metadata["system"], metadata["plant"]) == (TASK.name, TASK.system.name, "mujoco")
    recorded = yaml.safe_load(metadata["parameters"])
    plant = recorded["/planar_hand/plant"]["ros__parameters"]
    assert plant == json.loads(json.dumps(parameters["plant"]))


def test_parameter_files_have_lists_of_one_type_and_no_nulls() -> None:
    text = to_parameter_file("/r", {"n": {"a": [0, 0.5], "b": None, "c": {"d": None, "e": (1, 2)}, "f": Path("/x")}})
    assert yaml.safe_load(text) == {"/r/n": {"ros__parameters": {"a": [0.0, 0.5], "c": {"e": [1, 2]}, "f": "/x"}}}


@pytest.mark.dds
@pytest.mark.parametrize("text", ["123049269526e075", "12304926952612", "0x1f", ".inf", "true", "~", "a: [b"])
def test_a_text_reaches_a_node_as_a_text_whatever_it_looks_like(
    make_rig: Callable[..., Any], tmp_path: Path, text: str
) -> None:
    rig = make_rig("realtime", recorder={"system": text, "bag": str(tmp_path / "bag")})
    assert rig.request("recorder", "configure"), rig.log("recorder")
    rig.stack.stop()


def test_a_task_of_ones_own_takes_the_parameters_of_its_system() -> None:
    assert default_parameter_file(TASK) == "planar_hand_ball"
    assert default_parameter_file(replace(TASK, name="my_task")) == "planar_hand_ball"


def test_a_misspelt_node_in_a_parameter_file_is_refused_and_others_may_be_there(tmp_path: Path) -> None:
    text = resource("nodes", "planar_hand_ball").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(text + "/**/camera_driver:\n  ros__parameters: {}\n")
    check_node_names(file, CONFIGS)
    file.write_text(text.replace("mpc_tracker:", "mpc_traker:"))
    with pytest.raises(ConfigError, match="mine.yaml: unknown node '.*mpc_traker'.*did you mean 'mpc_tracker'"):
        build_parameters(TASK, replace(OPTIONS, parameter_file=file), tmp_path, tmp_path / "plan.npz")


def test_unknown_nodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="gripper.*allowed: .*state_estimator"):
        StackSpec("/r", {"gripper": {}}, tmp_path)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("command_bridge.hold_polciy=measured", "unknown key 'hold_polciy'.*hold_policy"),
        ("command_bridge.position_margin_rad=0.02", "unknown key 'position_margin_rad'.*position_margin_deg"),
        ("command_bridge.effort_fraction=9", "effort_fraction.*9.*less than or equal to 0.9"),
        ("command_bridge.hold_policy=relax", "hold_policy.*'measured' or 'last_command'"),
        ("plant.sensors.pose_noise_rad=0.1", "unknown key 'sensors.pose_noise_rad'.*pose_noise_deg"),
        ("recorder.bga=x", "unknown key 'bga'.*bag"),
    ],
)
def test_a_misspelt_key_a_wrong_unit_or_value_is_named_with_file_and_node_before_anything_starts(
    tmp_path: Path, setting: str, words: str
) -> None:
    node = setting.partition(".")[0]
    with pytest.raises(ConfigError, match=f"planar_hand_ball.yaml: node {node}: .*{words}"):
        build(tmp_path, settings=(setting,))
