"""``contact-mpc study execution`` on a push of 3 cm: keys, kept plans, the page, what it refuses."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from short_push import write_short_push
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app
from contact_mpc.cli.study import execution
from contact_mpc.planning.parts import plan_of_samples
from contact_mpc.planning.random_goal import with_drawn_goal
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.task.plan import Plan, save_plan


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    return write_short_push(tmp_path)


def call(*options: str):
    arguments = ["study", "execution", *options]
    return CliRunner().invoke(build_app(arguments), arguments)


def test_short_push_is_planned_executed_and_shown(problem: Path, tmp_path: Path) -> None:
    options = [str(problem), "--seeds", "1", "--plant", "mujoco", "--plans", str(tmp_path), "--json"]
    page = ["--report", str(tmp_path / "page")]
    done = call(*options, *page, "--way", "playback", "--way", "played")
    result = json.loads(done.stdout)
    found = result["systems"]["short_push"]
    keys = {"trials", "planned", "playback_success", "success_rate", "plan_cpu_s", "executed_s", "failures"}
    assert keys <= set(found) and (found["trials"], found["planned"], found["confirmed"]) == (1, 1, 1)
    assert found["success_rate"] == found["played_success"] == 1.0, found["failures"]
    assert all(factor > 0.0 for pair in found["identified"] for factor in pair) and len(found["identified"]) == 1
    assert done.exit_code == 0 and {path.name for path in (tmp_path / "page").iterdir()} == {
        "execution.html", "short_push.html",
    }  # fmt: skip
    text = (tmp_path / "page" / "execution.html").read_text(encoding="utf-8")
    assert '<a href="short_push.html">short_push.html</a>' in text and "median mm" in text
    shown = (tmp_path / "page" / "short_push.html").read_text(encoding="utf-8")
    assert "Angle to the goal" in shown and "Distance to the goal" in shown
    kept = (tmp_path / "short_push.0.confirmed.npz").stat().st_mtime_ns
    call(*options, "--way", "open_loop")
    assert (tmp_path / "short_push.0.confirmed.npz").stat().st_mtime_ns == kept


def test_a_plan_of_another_tree_than_the_first_is_kept_and_read_again(
    problem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first does not hold in physics; the study ended in a traceback then."""

    def confirm_second(_problem: Problem, plans: Iterator[Plan], _physics: object) -> SimpleNamespace:
        return SimpleNamespace(plan=list(islice(plans, 2))[1])

    monkeypatch.setattr(execution, "confirm_best", confirm_second)
    first, _, _ = execution.stored_plan(problem, 0, tmp_path)
    plan, cpu_s, reason = execution.stored_plan(problem, 0, tmp_path, is_confirmed=True)
    assert first is not None and plan is not None and not reason
    assert plan.provenance["seed"] != first.provenance["seed"]
    again = execution.stored_plan(problem, 0, tmp_path, is_confirmed=True)
    assert again[0] is not None and again[1] == cpu_s
    np.testing.assert_array_equal(again[0].u, plan.u)


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--plant", "bullet"), "--plant bullet is unknown"), (("--way", "flown"), "--way flown is unknown")],
)
def test_unknown_names_are_refused(options: tuple[str, str], message: str) -> None:
    done = call("planar_pushing", *options)
    assert done.exit_code != 0
    assert message in str(done.exception) or message in done.output


def test_each_seed_of_a_problem_with_random_goals_has_a_plan_to_its_own(tmp_path: Path) -> None:
    path = load_problem("allegro_cube_so3").path
    drawn = {seed: with_drawn_goal(load_problem(path), seed) for seed in (5, 6)}
    for seed, problem in drawn.items():
        plan = plan_of_samples(problem, seed)
        record = {**plan.provenance, "is_valid": True, "reason": "", "plan_cpu_s": 0.0}
        save_plan(tmp_path / f"allegro_cube_so3.{seed}.confirmed.npz", replace(plan, provenance=record))
    for seed, problem in drawn.items():
        plan, _, _ = execution.stored_plan(path, seed, tmp_path, is_confirmed=True)
        assert plan is not None
        goals = {name: item["goal"] for name, item in plan.provenance["parameters"]["objects"].items()}
        assert goals == pytest.approx({name: item.goal for name, item in problem.file.objects.items()})
    assert not np.allclose(drawn[5].goal_u, drawn[6].goal_u)
