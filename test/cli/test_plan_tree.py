"""``contact-mpc plan --method rrt``: exit codes, files that stay, the report."""

import json
from pathlib import Path

import pytest

from contact_mpc.cli.main import main


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
    assert "src=" not in page.split("</head>")[0]  # loads nothing


def test_goal_beyond_the_budget_exits_1_and_keeps_what_there_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.npz"
    code = run(["plan", "planar_hand_ball", "--method", "rrt", "--nodes", "6", "--out", str(out), "--json"])
    captured = capfd.readouterr()
    assert code == 1 and json.loads(captured.out)["status"] == "nodes"
    assert "raise --nodes" in captured.err
    assert out.is_file() and (tmp_path / "p.tree0.npz").is_file()


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
