"""``plan PROBLEM --method regrasp`` and ``sampled``: from the command to a plan file that names what made it."""

import json
from pathlib import Path

import pytest

from contact_mpc.cli.main import main
from contact_mpc.planning.parts import REGRASP, SAMPLED
from contact_mpc.settings.resources import resource
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
        (
            ["allegro_ball", "--method", REGRASP, "--nodes", "5"],
            "--nodes, --report and --confirm belong to --method rrt",
        ),
        (["allegro_ball", "--method", REGRASP, "--set", "h_s=1"], "parameters of regrasp are in its YAML"),
        (["allegro_ball", "--method", REGRASP, "--seed", "3"], "--seed belongs to other methods"),
        (["allegro_ball", "--method", SAMPLED], "no section `sampled`"),
    ],
)
def test_what_does_not_belong_to_plans_that_are_played_is_refused(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments]) == 2
    assert words in " ".join(capfd.readouterr().err.split())


def test_a_problem_of_random_motions_is_planned_by_them_and_says_so_when_they_miss(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two motions with fingers that hardly move: none turns the pen, which has to turn before it is carried."""
    monkeypatch.chdir(tmp_path)
    text = resource("planning", "allegro_pen").read_text()
    few = "sampled: {samples: 2, rounds: 0, expansions: 2, posture_share: 0.0, sliding_share: 0.0, spread_rad: 1.0e-3}"
    lines = [few if line.startswith("sampled:") else line for line in text.splitlines()]
    Path("few.yaml").write_text("\n".join(lines))
    code = run(["plan", "few.yaml", "--method", SAMPLED, "--seed", "4", "--json"])
    captured = capfd.readouterr()
    result = json.loads(captured.out)
    assert code == 1 and not result["goal_met"] and result["seed"] == 4
    assert result["angle_error_deg"] > 50.0 and result["parts"] == 0
    assert "no random motion from 2 rests leads nearer" in " ".join(captured.err.split())
    assert load_plan(tmp_path / "allegro_pen.sampled.failed.npz").provenance["planner"] == SAMPLED
