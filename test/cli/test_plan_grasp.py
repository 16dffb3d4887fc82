"""`plan --grasp --write`: where the start goes in a task file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.cli import plan_grasp
from contact_mpc.task.task import TaskConfig, load_task

BLOCK = "start:   # found\n  joints_rad: {a: 1}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: a\ngoal: {}\n", f"name: a\ngoal: {{}}\n{BLOCK}"),
        ("name: a\nstart:  # old\n  x: {\n    b: 1,\n  }\n  y: 2\n\ngoal: {}\n", f"name: a\n{BLOCK}goal: {{}}\n"),
    ],
)
def test_start_takes_the_place_of_the_old_one(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "task.yaml").write_text(old)
    plan_grasp._replace_start(replace(load_task("planar_hand_ball"), path=tmp_path / "task.yaml"), BLOCK)
    assert (tmp_path / "task.yaml").read_text() == new


def test_turns_are_tried_where_a_task_without_start_has_no_ball() -> None:
    ball, cube = load_task("allegro_ball"), load_task("allegro_cube")
    found = [plan_grasp._spread(task) for task in (ball, cube, without_start(ball), without_start(cube))]
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, plan_grasp.SPREAD_DEG])


def without_start(task: TaskConfig) -> TaskConfig:
    return replace(task, has_start=False)
