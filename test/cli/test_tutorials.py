"""The tutorials of one's own hand and arm: their five commands, as they stand there, end in a motion that is good."""

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Fewer samples and the nominal plant: whether the commands fit together, not how robust starts are.
LEAN = {"--samples": "60", "--trials": "1"}
NOMINAL = ["--disturbance-scale", "0"]


def commands(tutorial: str) -> list[list[str]]:
    text = (ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    found = [shlex.split(line, comments=True) for line in block.splitlines()]
    for words in found:
        for index, word in enumerate(words):
            if word in LEAN:
                words[index + 1] = LEAN[word]
    found[-1] += NOMINAL
    return found


def has_example_robots() -> bool:
    return any(item.name.replace("_", "-") == "example-robot-data" for item in distributions())


@pytest.mark.drake
@pytest.mark.parametrize(("tutorial", "task"), [("your_hand", "my_ball"), ("your_arm", "my_push")])
def test_five_commands_lead_from_a_robot_file_to_its_goal(tmp_path: Path, tutorial: str, task: str) -> None:
    lines = commands(tutorial)
    if any("example-robot-data" in word for word in lines[0]) and not has_example_robots():
        pytest.skip("example-robot-data is not installed: pip install example-robot-data brings the tutorial's arm")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert len(lines) == 5
    for program, *words in lines:
        assert program == "contact-mpc"
        line = [sys.executable, "-m", "contact_mpc", *words]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert len((tmp_path / "mine" / f"{task}.yaml").read_text().splitlines()) <= 20
