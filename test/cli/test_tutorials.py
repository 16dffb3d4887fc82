"""Tutorials, as they stand there: five commands from a robot or object to a good motion; a bag; what a camera sends."""

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from synthetic_bag import SyntheticRun

from contact_mpc.estimation.camera_frame import CameraConfig
from contact_mpc.evaluation.starts.find_start import LEAST_TURNED
from contact_mpc.loop.config import load_loop_config
from contact_mpc.settings.strict_yaml import parse_yaml
from contact_mpc.task.task import TaskConfig, load_task

ROOT = Path(__file__).resolve().parents[2]
ABILITY = Path("shared/models/hands/ability_hand/ability_hand_right.urdf")
# Fewer samples and the nominal plant: whether the commands fit together, not how robust starts are.
LEAN = {"--samples": "60", "--trials": "1"}
NOMINAL = ["--disturbance-scale", "0"]


def commands(tutorial: str, number: int = 0) -> list[list[str]]:
    block = blocks(tutorial, "bash")[number]
    found = [shlex.split(line, comments=True) for line in block.splitlines()]
    for words in found:
        for index, word in enumerate(words):
            if word in LEAN:
                words[index + 1] = LEAN[word]
    found[-1] += NOMINAL
    return found


def blocks(tutorial: str, language: str) -> list[str]:
    text = (ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text(encoding="utf-8")
    return [block for kind, block in re.findall(r"```([a-z]*)\n(.*?)```", text, re.DOTALL) if kind == language]


def has_example_robots() -> bool:
    return any(item.name.replace("_", "-") == "example-robot-data" for item in distributions())


@pytest.mark.drake
@pytest.mark.parametrize(
    ("tutorial", "task"), [("your_hand", "my_ball"), ("your_object", "my_can"), ("your_arm", "my_push")]
)
def test_five_commands_lead_from_files_to_the_goal(tmp_path: Path, tutorial: str, task: str) -> None:
    lines = commands(tutorial)
    if any("example-robot-data" in word for word in lines[0]) and not has_example_robots():
        pytest.skip("example-robot-data is not installed: pip install example-robot-data brings the tutorial's arm")
    run_all(lines, tmp_path)
    assert len((tmp_path / "mine" / f"{task}.yaml").read_text().splitlines()) <= 20


@pytest.mark.drake
def test_a_hand_of_one_joint_per_finger_turns_an_object_about_an_axis_of_its_own(tmp_path: Path) -> None:
    hands = [folder / ABILITY for folder in ROOT.parents if (folder / ABILITY).is_file()]
    if not hands:
        pytest.skip(f"{ABILITY} is not there: the hand is not part of the package")
    lines = commands("your_hand", 1)
    assert lines[0][2] == hands[0].name
    lines[0][2] = str(hands[0])
    lines[2] += ["--seed", "1"]  # whose first search finds a start; others find theirs later, see docs/results
    run_all(lines, tmp_path)
    goal = load_task(tmp_path / "mine" / "my_turn.yaml").goal
    assert goal.is_free and goal.angle_deg >= LEAST_TURNED * float(lines[1][lines[1].index("--turn") + 1].split(":")[1])


def run_all(lines: list[list[str]], tmp_path: Path) -> None:
    """Run the five commands of a tutorial; all of them end with exit code 0."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert len(lines) == 5
    for program, *words in lines:
        assert program == "contact-mpc"
        line = [sys.executable, "-m", "contact_mpc", *words]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_a_bag_is_read_as_the_tutorial_does(
    tmp_path: Path, finger_task: TaskConfig, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = blocks("reading_a_bag", "python")
    (path,) = re.findall(r'read_bag\("([^"]+)"\)', code)
    metadata = {"clock": "lockstep", "seed": 7, "task": str(finger_task.path)}
    bag = SyntheticRun(metadata=metadata).write(tmp_path / "bag")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    exec(compile(code.replace(path, str(bag)), "reading_a_bag.md", "exec"), {})
    assert capsys.readouterr().out.split()[-1] == "True" and len(opened) == 1


def test_the_camera_of_the_tutorial_is_one_that_the_estimator_takes() -> None:
    (text,) = blocks("your_camera", "yaml")
    (node,) = parse_yaml(text, "your_camera.md").values()
    camera = CameraConfig(**node["ros__parameters"]["camera"])
    assert camera.source == "pose_with_covariance" and camera.position_m == (0.42, -0.10, 0.61)


def test_the_faults_of_the_tutorials_camera_are_parameters_of_the_plant() -> None:
    lines = [shlex.split(line) for block in blocks("your_camera", "") for line in block.splitlines()]
    given = [words[i + 1] for words in lines for i, word in enumerate(words) if word == "--set"]
    assert len(given) == 6
    loop = load_loop_config("allegro_ball", settings=given)
    assert (loop.sensors.pose_rate_hz, loop.sensors.pose_delay_s, loop.sensors.pose_outlier_share) == (10.0, 0.15, 0.02)
    assert not loop.estimator.contact_carry
