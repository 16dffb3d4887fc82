"""Where a start goes in a task file."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.evaluation.starts.start_file import replace_section, write_start
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.task.task import Goal, load_task

TURN = (
    "name: turn\nsystem: allegro_ball\ngoal: {rotation_deg: 25, is_free: true}   # the grasp's\n"
    "duration_s: 2.5\nhold_s: 1.0\ntolerance_deg: 5.0\ntolerance_mm: 5.0\n"
)
BLOCK = "start:   # found\n  joints_rad: {a: 1}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: a\ngoal: {}\n", f"name: a\ngoal: {{}}\n{BLOCK}"),
        ("name: a\nstart:  # old\n  x: {\n    b: 1,\n  }\n  y: 2\n\ngoal: {}\n", f"name: a\n{BLOCK}goal: {{}}\n"),
    ],
)
def test_section_takes_the_place_of_the_old_one(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "task.yaml").write_text(old)
    replace_section(tmp_path / "task.yaml", "start", BLOCK)
    assert (tmp_path / "task.yaml").read_text() == new


def test_a_goal_of_the_grasp_is_written_beside_its_start(tmp_path: Path) -> None:
    task = load_task("allegro_ball")
    goal = Goal(np.array([0.0, 0.6, 0.8]), 25.0, np.array([0.0, 0.012, -0.003]), is_free=True)
    grasp = compute_grasp(task.system, task.start_q, 3.0, 0.4)
    start = GraspCandidate(task.start_q, grasp, (1.0,), 0.2, 0.5, goal=goal)
    path = tmp_path / "turn.yaml"
    path.write_text(TURN)
    write_start(path, task.system, start, None, "seed 0")
    written = load_task(path)
    assert written.has_start and written.goal.is_free and written.goal.angle_deg == 25.0
    np.testing.assert_allclose(written.goal.axis_W, goal.axis_W, atol=1e-4)
    np.testing.assert_allclose(written.goal.translation_m, goal.translation_m, atol=1e-4)
    assert path.read_text().startswith("name: turn\n") and "hold_s: 1.0\n" in path.read_text()
