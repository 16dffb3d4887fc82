"""Imports go one way and ROS stays in nodes and launch: read from the syntax trees of all files."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "contact_mpc"
LAYERS = (
    {"errors"},
    {"model"},
    {"geometry"},
    {"dynamics"},
    {"optimisation"},
    {"planning", "control", "estimation"},
    {"sim", "replay"},
    {"examples"},
    {"nodes"},
    {"cli"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ROS_MODULES = {"rclpy", "std_srvs", "builtin_interfaces", "launch", "launch_ros", "ament_index_python"}
EXTRAS = {
    "pydrake": {"sim", "examples", "cli"},
    "mujoco": {"sim", "cli"},
    "rosbags": {"replay", "nodes", "cli"},
    "plotly": {"replay"},
    "casadi": {"planning", "cli"},
    "matplotlib": {"examples"},
    "typer": {"cli"},
    "rich": {"cli"},
}


def imported_modules(source: str) -> set[str]:
    """Return every module that the source imports anywhere, also inside functions and for type checking."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module}: write it out from contact_mpc"
            module = node.module or ""
            found.update({f"{module}.{alias.name}" for alias in node.names} if module == "contact_mpc" else {module})
    return found


def package_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if len(path.relative_to(PACKAGE).parts) > 1)


def is_ros(module: str) -> bool:
    top = module.partition(".")[0]
    return top in ROS_MODULES or top.endswith("_msgs")


def violations_of_layers(layer: str, modules: set[str]) -> set[str]:
    """Return the modules of this package that a file of `layer` must not import."""
    inner = {module for module in modules if module.startswith("contact_mpc.")}
    return {
        module
        for module in inner
        if (target := module.split(".")[1]) in LEVEL and target != layer and LEVEL[target] >= LEVEL[layer]
    }


@pytest.mark.parametrize("path", package_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_imports_only_what_its_layer_may(path: Path) -> None:
    layer = path.relative_to(PACKAGE).parts[0]
    modules = imported_modules(path.read_text(encoding="utf-8"))
    assert not violations_of_layers(layer, modules)
    if layer != "nodes":
        assert not {module for module in modules if is_ros(module)}, "ROS belongs in nodes and launch"
    for extra, layers in EXTRAS.items():
        uses = any(module.partition(".")[0] == extra for module in modules)
        assert not uses or layer in layers, f"{extra} belongs in {sorted(layers)}"


def test_every_folder_of_the_package_has_a_layer() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders == set(LEVEL) - {"errors"}


def test_launch_files_start_nodes_as_processes_and_import_none() -> None:
    nodes = {path.stem for path in (PACKAGE / "nodes").glob("*.py") if "run_node(" in path.read_text(encoding="utf-8")}
    assert "plant" in nodes
    for path in sorted((ROOT / "launch").glob("*.py")):
        modules = imported_modules(path.read_text(encoding="utf-8"))
        assert not {f"contact_mpc.nodes.{node}" for node in nodes - {"node_process"}} & modules, path


def test_imports_against_the_direction_are_found() -> None:
    modules = imported_modules("def f():\n    from contact_mpc.control import mpc\nfrom contact_mpc import model\n")
    assert violations_of_layers("planning", modules) == {"contact_mpc.control"}
    assert violations_of_layers("nodes", modules) == set()
    assert violations_of_layers("geometry", {"contact_mpc.dynamics.step"}) == {"contact_mpc.dynamics.step"}


def test_ros_imports_are_found() -> None:
    modules = imported_modules("import rclpy.node\nfrom sensor_msgs.msg import JointState\nimport rosbags\n")
    assert {module for module in modules if is_ros(module)} == {"rclpy.node", "sensor_msgs.msg"}
