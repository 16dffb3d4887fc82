"""What ``plan --grasp --grasps N`` prints and writes."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import typer

from contact_mpc.cli.plan import plan_grasps
from contact_mpc.cli.plan.plan_grasp import GraspOptions
from contact_mpc.errors import ConfigError
from contact_mpc.evaluation.starts.find_grasps import find_grasps
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.task.task import TaskConfig, load_task

ROUNDED = 1e-4  # of a task file


def candidates(task: TaskConfig) -> list[GraspCandidate]:
    """Return the task's further grasps as if a search had found them."""
    grasps = [compute_grasp(task.system, q, 3.0, 0.45) for q, _u in task.grasps]
    return [
        GraspCandidate(q, grasp, (1.0,), 0.2, 0.5, held=1.0) for (q, _u), grasp in zip(task.grasps, grasps, strict=True)
    ]


@pytest.mark.parametrize("write", [False, True])
def test_the_first_becomes_the_start_and_the_others_stand_in_the_section_grasps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], write: bool
) -> None:
    path = tmp_path / "mine.yaml"
    shutil.copy(load_task("allegro_cube_yaw").path, path)
    task = load_task(path)
    found = candidates(task)
    monkeypatch.setattr(plan_grasps, "find_grasps", lambda *_arguments: found)
    with pytest.raises(typer.Exit) as ended:
        plan_grasps.find_more(task, len(found), GraspOptions(7, None, 3, write=write), as_json=False)
    printed = capfd.readouterr().out
    assert ended.value.exit_code == 0
    if not write:
        assert printed.startswith("start:") and "\ngrasps:" in printed and "--seed 3" in printed
        path.write_text("name: mine\nsystem: allegro_cube\ngoal: {rotation_deg: 90}\nduration_s: 9.0\nhold_s: 1.0\n"
                        "tolerance_deg: 5.0\ntolerance_mm: 5.0\n" + printed)  # fmt: skip
    written = load_task(path)
    np.testing.assert_allclose(written.start_q, found[0].q, atol=ROUNDED)
    assert len(written.grasps) == len(found) - 1
    for (q, u), item in zip(written.grasps, found[1:], strict=True):
        np.testing.assert_allclose(q, item.q, atol=ROUNDED)
        np.testing.assert_allclose(u, item.grasp.u, atol=ROUNDED)


def test_tasks_of_one_grasp_are_refused() -> None:
    with pytest.raises(ConfigError, match="planner.method: regrasp"):
        find_grasps(load_task("allegro_cube"), 3, 1, 0)
