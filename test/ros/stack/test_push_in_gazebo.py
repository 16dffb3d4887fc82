"""The ANYpulator pushes the block in Gazebo (ODE) through the nodes: lock-step at 1 kHz, over the topics at 500 Hz."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("casadi")
pytest.importorskip("rosbags")

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.metrics import lateness_ms
from contact_mpc.errors import ConfigError
from contact_mpc.plants.gazebo.server import find_root

pytestmark = [pytest.mark.dds, pytest.mark.end_to_end, pytest.mark.gazebo]

DISPLACEMENT_M = 0.7
LARGEST_ERROR_MM = 60.0  # asked of a push that is not planned again; 17 mm were measured in lock-step
LARGEST_LATENESS_MS = 8.0  # of a command: 3 to 6 ms on a quiet machine; 10 ms late, a hit is 5 % too fast
AT_500_HZ = (
    "--clock", "realtime", "--set", "plant.rate_hz=500", "--set", "command_bridge.rate_hz=500",
    "--set", "command_bridge.state_lag_s=1.0",  # a simulator that falls behind the wall is no late driver
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _gazebo() -> None:
    try:
        find_root()
    except ConfigError as error:
        pytest.skip(str(error))


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "contact_mpc", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("plan") / "plan.npz"
    done = call("plan", "anypulator_block", "--displacement", str(DISPLACEMENT_M), "--out", str(file))
    assert done.returncode == 0, done.stderr
    return file


def push(plan: Path, folder: Path, *options: str) -> dict[str, Any]:
    """Return what `run` says of a push in Gazebo."""
    what = ("anypulator_block", "--plant", "gazebo", "--displacement", str(DISPLACEMENT_M), "--plan", str(plan))
    done = call("run", *what, "--record", str(folder), "--json", *options)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_the_block_is_pushed_to_its_goal_in_lockstep(plan: Path, tmp_path: Path) -> None:
    result = push(plan, tmp_path)
    assert result["completed"] and result["limit_violations"] == 0
    assert result["position_error_mm"] < LARGEST_ERROR_MM


def test_the_block_is_pushed_to_its_goal_through_the_topics_at_500_hz(plan: Path, tmp_path: Path) -> None:
    result = push(plan, tmp_path, *AT_500_HZ)
    late_ms = float(lateness_ms(read_run(Path(result["bag"]))).max())
    if late_ms > LARGEST_LATENESS_MS:
        pytest.skip(f"THIS MACHINE IS TOO BUSY TO RUN GAZEBO IN REAL TIME: commands come {late_ms:.0f} ms late")
    assert result["completed"] and result["limit_violations"] == 0
    assert result["position_error_mm"] < LARGEST_ERROR_MM
