"""``contact-mpc study execution`` on a push of 3 cm: keys, kept plans, the page, what it refuses."""

import json
from pathlib import Path

import pytest
from short_push import write_short_push
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app


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


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--plant", "bullet"), "--plant bullet is unknown"), (("--way", "flown"), "--way flown is unknown")],
)
def test_unknown_names_are_refused(options: tuple[str, str], message: str) -> None:
    done = call("planar_pushing", *options)
    assert done.exit_code != 0
    assert message in str(done.exception) or message in done.output
