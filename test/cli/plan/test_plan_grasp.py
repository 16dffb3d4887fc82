"""What ``plan --grasp`` prints."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import typer
import yaml

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED
from contact_mpc.cli.plan import plan_grasp
from contact_mpc.evaluation.starts.start_file import start_section
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.task.task import load_task


def find(monkeypatch: pytest.MonkeyPatch, best: GraspCandidate, refused: str) -> int:
    """Print what a search found, without searching; the exit code."""
    search = SimpleNamespace(drawn=7, why=lambda: ["3 of 7: too few fingertips touch the object"])
    met = float("nan") if refused else 1.0
    found = SimpleNamespace(search=search, best=best, refused=refused, is_interrupted=False, met=met, grip_n=None)
    monkeypatch.setattr(plan_grasp, "find_start", lambda *_arguments: found)
    with pytest.raises(typer.Exit) as ended:
        plan_grasp.find_grasp(
            load_task("planar_hand_ball"), plan_grasp.GraspOptions(7, None, 0, write=False), as_json=False
        )
    return ended.value.exit_code


def make_candidate(fraction: float, held: float) -> GraspCandidate:
    task = load_task("planar_hand_ball")
    grasp = replace(compute_grasp(task.system, task.start_q, 1.0, 0.5), u=task.start_u)
    return GraspCandidate(task.start_q, grasp, (fraction,), 0.2, 0.5, 1.0, held)


def test_the_section_of_the_task_file_stands_alone_on_stdout_and_figures_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    task, best = load_task("planar_hand_ball"), make_candidate(1.0, 1.0)
    assert find(monkeypatch, best, "") == 0
    said = capfd.readouterr()
    assert set(yaml.safe_load(said.out)["start"]) == set(to_plain(start_section(task.system, best)))
    assert "why samples failed" in said.err and "start posture of planar_hand_ball" in said.err


def test_a_start_that_no_plant_was_given_is_said_to_be_not_played(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        find(monkeypatch, make_candidate(0.6, float("nan")), "fingers roll along 60 % of the way") == EXIT_GOAL_MISSED
    )
    said = capfd.readouterr().err
    assert "not played" in said and "nan" not in said
