"""The files of a push: a table, a start that the arm has, what pushing needs; hands are refused."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.task import new_task
from contact_mpc.task.derived import PUSH_TRACKER
from contact_mpc.task.node_defaults import default_nodes
from contact_mpc.task.task import load_task


def test_a_hand_is_no_arm(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--push needs an arm with one end, 'leap_right' has 4"):
        new_task("leap_right.urdf", "cube:0.05", "", "", tmp_path, None, JointOptions(), 0, "x:0.1")


def test_files_of_a_push_load_with_start_goal_and_parameters(tmp_path: Path) -> None:
    found = new_task(str(_robot(tmp_path)), "cube:0.1", "z:20", "push", tmp_path, None, JointOptions(), 0, "x:0.08")
    task = load_task(found.task_file)
    assert found.has_start and task.has_start
    assert len(found.task_file.read_text().splitlines()) <= 20
    assert [item.owner for item in task.system.geometries if item.body < 0 and item.shape.kind == "half_space"]
    R, p = task.goal_pose()
    np.testing.assert_allclose(p - task.system.object_pose(task.start_q)[1], [0.08, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.arctan2(R[1, 0], R[0, 0]), np.deg2rad(10.0), atol=1e-4)
    assert task.planner["initialisation"] == "carried" and "minimum_force_n" not in task.planner
    assert default_nodes(task)["mpc_tracker"].items() >= PUSH_TRACKER.items()


def _robot(folder: Path) -> Path:
    """Write the iiwa of the package with a ball at its end as a system file."""
    from contact_mpc.importing.arms.tool import read_tool
    from contact_mpc.importing.robot import import_robot

    tool = read_tool("link_7=ball:0.15,0.03")
    return import_robot("lbr_iiwa7.urdf", "arm", folder, JointOptions(), tool).system_file
