"""``contact-mpc plan`` of tasks whose start or goal cannot be held: the failing margin is named, the file says it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import read_yaml

_, Y, Z = read_yaml(resource("tasks", "allegro_ball"))["start"]["object_position_m"]


@pytest.mark.parametrize(
    ("change", "is_met", "words"),
    [
        ({}, True, ""),
        ({"minimum_force_n: 3.0": "minimum_force_n: 30.0"}, False, "it would take a least force of at most"),
        ({"rotation_deg: 30.0": "rotation_deg: 120.0"}, False, "the goal cannot be held"),
        ({f"{Y}, {Z}": f"{Y + 0.04:.4f}, {Z}"}, False, "the start does not hold the object"),
    ],
    ids=["as it is", "force", "goal", "start"],
)
def test_what_cannot_be_held_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], is_met: bool, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = resource("tasks", "allegro_ball").read_text()
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "task.yaml").write_text(text)
    arguments = ["plan", str(tmp_path / "task.yaml"), "--json"]
    shown = CliRunner().invoke(build_app(arguments), arguments)
    result = json.loads(shown.stdout)
    assert (result["goal_met"], shown.exit_code) == (is_met, 0 if is_met else 1)
    assert words in result["refused"] and bool(result["refused"]) == bool(words)
    assert [path.name for path in tmp_path.glob("*.npz")] == [f"allegro_ball.{'plan' if is_met else 'failed'}.npz"]
