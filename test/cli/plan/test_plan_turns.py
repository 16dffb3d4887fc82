"""``plan PROBLEM --method regrasp``: from the command to a plan file that names what made it."""

import json
from pathlib import Path

import pytest

from contact_mpc.cli.main import main
from contact_mpc.planning.parts import REGRASP
from contact_mpc.task.plan import load_plan


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    return int(raised.value.code or 0)


def test_a_plan_by_turns_is_written_with_the_share_of_draws_that_end_alike(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run(["plan", "allegro_ball", "--method", REGRASP, "--goal", "ball_yaw_rad=0.2", "--json"])
    result = json.loads(capfd.readouterr().out)
    assert code == 0 and result["goal_met"] and result["method"] == REGRASP
    assert result["angle_error_deg"] <= 3.0 and len(result["robustness"]) == result["parts"] >= 1
    plan = load_plan(tmp_path / "allegro_ball.regrasp.plan.npz")
    assert plan.provenance["planner"] == REGRASP and plan.provenance["problem"] == "allegro_ball"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["planar_hand_ball", "--method", REGRASP], "no key `turns`"),
        (["allegro_ball", "--method", REGRASP, "--nodes", "5"], "--nodes, --report, --confirm and --seed"),
        (["allegro_ball", "--method", REGRASP, "--set", "h_s=1"], "parameters of regrasp are in its YAML"),
    ],
)
def test_what_does_not_belong_to_turns_is_refused(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments]) == 2
    assert words in " ".join(capfd.readouterr().err.split())
