"""`contact-mpc show`: a summary and a page of a system or a task, with or without objects."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.cli.main import main
from contact_mpc.cli.show import is_task
from contact_mpc.errors import ConfigError
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.robot import import_robot
from contact_mpc.settings.resources import share_directory


def show(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict:
    with pytest.raises(SystemExit) as ended:
        main(["show", *arguments, "--json"])
    assert ended.value.code == 0
    return json.loads(capfd.readouterr().out)


def scene_of(page: Path) -> dict:
    found = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])["scene"]


def test_task_has_layout_gaps_and_a_page(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = show(capfd, "allegro_cube", "--report", str(tmp_path))
    assert result["layout"]["q[0:7]"] == "cube: qw qx qy qz px py pz"
    tips = {name: gap for name, gap in result["gaps_mm"].items() if name.endswith("_tip")}
    assert len(tips) == 4
    assert all(abs(gap) < 1.0 for gap in tips.values())
    scene = scene_of(Path(result["report"]))
    frames = np.frombuffer(base64.b64decode(scene["frames"]), dtype=np.float32)
    assert np.all(np.isfinite(frames)) and len(scene["times"]) > 1


def test_robot_by_itself_can_be_looked_at(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    urdf = share_directory() / "urdf" / "planar_hand.urdf"
    found = import_robot(str(urdf), "hand", tmp_path, JointOptions())
    result = show(capfd, str(found.system_file), "--report", str(tmp_path))
    assert result["pairs"] == 0 and result["gaps_mm"] == {}
    assert Path(result["report"]).stat().st_size > 10_000


def test_name_that_is_neither_is_refused() -> None:
    assert is_task("allegro_ball") and not is_task("iiwa_box")
    with pytest.raises(ConfigError, match="no such file, task or system; known: allegro_ball"):
        is_task("alegro_ball")
