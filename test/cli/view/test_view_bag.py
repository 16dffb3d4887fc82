"""Bags for the view: what is one, and the motion that is read of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags")

from contact_mpc.cli.view.view_bag import is_bag, read_motion


def test_the_motion_of_a_bag_is_that_which_was_recorded(synthetic_run: Any, finger_task: Any, tmp_path: Path) -> None:
    folder = synthetic_run(turn_deg=20.0, metadata={"task": str(finger_task.path)}).write(tmp_path / "run")
    assert is_bag(str(folder))
    system, times_s, q, (R_goal, _) = read_motion(folder)
    assert system.name == "finger_ball" and q.shape == (len(times_s), system.n_q)
    assert times_s[0] == 0.0 and np.all(np.diff(times_s) > 0.0)
    (R0, _), (R1, _) = (system.object_pose(row) for row in q[[0, -1]])
    turned_deg = np.rad2deg(np.arccos(0.5 * (np.trace(R1 @ R0.T) - 1.0)))
    assert turned_deg == pytest.approx(20.0, abs=1.0)
    np.testing.assert_allclose(R_goal @ R_goal.T, np.eye(3), atol=1e-9)


def test_names_of_tasks_and_other_files_are_no_bags(tmp_path: Path) -> None:
    assert not is_bag("allegro_ball") and not is_bag(str(tmp_path))
    (tmp_path / "task.yaml").write_text("name: a")
    assert not is_bag(str(tmp_path / "task.yaml"))
