"""The launch files: complete and consistent, read without ROS 2, and loaded for real where launch is installed."""

import ast
import importlib.util
import os
import re
from pathlib import Path
from typing import Any

import pytest

from contact_mpc.ros.runtime.parent_process import PARENT_VARIABLE
from contact_mpc.settings.resources import resource, resource_names

FILES = ("gazebo", "hardware", "replay", "sim")
ROOT = Path(__file__).resolve().parents[2]
NODES = {"state_estimator", "mpc_tracker", "trajectory_server", "command_bridge"}


def tree_of(name: str) -> ast.Module:
    return ast.parse(resource("launch", name).read_text())


def calls(tree: ast.Module, function: str) -> list[ast.Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in found if isinstance(call.func, ast.Name) and call.func.id == function]


def helpers_of(tree: ast.Module) -> ast.Module:
    """The functions of the shared modules that a launch file uses, those that they use included."""
    functions = {
        node.name: node
        for module in ("launching", "ros2_control", "showing")
        for node in ast.parse((ROOT / f"contact_mpc/ros/launching/{module}.py").read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    used: dict[str, ast.FunctionDef] = {}
    todo: list[ast.AST] = [tree]
    while todo:
        for node in ast.walk(todo.pop()):
            if isinstance(node, ast.Name) and node.id in functions and node.id not in used:
                used[node.id] = functions[node.id]
                todo.append(functions[node.id])
    return ast.Module(list(used.values()), [])


def shared() -> dict[str, tuple[Any, ...]]:
    """The arguments in launching.SHARED: text with placeholders stays as it is written."""
    source = ast.parse((ROOT / "contact_mpc/ros/launching/launching.py").read_text())
    tables = [node for node in source.body if isinstance(node, ast.AnnAssign)]
    table = next(node.value for node in tables if ast.unparse(node.target) == "SHARED")
    assert isinstance(table, ast.Dict)
    return {ast.literal_eval(key): value.elts for key, value in zip(table.keys, table.values, strict=True)}  # type: ignore


def declared(tree: ast.Module) -> set[str]:
    own = {ast.literal_eval(call.args[0]) for call in calls(tree, "argument")}
    common = {ast.literal_eval(item) for call in calls(tree, "shared_arguments") for item in call.args}
    assert common <= set(shared()) and not own & common
    return own | common


def text_of(description: ast.expr) -> str:
    return ast.unparse(description) if isinstance(description, ast.JoinedStr) else ast.literal_eval(description)


def test_these_are_the_launch_files() -> None:
    assert set(resource_names("launch")) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_every_argument_is_described(name: str) -> None:
    for call in calls(tree_of(name), "argument"):
        assert len(text_of(call.args[2])) > 10, ast.unparse(call)


def test_every_shared_argument_is_described() -> None:
    assert all(len(text_of(description)) > 10 for _, description, _ in shared().values())


@pytest.mark.parametrize("name", FILES)
def test_arguments_that_are_used_are_declared_and_the_other_way_round(name: str) -> None:
    tree = tree_of(name)
    used = {ast.literal_eval(call.args[1]) for part in (tree, helpers_of(tree)) for call in calls(part, "value")}
    assert used == declared(tree)


@pytest.mark.parametrize("name", FILES)
def test_a_launch_file_has_its_entry_point_and_an_example_with_known_arguments(name: str) -> None:
    tree = tree_of(name)
    assert any(isinstance(node, ast.FunctionDef) and node.name == "generate_launch_description" for node in tree.body)
    examples = re.findall(rf"ros2 launch contact_mpc {name}.launch.py(.*)", ast.get_docstring(tree) or "")
    assert examples
    assert {pair.partition(":=")[0] for example in examples for pair in example.split()} <= declared(tree)


@pytest.mark.parametrize("name", FILES)
def test_traffic_stays_on_this_machine_unless_asked_otherwise(name: str) -> None:
    assert {"discovery", "domain_id", "keystore"} <= declared(tree_of(name))
    default, _, choices = shared()["discovery"]
    assert ast.literal_eval(default) == "LOCALHOST" and ast.literal_eval(choices) == ("LOCALHOST", "SUBNET")


@pytest.mark.parametrize("name", ["gazebo", "hardware"])
def test_executables_of_other_packages_are_dependencies(name: str) -> None:
    manifest = (ROOT / "package.xml").read_text()
    packages = {
        ast.literal_eval(word.value)
        for call in calls(helpers_of(tree_of(name)), "Node")
        for word in call.keywords
        if word.arg == "package" and isinstance(word.value, ast.Constant)
    }
    assert "robot_state_publisher" in packages
    in_docs = {"ros_gz_sim", "ros_gz_bridge"}  # a simulator is the user's choice
    assert all(f"<exec_depend>{package}</exec_depend>" in manifest for package in packages - in_docs)


# With launch and launch_ros.


def load(name: str) -> Any:
    path: Path = resource("launch", name)
    spec = importlib.util.spec_from_file_location(f"{name}_launch", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def start(name: str, **arguments: str) -> list[Any]:
    """Evaluate a launch file with some arguments off their defaults; returns its actions."""
    from launch import LaunchContext

    context, module = LaunchContext(), load(name)
    context.launch_configurations.update(arguments)
    for item in module.generate_launch_description().get_launch_arguments():
        item.visit(context)
    return list(module.start(context))


def nodes_in(actions: list[Any]) -> list[Any]:
    from launch_ros.actions import Node

    return [item for item in actions if isinstance(item, Node)]


def environment(actions: list[Any]) -> dict[str, str]:
    from launch import LaunchContext
    from launch.actions import SetEnvironmentVariable
    from launch.utilities import perform_substitutions

    found = [item for item in actions if isinstance(item, SetEnvironmentVariable)]
    return {
        perform_substitutions(LaunchContext(), item.name): perform_substitutions(LaunchContext(), item.value)
        for item in found
    }


@pytest.mark.parametrize("name", FILES)
def test_nodes_are_told_whose_death_ends_them(name: str) -> None:
    pytest.importorskip("launch_ros")
    description = load(name).generate_launch_description()
    assert environment(description.entities) == {PARENT_VARIABLE: str(os.getpid())}


@pytest.mark.parametrize("name", FILES)
def test_launch_loads_the_file_and_knows_its_arguments(name: str) -> None:
    pytest.importorskip("launch_ros")
    description = load(name).generate_launch_description()
    known = {item.name: item for item in description.get_launch_arguments()}
    assert set(known) == declared(tree_of(name))
    assert all(item.description for item in known.values())


def test_launch_starts_every_node_of_a_simulation(tmp_path: Path) -> None:
    pytest.importorskip("launch_ros")
    actions = start("sim", task="planar_hand_ball", record=str(tmp_path / "run"), robot_name="left")
    assert {item.node_executable for item in nodes_in(actions)} == NODES | {"plant", "recorder", "lifecycle_manager"}
    assert "/left/command_bridge" in (tmp_path / "run" / "parameters.yaml").read_text()
    assert Path(environment(actions)["FASTRTPS_DEFAULT_PROFILES_FILE"]).name == "fastdds_loopback.xml"


def test_hardware_without_a_task_starts_driver_and_what_holds_the_robot(tmp_path: Path) -> None:
    pytest.importorskip("launch_ros")
    actions = start("hardware", robot="iiwa", record=str(tmp_path / "run"), discovery="SUBNET", domain_id="7")
    ours = {"state_estimator", "command_bridge", "lifecycle_manager"}
    driver = {"robot_state_publisher", "ros2_control_node", "spawner"}
    assert {item.node_executable for item in nodes_in(actions)} == ours | driver
    variables = environment(actions)
    assert (variables["ROS_AUTOMATIC_DISCOVERY_RANGE"], variables["ROS_DOMAIN_ID"]) == ("SUBNET", "7")
    running = start("hardware", robot="iiwa", driver="none", record=str(tmp_path / "other"))
    assert {item.node_executable for item in nodes_in(running)} == ours


def test_rviz_and_view_start_beside_the_stack_and_end_nothing(tmp_path: Path) -> None:
    pytest.importorskip("launch_ros")
    record = str(tmp_path / "run")
    actions = start("hardware", robot="allegro", driver="mock", record=record, rviz="true", view="true")
    shown = {"viewer", "robot_state_publisher", "object_frames", "rviz2"}
    assert shown < {item.node_executable for item in nodes_in(actions)}
    config = (tmp_path / "run" / "stack.rviz").read_text()
    assert "ROBOT" not in config and "/allegro/state_estimator/object_odom" in config
    from launch.actions import RegisterEventHandler

    watched = [item for item in actions if isinstance(item, RegisterEventHandler)]
    assert len(watched) == len({item.node_executable for item in nodes_in(actions)} - shown)


@pytest.mark.parametrize("autostart", ["true", "false"])
def test_a_plant_in_place_of_the_driver_waits_for_a_motion_that_comes_by_itself(tmp_path: Path, autostart: str) -> None:
    pytest.importorskip("launch_ros")
    start(
        "hardware",
        robot="allegro",
        task="allegro_ball",
        driver="sim",
        record=str(tmp_path / "run"),
        autostart=autostart,
    )
    assert f"awaits_reference: {autostart}" in (tmp_path / "run" / "parameters.yaml").read_text()


def test_hardware_refuses_what_cannot_run_before_anything_starts(tmp_path: Path) -> None:
    pytest.importorskip("launch_ros")
    from contact_mpc.errors import ConfigError

    with pytest.raises(ConfigError, match="hardware_plugin:=package/Class"):
        start("hardware", robot="anypulator", record=str(tmp_path / "a"))
    with pytest.raises(ConfigError, match="joints"):
        start("hardware", robot="iiwa", task="anypulator_block", plan="none.npz", record=str(tmp_path / "b"))
    with pytest.raises(ConfigError, match="0 to 101"):
        start("hardware", robot="iiwa", domain_id="300", record=str(tmp_path / "c"))
    with pytest.raises(ConfigError, match="create_keystore"):
        start("hardware", robot="iiwa", keystore=str(tmp_path), record=str(tmp_path / "d"))
    with pytest.raises(ConfigError, match="FROM:=TO"):
        start("hardware", robot="iiwa", remap="joint_states", record=str(tmp_path / "e"))


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("hold_policy", "hold_polciy", "node command_bridge: .*unknown key 'hold_polciy'.*hold_policy"),
        ("fault_hold_s: 0.5", "fault_hold_ms: 500", "node command_bridge: .*unknown key 'fault_hold_ms'"),
        ("/command_bridge", "/comand_bridge", "unknown node '.*comand_bridge'.*did you mean 'command_bridge'"),
        ("rate_hz: 1000  ", "rate_hz: 500  ", "update_rate is 1000; expected 500"),
    ],
)
def test_hardware_refuses_a_wrong_parameter_file_before_a_driver_starts(
    tmp_path: Path, right: str, wrong: str, words: str
) -> None:
    pytest.importorskip("launch_ros")
    from contact_mpc.errors import ConfigError

    text = resource("nodes", "anypulator_hardware").read_text()
    assert right in text
    (tmp_path / "mine.yaml").write_text(text.replace(right, wrong))
    with pytest.raises(ConfigError, match=words):
        start("hardware", robot="anypulator", driver="mock", params=str(tmp_path / "mine.yaml"))


def test_with_a_keystore_every_node_takes_its_own_enclave(tmp_path: Path) -> None:
    pytest.importorskip("launch_ros")
    from launch import LaunchContext
    from launch.utilities import perform_substitutions

    (tmp_path / "keys" / "enclaves").mkdir(parents=True)
    actions = start("hardware", robot="iiwa", keystore=str(tmp_path / "keys"), record=str(tmp_path / "run"))
    variables = environment(actions)
    assert (variables["ROS_SECURITY_ENABLE"], variables["ROS_SECURITY_STRATEGY"]) == ("true", "Enforce")
    ours = [item for item in nodes_in(actions) if item.node_package == "contact_mpc"]
    for item in ours:
        words = [perform_substitutions(LaunchContext(), part) for part in item.cmd[1:5]]
        assert words[words.index("--enclave") + 1] == f"/iiwa/{item.node_executable}"
