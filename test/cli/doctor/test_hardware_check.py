"""The command hardware-check: mistakes before anything starts, and a check of a mock robot to its report."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

pytest.importorskip("rclpy")

from contact_mpc.cli.main import build_app
from contact_mpc.commissioning import checks

pytestmark = pytest.mark.dds


def call(*arguments: str) -> Any:
    return CliRunner().invoke(build_app(["hardware-check", *arguments]), ["hardware-check", *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("allegro", "--driver", "real", "--yes"), "--driver real is unknown; allowed: none, mock"),
        (("allegro",), "give --yes"),
        (("alegro", "--yes"), "allegro"),
    ],
)
def test_mistakes_are_named_before_anything_starts(arguments: tuple[str, ...], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2 and message in result.output


def test_a_mock_robot_is_checked_to_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECKS", tuple(item for item in checks.CHECKS if item.name in ("states", "hold")))
    result = call("anypulator", "--driver", "mock", "--yes", "--report", str(tmp_path), "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0 and found["goal_met"] and found["fail"] == 0, result.output
    assert {row["check"] for row in found["findings"]} == {"states", "limits", "hold"}
    assert "| hold |" in (tmp_path / "hardware_check.md").read_text()
    assert yaml.safe_load((tmp_path / "robot.yaml").read_text())["command_interface"] == "effort"
