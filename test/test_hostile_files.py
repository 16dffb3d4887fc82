"""Whatever the bytes of a file, a reader ends in a result or in one error that names it: never in a traceback."""

import copy
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contact_mpc.cli.study.generality import read_kept
from contact_mpc.errors import ConfigError, ContactMpcError, ModelError
from contact_mpc.evaluation.outcome_store import OutcomeStore
from contact_mpc.evaluation.trial_run import TrialOutcome
from contact_mpc.importing.mesh_shapes import shapes_of_mesh
from contact_mpc.importing.mjcf import read_mjcf
from contact_mpc.loop.config import load_loop_config
from contact_mpc.model.meshes import load_hull, load_triangles
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.urdf import read_urdf
from contact_mpc.planning.tree.file import ARRAYS as TREE_ARRAYS
from contact_mpc.planning.tree.file import load_tree
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.plants.penalty.meshes import read_obj
from contact_mpc.ros.driver.robot_file import load_robot
from contact_mpc.settings.array_files import write_arrays
from contact_mpc.settings.resources import resource
from contact_mpc.task.plan import ARRAYS, FORMAT, load_plan
from contact_mpc.task.task import load_task

NAME = "planar_hand_ball"
YAML_READERS: dict[str, Callable[[Path], Any]] = {
    "systems": load_system, "tasks": load_task, "planning": load_problem, "nodes": load_loop_config,
    "robots": load_robot,
}  # fmt: skip
ROBOT = "allegro"
OBJ = b"v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
UNIT = (1.0, 1.0, 1.0)
MESH_READERS: dict[str, Callable[[Path], Any]] = {
    "hull": lambda path: load_hull(path, np.ones(3)),
    "triangles": lambda path: load_triangles(path, np.ones(3), 100),
    "import": lambda path: shapes_of_mesh(path, UNIT),
    "penalty": read_obj,
}
MJCF = b"""<mujoco>
<worldbody><body name="arm"><joint name="turn" axis="0 0 1" range="-1 1"/><geom type="box" size=".1 .1 .1"/>
<body name="tip" pos="0 0 .2"><joint name="slide" type="slide"/><geom type="capsule" size=".02 .1"/></body></body>
</worldbody><actuator><motor joint="turn"/></actuator></mujoco>"""
OUTCOME = TrialOutcome(1, "+z", True, True, False, 1.0, 2.0, 3.0, (4.0,), (5.0,), ("a reason",), {"friction": None})
WEIRD = [
    None, True, {}, [], "", "[/b]", "a\0b", "../../x", "<!--<script>", "\u202e", -1, 0, 10**400, 1e308, -1e-308,
    float("nan"), float("inf"), [[[]]], {"a": {"b": {}}}, [1, "x", None], "9" * 300, {1: 2, None: 3},
]  # fmt: skip
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def check(reader: Callable[[Path], Any], path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        reader(path)
    except ContactMpcError as error:
        assert str(error)


def damaged(valid: bytes) -> st.SearchStrategy[bytes]:
    """Return strategies of bytes: any, or a valid file that is cut, altered, or has something in its middle."""
    places = st.integers(0, max(0, len(valid) - 1))
    altered = st.tuples(places, st.integers(0, 255)).map(
        lambda at: valid[: at[0]] + bytes([at[1]]) + valid[at[0] + 1 :]
    )
    filled = st.tuples(places, st.binary(max_size=12)).map(lambda at: valid[: at[0]] + at[1] + valid[at[0] :])
    return st.one_of(st.binary(max_size=200), places.map(lambda at: valid[:at]), altered, filled)


def example(kind: str) -> Path:
    return resource(kind, ROBOT if kind == "robots" else NAME)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in nested mappings and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in items for found in places_in(part, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


@pytest.mark.parametrize("kind", YAML_READERS)
@FEW
@given(data=st.data())
def test_bytes_of_yaml_files(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    content = data.draw(damaged(example(kind).read_bytes()))
    check(YAML_READERS[kind], tmp_path / "file.yaml", content)


@pytest.mark.parametrize("kind", YAML_READERS)
@FEW
@given(data=st.data())
def test_values_of_yaml_files(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    valid = yaml.safe_load(example(kind).read_text())
    changed = replaced(valid, data.draw(st.sampled_from(places_in(valid))), data.draw(st.sampled_from(WEIRD)))
    check(YAML_READERS[kind], tmp_path / "file.yaml", yaml.safe_dump(changed).encode())


@pytest.mark.parametrize("value", ["{}", "[]", "soon", ".nan", "-1", "null"])
def test_a_start_delay_that_is_no_time_is_one_line(value: str, tmp_path: Path) -> None:
    text = example("nodes").read_text()
    assert text.count("start_delay_s: 0.3") == 1
    (tmp_path / "nodes.yaml").write_text(text.replace("start_delay_s: 0.3", f"start_delay_s: {value}"))
    with pytest.raises(ConfigError, match=r"nodes\.yaml: .*'start_delay_s'") as caught:
        load_loop_config(tmp_path / "nodes.yaml")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("value", [{}, [], "soon", float("nan"), -1.0, None], ids=str)
def test_a_start_delay_that_no_run_can_wait_is_one_line(value: Any) -> None:
    pytest.importorskip("rclpy")
    from contact_mpc.ros.stack.run_parameters import run_duration_s

    with pytest.raises(ConfigError, match=r"trajectory_server\.start_delay_s = .*expected a time in s") as caught:
        run_duration_s(load_task(NAME), {"trajectory_server": {"start_delay_s": value}})
    assert len(str(caught.value).splitlines()) == 1


@FEW
@given(data=st.data())
def test_bytes_of_urdfs(data: st.DataObject, tmp_path: Path) -> None:
    check(read_urdf, tmp_path / "robot.urdf", data.draw(damaged(resource("urdf", "planar_hand").read_bytes())))


@pytest.mark.parametrize("kind", MESH_READERS)
@FEW
@given(content=damaged(OBJ))
def test_bytes_of_meshes(kind: str, content: bytes, tmp_path: Path) -> None:
    check(MESH_READERS[kind], tmp_path / "mesh.obj", content)


@FEW
@given(content=damaged(MJCF))
def test_bytes_of_mjcf_files(content: bytes, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    check(lambda path: read_mjcf(path, tmp_path), tmp_path / "robot.xml", content)


def test_names_in_mjcf_files_that_are_not_utf8(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "robot.xml").write_bytes(MJCF.replace(b"tip", b"\x9bip"))
    with pytest.raises(ModelError, match="not UTF-8"):
        read_mjcf(tmp_path / "robot.xml", tmp_path)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("outcomes") / "outcomes.jsonl"
    store = OutcomeStore(path)
    for key in ("first", "second"):
        store.add(key, OUTCOME)
    return path.read_bytes()


@FEW
@given(data=st.data())
def test_bytes_of_outcomes(data: st.DataObject, outcomes: bytes, tmp_path: Path) -> None:
    check(OutcomeStore, tmp_path / "outcomes.jsonl", data.draw(damaged(outcomes)))


@FEW
@given(content=damaged(b'{"key": "k", "row": {"trials": 4, "reason": ""}}'))
def test_bytes_of_kept_rows(content: bytes, tmp_path: Path) -> None:
    check(lambda path: read_kept(path, "k"), tmp_path / "figures.json", content)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("archives") / "file.npz"
    rows = {name: np.zeros((2, 4, 3)) if name == "contact_impulses" else np.zeros((2, 4)) for name in ARRAYS}
    write_arrays(path, "plan", {"format": FORMAT}, {**rows, "times_s": np.arange(2.0)})
    plan = path.read_bytes()
    write_arrays(path, "tree", {"format": "contact_mpc tree 1"}, {name: np.zeros(3) for name in TREE_ARRAYS})
    return {"plan": plan, "tree": path.read_bytes()}


@pytest.mark.parametrize("kind", ["plan", "tree"])
@FEW
@given(data=st.data())
def test_bytes_of_plans_and_trees(kind: str, data: st.DataObject, archives: dict[str, bytes], tmp_path: Path) -> None:
    reader: Callable[[Path], Any] = load_plan if kind == "plan" else load_tree
    check(reader, tmp_path / "file.npz", data.draw(damaged(archives[kind])))


@pytest.mark.parametrize("kind", ["plan", "tree"])
@FEW
@given(data=st.data())
def test_bytes_of_arrays_in_plans_and_trees(
    kind: str, data: st.DataObject, archives: dict[str, bytes], tmp_path: Path
) -> None:
    """With the archive's own checksums right."""
    members = {}
    with zipfile.ZipFile(BytesIO(archives[kind])) as archive:
        for name in archive.namelist():
            members[name] = archive.read(name)
    name = data.draw(st.sampled_from(sorted(members)))
    members[name] = data.draw(damaged(members[name]))
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    check(load_plan if kind == "plan" else load_tree, tmp_path / "file.npz", file.getvalue())


def test_bytes_of_bags(synthetic_run: Callable[..., Any], tmp_path: Path) -> None:
    reading = pytest.importorskip("contact_mpc.bags.bag")
    valid = (synthetic_run(motion_s=0.02, hold_s=0.0).write(tmp_path / "bag") / "bag.mcap").read_bytes()
    path = tmp_path / "file.mcap"

    @FEW
    @given(content=damaged(valid))
    def read(content: bytes) -> None:
        check(reading.read_run, path, content)

    read()
