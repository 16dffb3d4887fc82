"""``contact-mpc evaluate``: on a task of 0.1 s in which an object floats, offset by what a trial draws."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app

TASK = """
name: float
system: planar_hand_ball
start:
  joints_rad: {left_1: -0.8, left_2: -0.3, right_1: 0.8, right_2: 0.3}
  commands_rad: {left_1: -0.8, left_2: -0.3, right_1: 0.8, right_2: 0.3}
  object_position_m: [0.0, 0.0, 0.8]
goal: {rotation_axis: [1.0, 0.0, 0.0], rotation_deg: 0.0}
duration_s: 0.1
hold_s: 0.0
tolerance_deg: 2.0
tolerance_mm: 2.0
"""


@pytest.fixture
def task_file(tmp_path):
    path = tmp_path / "float.yaml"
    path.write_text(TASK)
    return path


def evaluate(task_file: Path, *options: str):
    arguments = ["evaluate", str(task_file), "--params", "planar_hand_ball", *options]
    return CliRunner().invoke(build_app(arguments), arguments)


def evaluate_json(task_file: Path, *options: str) -> dict:
    result = json.loads(evaluate(task_file, "--json", *options).stdout)
    del result["solve_ms"]  # wall time
    return result


def test_every_key_is_there_and_the_failures_are_those_beyond_the_tolerance(task_file):
    result = evaluate_json(task_file, "--trials", "6", "--seed", "2")
    assert (result["command"], result["trials"], result["seed"], result["plant"]) == ("evaluate", 6, 2, "drake")
    low, high = result["success_interval_95"]
    assert 0.0 <= low < result["success_rate"] < high <= 1.0
    assert result["drops"] == 0
    assert len(result["failures"]) == round(6 * (1.0 - result["success_rate"]))
    for failure in result["failures"]:
        _, y_mm, z_mm = failure["object_offset_mm"]
        assert (y_mm**2 + z_mm**2) ** 0.5 > 2.0
        assert "position error" in failure["reason"]


def test_number_of_jobs_does_not_change_the_outcome(task_file):
    one, two = (evaluate_json(task_file, "--trials", "4", "--jobs", jobs) for jobs in ("1", "2"))
    assert one == two


def test_failure_is_replayed_by_its_seed(task_file):
    failures = evaluate_json(task_file, "--trials", "6", "--seed", "2")["failures"]
    again = evaluate_json(task_file, "--trial-seed", str(failures[0]["seed"]))
    assert again["failures"] == failures[:1]
    assert (again["trials"], again["trial_seed"]) == (1, failures[0]["seed"])


@pytest.mark.parametrize(("scale", "code", "rate"), [("0", 0, "100.0 %"), ("4", 1, "0.0 %")])
def test_exit_code_says_whether_the_rate_was_reached(task_file, scale, code, rate):
    shown = evaluate(task_file, "--trials", "2", "--disturbance-scale", scale)
    assert shown.exit_code == code
    assert f"{rate} (95" in shown.stdout
    assert ("--trial-seed" in shown.stdout) == bool(code)


def test_mujoco_is_another_plant(task_file):
    result = evaluate_json(task_file, "--trials", "2", "--plant", "mujoco", "--disturbance-scale", "0")
    assert (result["plant"], result["success_rate"]) == ("mujoco", 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plant", "gazebo"], "allowed: drake, mujoco"),
        (["--plan", "absent.npz"], "absent.npz: no such plan file"),
        (["--params", "absent"], "no file 'absent'"),
    ],
)
def test_mistake_ends_in_one_line(task_file, options, message):
    shown = evaluate(task_file, *options)
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_interrupt_ends_the_workers_too(task_file):
    """Ctrl-C during an evaluation with workers: exit code 130, no traceback, no process left."""
    command = [sys.executable, "-m", "contact_mpc", "evaluate", str(task_file), "--params", "planar_hand_ball"]
    options = ["--trials", "100000", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, *options], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60.0
    while len(_members(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30.0)
    assert process.returncode == 130
    assert "Traceback" not in errors
    deadline = time.monotonic() + 10.0
    while _members(process.pid) and time.monotonic() < deadline:  # multiprocessing's tracker ends a moment later
        time.sleep(0.1)
    assert _members(process.pid) == []


def _members(group: int) -> list[int]:
    """Return the processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and os.getpgid(int(entry.name)) == group:
                found.append(int(entry.name))
        except ProcessLookupError:
            continue
    return found
