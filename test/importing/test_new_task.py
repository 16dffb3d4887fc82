"""`contact-mpc new task`: objects from a few words, placed among the fingertips, in files that load."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.importing.objects import make_object, write_object
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.task import NewTask, new_task, read_turn
from contact_mpc.loop.config import load_loop_config
from contact_mpc.model.urdf import read_urdf
from contact_mpc.planning.trajopt.task import plan_task
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import load_task

NO_LIMITS = JointOptions()


def allegro_with(thing: str, folder: Path) -> NewTask:
    return new_task("allegro_ball", thing, "z:30", "mine", folder, 0.1, NO_LIMITS, 0)


@pytest.mark.parametrize(
    ("text", "inertia"),
    [
        ("ball:0.03", np.full(3, 0.4 * 0.03**2)),
        ("box:0.06,0.12,0.18", np.array([0.12**2 + 0.18**2, 0.06**2 + 0.18**2, 0.06**2 + 0.12**2]) / 12.0),
        ("cylinder:0.03,0.12", np.array([(3 * 0.03**2 + 0.12**2) / 12.0] * 2 + [0.5 * 0.03**2])),
    ],
)
def test_object_of_a_kind_has_its_inertia(tmp_path: Path, text: str, inertia: np.ndarray) -> None:
    kind = text.partition(":")[0]
    write_object(make_object(text, 2.0), tmp_path)
    link = read_urdf(tmp_path / f"{kind}.urdf").links[kind]
    np.testing.assert_allclose(np.diag(link.inertia), 2.0 * inertia, rtol=1e-5)


def test_mesh_object_lies_at_its_centre_of_mass_with_its_inertia(tmp_path: Path) -> None:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * [0.02, 0.04, 0.06] + 0.5
    rows = [f"v {x} {y} {z}" for x, y, z in corners.tolist()]
    faces = ["1 2 4", "1 4 3", "5 7 8", "5 8 6", "1 5 6", "1 6 2", "3 4 8", "3 8 7", "1 3 7", "1 7 5", "2 6 8", "2 8 4"]
    (tmp_path / "brick.obj").write_text("\n".join([*rows, *(f"f {face}" for face in faces), ""]))
    item = make_object(str(tmp_path / "brick.obj"), 0.3)
    expected = 0.3 / 12.0 * np.array([0.04**2 + 0.06**2, 0.02**2 + 0.06**2, 0.02**2 + 0.04**2])
    np.testing.assert_allclose(item.inertia, np.diag(expected), atol=1e-9)
    (piece,) = item.shapes.primitives
    assert piece.kind == "box"
    pose = item.X_OM @ piece.X_MG
    np.testing.assert_allclose([*piece.size, *pose.p], [0.02, 0.04, 0.06, 0.0, 0.0, 0.0], atol=1e-7)  # coal: 32 bit


def test_task_loads_finds_its_parameters_and_asks_for_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = allegro_with("box:0.05,0.05,0.05", tmp_path)
    for file in (found.task_file, found.system_file):
        assert len(file.read_text().splitlines()) <= 20
    task = load_task(found.task_file)
    assert task.planner == {"minimum_force_n": pytest.approx(3.0), "grasp_friction": 0.4}
    loop = load_loop_config(default_parameter_file(task))
    assert loop.tracker.horizon_steps == 5
    with pytest.raises(PlanError, match="no start; find one: contact-mpc plan .* --grasp --write"):
        plan_task(task)


def test_values_of_the_task_win_over_derived_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = allegro_with("ball:0.04", tmp_path).task_file
    file.write_text(file.read_text() + "planner: {grasp_friction: 0.3}\nnodes: {mpc_tracker: {horizon_steps: 7}}\n")
    task = load_task(file)
    assert task.planner["grasp_friction"] == 0.3 and task.planner["minimum_force_n"] > 2.0
    assert load_loop_config(default_parameter_file(task)).tracker.horizon_steps == 7
    file.write_text(file.read_text().replace("mpc_tracker", "mpc_trecker"))
    with pytest.raises(ConfigError, match="no node 'mpc_trecker'"):
        default_parameter_file(load_task(file))


def test_object_lies_where_the_fingertips_are(tmp_path: Path) -> None:
    position = np.array(allegro_with("ball:0.04", tmp_path).position_m)
    shipped = load_task("allegro_ball").system.object_pose(load_task("allegro_ball").start_q)[1]
    assert np.linalg.norm(position - shipped) < 0.06 and position[2] > 0.05


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        ("ball", "a ball has radius"),
        ("cone:1,2", "expected ball:radius, cube:side, box:x,y,z"),
        ("box:0.1,0.1", "a box has x,y,z"),
        ("ball:0.5", "1000 mm across, the open hand"),
        ("ball:0.15", "found no place where fingertips of .* reach an object of 300 mm"),
        ("none.stl", "does not exist"),
    ],
)
def test_object_that_cannot_be_is_refused_in_one_line(tmp_path: Path, thing: str, said: str) -> None:
    with pytest.raises(Exception, match=said) as caught:
        allegro_with(thing, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["z", "w:30", "z:0", "z:200", "z:x"])
def test_turn_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected AXIS:DEG"):
        read_turn(text)
    assert read_turn("-y:20") == ((0.0, -1.0, 0.0), 20.0)
    assert read_turn("any:20") == ((0.0, 0.0, 0.0), 20.0)


def test_the_axis_of_a_turn_may_be_left_to_the_grasp(tmp_path: Path) -> None:
    found = new_task("allegro_ball", "ball:0.04", "any:25", "", tmp_path, None, NO_LIMITS, 0)
    task = load_task(found.task_file)
    assert task.goal.is_free and task.goal.angle_deg == 25.0 and not task.has_start
    with pytest.raises(ConfigError, match="any:25: a push needs an axis"):
        new_task("allegro_ball", "ball:0.04", "any:25", "", tmp_path, None, NO_LIMITS, 0, push="x:0.1")
