"""The launch files: complete and consistent, read without ROS 2, and loaded for real where launch is installed."""

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from contact_mpc.model.resources import resource, resource_names

FILES = ("sim", "replay")


def tree_of(name: str) -> ast.Module:
    return ast.parse(resource("launch", name).read_text())


def calls(tree: ast.Module, function: str) -> list[ast.Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in found if isinstance(call.func, ast.Name) and call.func.id == function]


def declared(tree: ast.Module) -> set[str]:
    return {ast.literal_eval(call.args[0]) for call in calls(tree, "argument")}


def test_these_are_the_launch_files() -> None:
    assert set(resource_names("launch")) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_every_argument_is_described(name: str) -> None:
    for call in calls(tree_of(name), "argument"):
        description = call.args[2]
        text = ast.unparse(description) if isinstance(description, ast.JoinedStr) else ast.literal_eval(description)
        assert len(text) > 10, ast.unparse(call)


@pytest.mark.parametrize("name", FILES)
def test_arguments_that_are_used_are_declared_and_the_other_way_round(name: str) -> None:
    tree = tree_of(name)
    assert {ast.literal_eval(call.args[1]) for call in calls(tree, "value")} == declared(tree)


@pytest.mark.parametrize("name", FILES)
def test_a_launch_file_has_its_entry_point_and_an_example(name: str) -> None:
    tree = tree_of(name)
    assert any(isinstance(node, ast.FunctionDef) and node.name == "generate_launch_description" for node in tree.body)
    assert f"ros2 launch contact_mpc {name}.launch.py" in (ast.get_docstring(tree) or "")


def load(name: str) -> Any:
    path: Path = resource("launch", name)
    spec = importlib.util.spec_from_file_location(f"{name}_launch", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", FILES)
def test_launch_loads_the_file_and_knows_its_arguments(name: str) -> None:
    pytest.importorskip("launch_ros")
    description = load(name).generate_launch_description()
    known = {item.name: item for item in description.get_launch_arguments()}
    assert set(known) == declared(tree_of(name))
    assert all(item.description for item in known.values())


def test_launch_starts_every_node_of_a_simulation(tmp_path: Path) -> None:
    pytest.importorskip("launch_ros")
    from launch import LaunchContext
    from launch_ros.actions import Node

    context = LaunchContext()
    module = load("sim")
    for item in module.generate_launch_description().get_launch_arguments():
        item.visit(context)
    context.launch_configurations.update(task="planar_hand_ball", record=str(tmp_path / "run"))
    started = {item.node_executable for item in module.start(context) if isinstance(item, Node)}
    nodes = {"state_estimator", "mpc_tracker", "trajectory_server", "command_bridge", "plant", "recorder"}
    assert started == nodes | {"lifecycle_manager"}
    assert (tmp_path / "run" / "parameters.yaml").is_file()
