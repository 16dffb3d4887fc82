"""``contact-mpc plan --method rrt``: exit codes, files that stay, the report."""

import json
from pathlib import Path

import numpy as np
import pytest
from short_push import write_short_push

from contact_mpc.cli.main import main
from contact_mpc.loop.parts import confirmed_plan
from contact_mpc.loop.parts.confirmation import MujocoConfirmation
from contact_mpc.loop.parts.confirmed_plan import CANDIDATES
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.task.plan import Plan, load_plan


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    return int(raised.value.code or 0)


def test_plan_by_tree_writes_plan_tree_and_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.npz"
    code = run([
        "plan", "planar_hand_ball", "--method", "rrt", "--goal", "disc_turn_rad=1.2", "--seed", "1", "--out", str(out),
        "--report", str(tmp_path / "report"), "--json",
    ])  # fmt: skip
    result = json.loads(capfd.readouterr().out)
    assert code == 0 and result["goal_met"] and result["command"] == "plan" and result["seed"] == 1
    assert out.is_file() and (tmp_path / "p.tree0.npz").is_file()
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Trees in the object" in page and "Goal met" in page
    assert "<td>run it again</td><td>contact-mpc plan planar_hand_ball --method rrt --goal" in page
    assert "src=" not in page.split("</head>")[0]  # loads nothing
    drawn = json.loads(page.split('id="data">')[1].split("</script>")[0])["figures"]
    kinds = {trace["type"] for figure in drawn.values() for trace in figure["data"]}
    assert kinds <= {"scatter", "bar"}, "the small bundle drew others without their third coordinate and their titles"
    axes = drawn["tree"]["layout"]
    assert [axes[name]["title"]["text"] for name in ("xaxis", "xaxis2")] == ["disc_y, mm"] * 2
    assert [note["text"] for note in axes["annotations"]] == ["<b>disc_z, mm</b>", "<b>disc_turn, deg</b>"]


def test_goal_beyond_the_budget_exits_1_and_keeps_what_there_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run(["plan", "planar_hand_ball", "--method", "rrt", "--nodes", "6", "--json"])
    captured = capfd.readouterr()
    assert code == 1 and json.loads(captured.out)["status"] == "nodes"
    assert "raise --nodes" in captured.err
    stem = "planar_hand_ball.rrt.failed"  # neither the name of a good plan nor that of another method's
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{stem}.npz", f"{stem}.tree0.npz"]


def test_confirmed_plan_is_what_mujoco_played_and_ends_at_the_goal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    problem, out = write_short_push(tmp_path), tmp_path / "p.npz"
    code = run(["plan", str(problem), "--method", "rrt", "--confirm", "--out", str(out), "--json"])
    result = json.loads(capfd.readouterr().out)
    plan = load_plan(out)
    assert code == 0 and result["goal_met"] and result["confirmed"] and plan.provenance["confirmed"] is True
    assert len(result["robustness"]) >= 1 and result["confirmation_failure"] == ""
    assert load_problem(problem).is_reached(plan.q[-1])
    assert result["confirmed_duration_s"] == plan.times_s[-1]


def test_plan_that_no_candidate_confirms_is_kept_and_exits_1(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, rolled_out = [], MujocoConfirmation.ways

    def stand_still(
        self: MujocoConfirmation, q: np.ndarray, plan: Plan, settle_s: float = 0.0, row_s: float | None = None
    ) -> confirmed_plan.Ways:
        if row_s is None:  # a part is corrected, not played
            return rolled_out(self, q, plan, settle_s)
        tried.append(plan)
        return confirmed_plan.Ways(np.array([1.0, 100.0]), np.tile(q, (1, 2, 1)))

    monkeypatch.setattr(MujocoConfirmation, "ways", stand_still)
    monkeypatch.setattr(confirmed_plan, "MOST_PARTS", 1)
    problem, out = write_short_push(tmp_path), tmp_path / "p.npz"
    code = run(["plan", str(problem), "--method", "rrt", "--confirm", "--out", str(out), "--json"])
    captured = capfd.readouterr()
    result = json.loads(captured.out)
    assert code == 1 and not result["goal_met"] and result["confirmed"] is False
    assert "not confirmed in MuJoCo: more than 1 parts" in captured.err
    assert out.is_file() and load_plan(out).provenance["confirmed"] is False
    assert len(tried) == CANDIDATES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "rrt", "--goal", "disc_turn_rad=9"], "outside its range"),
        (["--method", "rrt", "--goal", "disc_turn_rad"], "expected COORDINATE=NUMBER"),
        (["--method", "walk"], "allowed: trajopt, rrt"),
        (["--method", "rrt", "--set", "kappa_per_j=1"], "belong to --method trajopt"),
        (["--nodes", "5"], "belong to --method rrt"),
    ],
)
def test_mistakes_exit_2_with_one_line(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "planar_hand_ball", *arguments]) == 2
    assert message in capfd.readouterr().err
