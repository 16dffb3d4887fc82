"""Tasks: joints by name, the motion of the object, clear refusals of wrong files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml
from contact_mpc.task.task import AXES_W, TaskConfig, load_task

START = read_yaml(resource("tasks", "planar_hand_ball"))["start"]
LEFT_1, LEFT_2 = (f"{name}: {START['joints_rad'][name]}" for name in ("left_1", "left_2"))
LEFT_1_COMMAND = f"left_1: {START['commands_rad']['left_1']}"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Return a maker of copies of the planar hand's task with some text replaced."""

    def make(*changes: tuple[str, str]) -> Path:
        text = resource("tasks", "planar_hand_ball").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "turn.yaml").write_text(text)
        return tmp_path / "turn.yaml"

    return make


def test_start_is_what_the_file_says(each_task: TaskConfig) -> None:
    R, p = each_task.system.object_pose(each_task.start_q)
    np.testing.assert_allclose(R, np.eye(3), atol=1e-9)
    np.testing.assert_allclose((R, p)[1], each_task.goal_pose(0.0)[1], atol=1e-12)
    each_task.system.check_q(each_task.start_q)


def test_joints_are_taken_by_name_not_by_order(changed: Callable) -> None:
    task = load_task("planar_hand_ball")
    swapped = load_task(changed((f"{LEFT_1}, {LEFT_2}", f"{LEFT_2}, {LEFT_1}")))
    np.testing.assert_array_equal(task.start_q, swapped.start_q)


def test_a_start_found_with_another_grip_is_planned_with_it(changed: Callable) -> None:
    of_start = ("start:   #", "start:\n  grip_n: 7.0   #")
    no_force = ("  minimum_force_n: 12.0 ", "  # ")
    assert load_task(changed(of_start, no_force)).planner["minimum_force_n"] == 7.0
    assert load_task(changed(of_start)).planner["minimum_force_n"] == 12.0  # the task's own word comes first


def test_goal_turns_about_the_object_itself(each_task: TaskConfig) -> None:
    (R0, p0), (R1, p1) = each_task.goal_pose(0.0), each_task.goal_pose(1.0)
    angle = np.arccos((np.trace(R1 @ R0.T) - 1.0) / 2.0)
    assert np.rad2deg(angle) == pytest.approx(each_task.goal.angle_deg, abs=1e-9)
    np.testing.assert_allclose(R1 @ R0.T @ each_task.goal.axis_W, each_task.goal.axis_W, atol=1e-12)
    np.testing.assert_allclose(p1 - p0, each_task.goal.translation_m, atol=1e-12)


@pytest.mark.parametrize("axis", AXES_W)
def test_task_turned_about_another_axis_is_else_the_same(each_task: TaskConfig, axis: str) -> None:
    turned = each_task.about(axis)
    (R0, _), (R1, p1) = turned.goal_pose(0.0), turned.goal_pose(1.0)
    angle = np.deg2rad(each_task.goal.angle_deg)
    np.testing.assert_allclose(R1 @ R0.T, rotation_exp(angle * np.array(AXES_W[axis])), atol=1e-12)
    np.testing.assert_allclose(p1, each_task.goal_pose(1.0)[1], atol=0.0)
    assert (turned.axis, turned.duration_s, turned.name) == (axis, each_task.duration_s, each_task.name)


def test_axes_are_names_of_directions(each_task: TaskConfig, changed: Callable) -> None:
    assert each_task.about("") is each_task
    with pytest.raises(ConfigError, match=r"axis 'z' is unknown; allowed: \+x"):
        each_task.about("z")
    task = load_task(changed(("rotation_deg: 45.0", "rotation_deg: 45.0\n  rotation_axes: [-x, +z]")))
    assert task.axes == ("-x", "+z")
    with pytest.raises(ConfigError, match="rotation_axes"):
        load_task(changed(("rotation_deg: 45.0", "rotation_deg: 45.0\n  rotation_axes: [x]")))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (LEFT_2, LEFT_2.replace("left_2", "left_3"), ("start.joints_rad", "missing ['left_2']", "unknown ['left_3']")),
        (f"{LEFT_1_COMMAND}, ", "", ("start.commands_rad", "missing ['left_1']")),
        (LEFT_2, "left_2: -104.71", ("start.joints_rad.left_2", "outside")),
        (LEFT_2, "left_2: .nan", ("start.joints_rad.left_2", "finite")),
        ("joints_rad:", "joint_rad:", ("start.joint_rad", "did you mean 'joints_rad'")),
        ("duration_s: 3.0", "duration: 3.0", ("duration", "did you mean 'duration_s'")),
        ("duration_s: 3.0", "duration_s: -3.0", ("duration_s", "greater than 0")),
        ("rotation_deg: 45.0", "rotation_deg: 450.0", ("goal.rotation_deg", "180")),
        ("rotation_axis: [1.0, 0.0, 0.0]", "rotation_axis: [0.0, 0.0, 0.0]", ("goal.rotation_axis", "direction")),
        ("system: planar_hand_ball", "system: allegro_ball", ("start.joints_rad", "allegro_ball", "index_0")),
        ("system: planar_hand_ball", "system: no_such", ("no_such", "allegro_ball")),
    ],
)
def test_defect_of_a_task_file_is_named(old: str, new: str, words: tuple[str, ...], changed: Callable) -> None:
    with pytest.raises(ConfigError) as caught:
        load_task(changed((old, new)))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("length", ["1.0e-8", "2.0", "1.0e200", "1.0e308"])
def test_a_rotation_axis_of_any_length_is_a_direction(changed: Callable, length: str) -> None:
    task = load_task(changed(("rotation_axis: [1.0, 0.0, 0.0]", f"rotation_axis: [0.0, 0.0, {length}]")))
    np.testing.assert_array_equal(task.goal.axis_W, [0.0, 0.0, 1.0])


def test_a_push_goes_as_far_as_asked_in_its_own_direction() -> None:
    block, door = load_task("anypulator_block"), load_task("anypulator_door")
    moved = block.moved_by(0.4)
    np.testing.assert_allclose(moved.goal.translation_m, block.goal.translation_m * (0.4 / 0.7))
    assert (moved.displacement, block.displacement, block.moved_by(None)) == (0.4, None, block)
    np.testing.assert_allclose(np.deg2rad(abs(door.moved_by(0.5).goal.angle_deg)), 0.5)
    for wrong in (0.0, -0.1, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="positive"):
            block.moved_by(wrong)


def test_what_counts_as_dropped_is_the_tasks_to_say() -> None:
    assert load_task("allegro_ball").drop_distance_m == 0.05
    assert load_task("anypulator_block").drop_distance_m == 1.0


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "a/b", '"[/b]"', '"a\\0b"', "a b", "..", ".hidden"])
def test_names_that_are_paths_or_markup_are_refused(changed: Callable, name: str) -> None:
    with pytest.raises(ConfigError, match="key 'name'.*pattern"):
        load_task(changed(("name: planar_hand_ball\n", f"name: {name}\n")))


def test_a_system_whose_name_has_nul_is_refused(changed: Callable) -> None:
    with pytest.raises(ConfigError, match="key 'system'"):
        load_task(changed(("system: planar_hand_ball\n", 'system: "a\\0b"\n')))


def test_a_key_given_twice_is_refused(changed: Callable) -> None:
    with pytest.raises(ConfigError, match="key 'duration_s' is given twice, first in line"):
        load_task(changed(("duration_s:", "duration_s: 9.0\nduration_s:")))
