"""The house, read from the syntax trees of all files: imports go one way, ROS stays in `ros`, folders stay small."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from house_rules import (
    KEPT_NUMBERS,
    OTHER_BILLIONS,
    OTHER_WRITERS,
    direct_writes,
    figures_of_the_house,
    house,
    private_patches,
)

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "contact_mpc"
BASE = {"errors", "version", "settings"}
# What each folder may import besides BASE and itself, folders inside a folder included. Bottom to top.
ALLOWED = {
    "settings": set(),
    "model": set(),
    "task": {"model"},
    "geometry": {"model"},
    "importing": {"model", "geometry"},
    "dynamics": {"model", "geometry"},
    "optimisation": {"model", "geometry", "dynamics"},
    "estimation": {"model", "task", "geometry", "dynamics"},
    "planning": {"model", "task", "geometry", "dynamics", "optimisation"},
    "control/bridge": {"model", "task", "geometry"},  # of geometry: how near two segments are
    "control/tracking": {"model", "task", "geometry", "dynamics", "optimisation"},
    "control": {"model", "task", "geometry", "dynamics", "optimisation"},
    "plants": {"model"},
    "commissioning": {"model", "control"},
    "loop": {"model", "task", "geometry", "dynamics", "optimisation", "estimation", "planning", "control", "plants"},
    "evaluation": {"model", "task", "planning", "control", "plants", "loop"},
    "bags": {"model", "task", "estimation", "planning", "control", "loop"},
    "report": {"model", "task", "estimation", "planning", "control", "plants", "loop", "evaluation", "bags"},
    "view": {"model", "task", "report"},
    "ros": {
        "model",
        "task",
        "estimation",
        "planning",
        "control",
        "plants",
        "loop",
        "evaluation",
        "bags",
        "view",
        "commissioning",
    },
    # examples show results of estimation too, on the pages that the reports' animation plays; statements of the talks
    # are of the tree's metric and of controllers, too
    "examples": {
        "model",
        "task",
        "geometry",
        "dynamics",
        "planning",
        "control",
        "plants",
        "estimation",
        "report",
        "importing",
    },
}
TOP = {"cli"}  # may import everything
ROS_MODULES = {"rclpy", "std_srvs", "builtin_interfaces", "launch", "launch_ros", "ament_index_python"}
EXTRAS = {
    "pydrake": {"plants", "examples", "cli"},
    "mujoco": {"importing", "plants", "loop", "cli"},
    "rosbags": {"bags", "ros", "cli"},
    "casadi": {"planning", "cli"},
    "viser": {"view"},
    "manifold3d": {"plants"},
    "pybullet": {"examples"},
    "trimesh": {"view", "model", "importing"},
    "matplotlib": {"examples"},
    "typer": {"cli"},
    "rich": {"cli"},
}
# One of these stands in the docstring of each folder, where it says what may not be in it.
LIMITS = {"no", "not", "nothing", "none", "never", "without", "only", "alone", "elsewhere"}
MOST_FILES = 16  # side by side in one folder, `__init__.py` not counted; more hide the structure


def imported_modules(source: str) -> set[str]:
    """Return every module that the source imports anywhere, also inside functions and for type checking."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module}: write it out from contact_mpc"
            module = node.module or ""
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return found


def package_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if len(path.relative_to(PACKAGE).parts) > 1)


def folders() -> list[Path]:
    return sorted({path.parent for path in package_files()})


def is_ros(module: str) -> bool:
    top = module.partition(".")[0]
    return top in ROS_MODULES or top.endswith("_msgs")


def room(folder: str) -> str:
    """Return the folder of ALLOWED that holds `folder`: the longest that it begins with."""
    rooms = [name for name in (*ALLOWED, *TOP) if folder == name or folder.startswith(f"{name}/")]
    assert rooms, f"contact_mpc/{folder} has no row in ALLOWED"
    return max(rooms, key=len)


def target_file(module: str) -> Path | None:
    """Return the file of this package that `module`, or a name in it, stands in."""
    parts = module.split(".")
    for length in range(len(parts), 1, -1):
        path = ROOT.joinpath(*parts[:length])
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
    return None


@cache
def imported_files(path: Path) -> frozenset[Path]:
    modules = imported_modules(path.read_text(encoding="utf-8"))
    found = {target_file(module) for module in modules if module.startswith("contact_mpc.")}
    return frozenset(file for file in found if file is not None and file != path)


def violations(folder: str, modules: set[str]) -> set[str]:
    """Return the modules of this package that a file in `folder` must not import."""
    own = room(folder)
    if own in TOP:
        return set()
    found = set()
    for module in modules:
        if module.startswith("contact_mpc.") and (top := module.split(".")[1]) not in BASE | {"__version__"}:
            names = module.split(".")[1:]
            target = max((n for n in (*ALLOWED, *TOP) if "/".join(names).startswith(n)), key=len, default=top)
            if target != own and target.partition("/")[0] not in ALLOWED[own] | ({own} if "/" not in own else set()):
                found.add(module)
    return found


@pytest.mark.parametrize("path", package_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_imports_only_what_its_folder_may(path: Path) -> None:
    folder = str(path.parent.relative_to(PACKAGE))
    modules = imported_modules(path.read_text(encoding="utf-8"))
    assert not violations(folder, modules)
    layer = folder.partition("/")[0]
    if layer != "ros":
        assert not {module for module in modules if is_ros(module)}, "ROS belongs in ros and launch"
    for extra, layers in EXTRAS.items():
        uses = any(module.partition(".")[0] == extra for module in modules)
        assert not uses or layer in layers, f"{extra} belongs in {sorted(layers)}"


def test_what_a_folder_may_import_has_no_circle() -> None:
    graph = {name: {other for other in allowed if other != name} for name, allowed in ALLOWED.items()}
    assert set(TopologicalSorter(graph).static_order()) >= set(ALLOWED)


def test_no_file_imports_itself_through_others() -> None:
    try:
        TopologicalSorter({path: imported_files(path) for path in package_files()}).prepare()
    except CycleError as error:
        circle = " -> ".join(str(path.relative_to(PACKAGE)) for path in error.args[1])
        pytest.fail(f"a circle of imports: {circle}")


@pytest.mark.parametrize("folder", folders(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_folder_says_what_is_in_it_and_stays_small(folder: Path) -> None:
    name = str(folder.relative_to(PACKAGE))
    room(name)
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    says = (ast.get_docstring(ast.parse(text)) or "").lower().replace("\n", " ").split()
    assert says and LIMITS & {word.strip(".,:;") for word in says}, (
        "its __init__.py says what is in it, and what is not"
    )
    files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES, "split it along the mathematics"


def test_tests_mirror_the_package() -> None:
    mirrored = {str(path.parent.relative_to(ROOT / "test")) for path in (ROOT / "test").rglob("test_*.py")} - {"."}
    known = {str(folder.relative_to(PACKAGE)) for folder in folders()} | {"launch"}
    assert mirrored <= known, "test/<folder> tests contact_mpc/<folder>"


def test_launch_files_start_nodes_as_processes_and_import_none() -> None:
    files = (PACKAGE / "ros" / "nodes").glob("*.py")
    nodes = {path.stem for path in files if "run_node(" in path.read_text(encoding="utf-8")}
    assert "plant" in nodes
    for path in sorted((ROOT / "launch").glob("*.py")):
        modules = imported_modules(path.read_text(encoding="utf-8"))
        assert not {module for module in modules if module.startswith("contact_mpc.ros.nodes.")}, path


def test_imports_against_the_direction_are_found() -> None:
    modules = imported_modules("def f():\n    from contact_mpc.control import mpc\nfrom contact_mpc import model\n")
    assert violations("planning/tree", modules) == {"contact_mpc.control.mpc"}
    assert violations("ros/nodes", modules) == set()
    assert violations("geometry", {"contact_mpc.dynamics.step"}) == {"contact_mpc.dynamics.step"}


def test_plants_know_no_controller_and_the_bridge_no_planner() -> None:
    assert violations("plants/drake", {"contact_mpc.dynamics.contact_dynamics"})
    assert violations("plants/drake", {"contact_mpc.control.tracking.mpc"})
    assert violations("control/bridge", {"contact_mpc.control.tracking.mpc"})
    assert violations("control/bridge", {"contact_mpc.dynamics.contact_dynamics"})
    assert violations("control/tracking", {"contact_mpc.control.bridge.guard"})
    assert not violations("control/bridge", {"contact_mpc.task.plan", "contact_mpc.control.bridge.guard"})


def test_ros_imports_are_found() -> None:
    modules = imported_modules("import rclpy.node\nfrom sensor_msgs.msg import JointState\nimport rosbags\n")
    assert {module for module in modules if is_ros(module)} == {"rclpy.node", "sensor_msgs.msg.JointState"}


def test_numbers_of_planning_have_a_reason_to_be_no_parameters() -> None:
    numbers = house().numbers("planning")
    known = [name for names in KEPT_NUMBERS.values() for name in names]
    assert len(known) == len(set(known))
    assert set(numbers) <= set(known), "tuned: a field of a frozen config, with unit, range, reason; else a row"
    assert set(known) <= set(numbers), "gone: take it out of the table"


def test_the_table_of_what_is_added_names_tests_that_there_are() -> None:
    rows = re.findall(
        r"^\|.*\|$", (ROOT / "docs" / "concepts" / "structure.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    shown = {row.split("|")[1].strip(): re.findall(r"`(a_\w+)`", row.split("|")[-2]) for row in rows}
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "test").rglob("test_*.py"))
    added = ("formulation of the step", "plant", "controller", "planner", "robot", "task", "page of the report")
    for thing in added:
        names = shown[f"a {thing}"]
        assert names and all(f"def test_{name}(" in tests for name in names), thing


def test_nanoseconds_in_a_second_stand_in_one_place() -> None:
    """`NS_PER_S` of settings.units; 1e-9 is a tolerance or a factor of its own."""
    for path in package_files():
        numbers = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        is_there = any(type(value) in (int, float) and value == 1e9 for value in numbers)
        assert not is_there or str(path.relative_to(PACKAGE)) in OTHER_BILLIONS, f"{path}: use NS_PER_S"


def test_files_are_written_by_what_leaves_the_old_one_where_it_fails() -> None:
    """`write_text` and `replacing` of settings.file_access; what may write otherwise is in the table, with why."""
    trees = {str(path.relative_to(PACKAGE)): tree for path, tree in house().trees.items()}
    found = {name: writes for name, tree in trees.items() if (writes := list(direct_writes(tree)))}
    assert {name: found[name] for name in found.keys() - OTHER_WRITERS} == {}, "use settings.file_access"
    assert set(OTHER_WRITERS) <= set(found), "gone: take it out of the table"


def test_writes_in_place_are_found() -> None:
    wrong = ["(a / b).write_text(c)", "p.write_bytes(b)", "open(p, 'wb')", "p.open(mode='a')", "io.open(p, 'r+')"]
    right = ["write_text(p, c)", "file_access.write_text(p, c)", "p.open('rb')", "open(p)", "p.open(encoding='utf-8')"]
    assert list(direct_writes(ast.parse("\n".join(wrong + right)))) == wrong


def test_tests_replace_nothing_private() -> None:
    """What is private may change its name; `__file__` and the like are names of Python."""
    for path in sorted((ROOT / "test").rglob("*.py")):
        names = {name for name in private_patches(ast.parse(path.read_text(encoding="utf-8"))) if name[:2] != "__"}
        assert not names, f"{path.relative_to(ROOT)}: go through the public face of {sorted(names)}"
    found = private_patches(ast.parse('monkeypatch.setattr(module, "_f", 1)\nx._g = 2\nm.setattr(x._core, "reset", 3)'))
    assert set(found) == {"_f", "_g", "_core"}


def test_long_lists_of_parameters_are_options_or_arrays_of_compiled_code() -> None:
    """Commands declare their options as parameters, `evaluate` of the API the same, compiled code takes arrays."""
    for path, function in house().long_lists():
        name = str(path.relative_to(PACKAGE))
        is_compiled = any("njit" in ast.unparse(item) for item in function.decorator_list)
        is_command = name.startswith("cli/") and function.name == path.stem
        is_public = (name, function.name) == ("api.py", "evaluate")
        assert is_compiled or is_command or is_public, f"{name}: {function.name} wants a record of its arguments"


@pytest.mark.parametrize("path", sorted((PACKAGE / "planning").rglob("*.py")), ids=lambda path: path.stem)
def test_each_file_of_planning_has_a_test_of_its_name_in_its_place(path: Path) -> None:
    if path.name != "__init__.py":
        twin = ROOT / "test" / path.relative_to(PACKAGE).with_name(f"test_{path.name}")
        assert twin.is_file() and "def test_" in twin.read_text(encoding="utf-8"), f"write {twin.relative_to(ROOT)}"


def test_the_figures_of_the_house_count_what_they_say(tmp_path: Path) -> None:
    module = figures_of_the_house()
    many = ", ".join(f"x{k}" for k in range(11))
    files = {
        "contact_mpc/planning/a.py": "from contact_mpc.planning import b\nLIMIT = -2.0 * 3\nNAME = 'x'\n",
        "contact_mpc/planning/b.py": f"from contact_mpc.planning.a import LIMIT\nA, B = 1, 2\ndef f({many}): pass\n",
        "contact_mpc/model/c.py": "def g(self, x): pass\n",
        "test/planning/test_a.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = module.figures(tmp_path)
    assert found["circles of files"] == "1" and found["pairs of folders that import each other"] == "0"
    assert found["most files side by side"] == "2 (`planning`)"
    assert found["longest list of parameters"] == "11" and found["functions with more than 9 parameters"] == "1"
    assert found["numeric constants at module level in `planning`"] == "2"
    assert found["files of `planning` without a test of their name"] == "1 of 2"
    assert house().circles() == 0 and house().back_arrows() == 0
