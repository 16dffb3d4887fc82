"""Parameter files of ROS nodes, read without ROS."""

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.settings.resources import resource, resource_names
from contact_mpc.task.node_defaults import write_node_parameters
from contact_mpc.task.node_parameters import SHARED, apply_setting, load_node_parameters
from contact_mpc.task.task import load_task


def write(tmp_path, text):
    path = tmp_path / "nodes.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["mpc_tracker", "/mpc_tracker", "/**/mpc_tracker", "/allegro/mpc_tracker"])
def test_node_is_found_with_any_namespace(tmp_path, name):
    path = write(tmp_path, f"{name}: {{ros__parameters: {{a: 1}}}}\nother: {{ros__parameters: {{a: 2}}}}\n")
    assert load_node_parameters(path, "mpc_tracker") == {"a": 1}


def test_node_nested_in_a_namespace_is_found(tmp_path):
    path = write(tmp_path, "allegro: {mpc_tracker: {ros__parameters: {a: 1}}}")
    assert load_node_parameters(path, "mpc_tracker") == {"a": 1}


def test_named_node_wins_over_the_wildcard_wherever_it_stands(tmp_path):
    path = write(tmp_path, "tracker: {ros__parameters: {a: 1}}\n/**: {ros__parameters: {a: 2, b: 3}}")
    assert load_node_parameters(path, "tracker") == {"a": 1, "b": 3}


def test_what_nodes_share_reaches_those_that_have_it(tmp_path):
    path = write(tmp_path, "/**: {ros__parameters: {mpc_rate_hz: 10, command_interface: effort, verbose: true}}")
    assert load_node_parameters(path, "mpc_tracker") == {"mpc_rate_hz": 10, "verbose": True}
    assert load_node_parameters(path, "plant") == {"command_interface": "effort", "verbose": True}
    assert load_node_parameters(path, "recorder") == {"verbose": True}


@pytest.mark.parametrize("name", [*resource_names("nodes"), "derived"])
def test_a_key_that_nodes_share_stands_once(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = write_node_parameters(load_task("planar_hand_ball")) if name == "derived" else resource("nodes", name)
    lines = [line.split(":")[0].strip() for line in file.read_text().splitlines()]
    repeated = [key for key in SHARED if lines.count(key) > 1]
    assert not repeated, f"{file}: give {repeated} once, under /**"


def test_dotted_names_become_nested(tmp_path):
    path = write(tmp_path, "n: {ros__parameters: {mpc.horizon: 3, mpc: {h_s: 0.1}, c.d.e: [1, 2]}}")
    assert load_node_parameters(path, "n") == {"mpc": {"horizon": 3, "h_s": 0.1}, "c": {"d": {"e": [1, 2]}}}


def test_file_without_the_node_gives_nothing(tmp_path):
    assert load_node_parameters(write(tmp_path, "n: {ros__parameters: {a: 1}}"), "other") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [("n: 3", "'/n' is 3"), ("n: {ros__parameters: 3}", "/n.ros__parameters"), ("n: {p: 1}", "'/n/p' is 1"),
     ("- 1", "expected a mapping")],
)  # fmt: skip
def test_malformed_file_is_refused_by_name(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match="nodes.yaml") as caught:
        load_node_parameters(path, "n")
    assert message in str(caught.value)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="absent"):
        load_node_parameters(tmp_path / "absent.yaml", "n")


def test_a_value_where_another_entry_has_a_mapping_is_refused(tmp_path):
    path = tmp_path / "nodes.yaml"
    path.write_text("/**:\n  ros__parameters: {sensors: 3}\nplant:\n  ros__parameters: {sensors.rate_hz: 10}\n")
    with pytest.raises(ConfigError, match=r"nodes\.yaml: 'sensors' is given as 3 and as a mapping"):
        load_node_parameters(path, "plant")
    with pytest.raises(ConfigError, match="--set plant.seed.x=1: 'seed' is given as 4"):
        apply_setting({"plant": {"seed": 4}}, "plant.seed.x=1")
