"""The tutorial of one's own arm: its five commands, as they stand there, end in a push that meets its goal."""

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAN = {"--trials": "1"}


def commands() -> list[list[str]]:
    text = (ROOT / "docs" / "tutorials" / "your_arm.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    found = [shlex.split(line, comments=True) for line in block.splitlines()]
    for words in found:
        for index, word in enumerate(words):
            if word in LEAN:
                words[index + 1] = LEAN[word]
    found[-1] += ["--disturbance-scale", "0"]
    return found


@pytest.mark.drake
def test_five_commands_lead_from_a_urdf_to_a_push(tmp_path: Path) -> None:
    try:
        distribution("example-robot-data")
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed: pip install example-robot-data brings the tutorial's arm")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert len(commands()) == 5
    for program, *words in commands():
        assert program == "contact-mpc"
        line = [sys.executable, "-m", "contact_mpc", *words]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert len((tmp_path / "mine" / "my_push.yaml").read_text().splitlines()) <= 20
