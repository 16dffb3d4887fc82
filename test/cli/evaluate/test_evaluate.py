"""``contact-mpc evaluate``: on a task of 0.1 s in which an object floats, offset by what a trial draws."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from patience import HANG_S
from typer.testing import CliRunner

from contact_mpc.cli.evaluate.trials import run_trials
from contact_mpc.cli.main import build_app
from contact_mpc.evaluation.cases import make_cases
from contact_mpc.evaluation.trial_run import EvaluationSpec
from contact_mpc.evaluation.trials import Disturbance
from contact_mpc.loop.config import load_loop_config
from contact_mpc.task.task import load_task

TASK = """
name: float
system: planar_hand_ball
start:
  joints_rad: {left_1: -0.8, left_2: -0.3, right_1: 0.8, right_2: 0.3}
  commands_rad: {left_1: -0.8, left_2: -0.3, right_1: 0.8, right_2: 0.3}
  object_position_m: [0.0, 0.0, 0.8]
goal: {rotation_axis: [1.0, 0.0, 0.0], rotation_deg: 0.0, rotation_axes: [+x, -x]}
duration_s: 0.1
hold_s: 0.0
tolerance_deg: 2.0
tolerance_mm: 2.0
planner: {initialisation: constant}   # of fingers that hold nothing
"""


@pytest.fixture(scope="module")
def task_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("task") / "float.yaml"
    path.write_text(TASK)
    return path


@pytest.fixture(scope="module")
def six_trials(task_file):
    return evaluate_json(task_file, "--trials", "6", "--seed", "5")


def evaluate(task_file: Path, *options: str):
    arguments = ["evaluate", str(task_file), "--params", "planar_hand_ball", *options]
    return CliRunner(env={"COLUMNS": "240"}).invoke(build_app(arguments), arguments)


def evaluate_json(task_file: Path, *options: str) -> dict:
    result = json.loads(evaluate(task_file, "--json", *options).stdout)
    del result["solve_ms"], result["solve_cpu_ms"]
    return result


def test_every_key_is_there_and_the_failures_are_those_beyond_the_tolerance(six_trials):
    result = six_trials
    assert (result["command"], result["trials"], result["seed"], result["plant"]) == ("evaluate", 6, 5, "drake")
    low, high = result["success_interval_95"]
    assert 0.0 <= low < result["success_rate"] < high <= 1.0
    assert result["drops"] == 0
    assert len(result["failures"]) == round(6 * (1.0 - result["success_rate"]))
    for failure in result["failures"]:
        _, y_mm, z_mm = failure["object_offset_mm"]
        assert (y_mm**2 + z_mm**2) ** 0.5 > 2.0
        assert "position error" in failure["reason"]


def test_a_start_that_holds_nothing_is_refused(tmp_path):
    task_file = tmp_path / "float.yaml"
    task_file.write_text(TASK.replace("planner: {initialisation: constant}", "planner: {}"))
    refused = evaluate(task_file, "--trials", "1")
    assert refused.exit_code == 2 or "does not hold the object" in str(refused.exception)


def test_number_of_jobs_does_not_change_the_outcome(task_file):
    one, two = (evaluate_json(task_file, "--trials", "4", "--jobs", jobs) for jobs in ("1", "2"))
    assert one == two


def test_failure_is_replayed_by_its_seed(task_file, six_trials):
    failures = six_trials["failures"]
    again = evaluate_json(task_file, "--trial-seed", str(failures[0]["seed"]))
    assert again["failures"] == failures[:1]
    assert (again["trials"], again["trial_seed"]) == (1, failures[0]["seed"])
    assert failures[0]["command"] == (
        f"contact-mpc evaluate {task_file} --params planar_hand_ball --trial-seed {failures[0]['seed']}"
    )


def test_axes_take_turns_and_one_can_be_chosen(task_file):
    both = evaluate_json(task_file, "--trials", "4", "--seed", "5")
    assert {axis: group["trials"] for axis, group in both["by_axis"].items()} == {"+x": 2, "-x": 2}
    one = evaluate_json(task_file, "--trials", "2", "--seed", "5", "--axis", "-x")
    assert (one["axes"], list(one["by_axis"])) == (["-x"], ["-x"])


def test_reference_that_misses_the_goal_is_said(tmp_path):
    """Turned far enough, the floating object cannot be moved: the plan itself ends at the start."""
    task_file = tmp_path / "float.yaml"
    task_file.write_text(TASK.replace("rotation_deg: 0.0", "rotation_deg: 30.0"))
    arguments = ("--trials", "1", "--seed", "5", "--axis", "+x", "--disturbance-scale", "0")
    (planned,) = evaluate_json(task_file, *arguments)["planned_errors"]
    assert planned["angle_error_deg"] == pytest.approx(30.0, abs=0.1)
    assert "30.0 deg, 0.0 mm from the goal: no tracking can meet it" in evaluate(task_file, *arguments).stdout


def test_looser_level_is_met_by_every_trial_within_5_mm(six_trials):
    """The offset is 3 mm: beyond the tolerance of 2 mm in most directions, within the 5 mm of the looser level."""
    result = six_trials
    assert (result["loose_tolerance_mm"], result["loose_tolerance_deg"]) == (5.0, 5.0)
    assert result["loose_success_rate"] == 1.0 > result["success_rate"]


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
        (["--plant", "bullet"], "allowed: drake, mujoco"),
        (["--plan", "absent.npz", "--axis", "+x"], "absent.npz: no such plan file"),
        (["--params", "absent"], "no file 'absent'"),
        (["--axis", "up"], "axis 'up' is unknown; allowed: +x, -x"),
        (["--plan", "one.npz"], "choose its --axis"),
        (["--jobs", "2", "--backend", "slurm"], "allowed: loky, dask, ray"),
    ],
)
def test_mistake_ends_in_one_line(task_file, options, message):
    shown = evaluate(task_file, *options)
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_interrupt_keeps_the_trials_that_are_done(task_file):
    task = load_task(task_file)
    spec = EvaluationSpec(make_cases(task), load_loop_config("planar_hand_ball"), Disturbance())

    def interrupt(index, outcome):
        if index == 1:
            raise KeyboardInterrupt

    campaign = run_trials([(spec, seed) for seed in range(5)], 1, "trials", on_outcome=interrupt)
    assert campaign.is_interrupted
    assert [outcome.seed for outcome in campaign.outcomes] == [0, 1]


def test_interrupt_ends_the_workers_too(task_file):
    """Ctrl-C during an evaluation with workers: exit code 130, no traceback, no process left."""
    command = [sys.executable, "-m", "contact_mpc", "evaluate", str(task_file), "--params", "planar_hand_ball"]
    options = ["--trials", "100000", "--jobs", "2", "--json"]
    process = subprocess.Popen(
        [*command, *options], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    )  # fmt: skip
    deadline = time.monotonic() + HANG_S
    while len(_members(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(5.0)
    os.killpg(process.pid, signal.SIGINT)
    try:
        output, errors = process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 130
    assert "Traceback" not in errors
    if output:  # else no trial was done yet
        assert json.loads(output)["interrupted"]
    deadline = time.monotonic() + HANG_S
    while _members(process.pid) and time.monotonic() < deadline:  # joblib's tracker ends a moment later
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


def test_page_shows_every_trial_and_failure(task_file, tmp_path):
    result = evaluate_json(task_file, "--trials", "4", "--seed", "5", "--report", str(tmp_path / "page"))
    page = Path(result["report"]).read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])["figures"]
    assert {"by_axis", "errors", "by_friction", "by_offset_x_mm"} <= set(data)
    assert sum(len(trace["x"]) for trace in data["errors"]["data"]) == 4 == len(result["outcomes"])
    assert all(trial["command"] in page for trial in (*result["failures"], *result["outcomes"]))
    assert f'<p class="verdict {"met" if result["goal_met"] else "missed"}">' in page
    assert all(f"<h2>{title}</h2>" in page for title in ("Rates", "Trials, the worst first", "Provenance"))


def test_page_plays_the_worst_trial_and_says_how_to_repeat_it_all(task_file, tmp_path):
    result = evaluate_json(task_file, "--trials", "3", "--seed", "5", "--report", str(tmp_path / "page"))
    page, worst = Path(result["report"]).read_text(), result["worst"]
    assert worst["goal_met"] == (not result["failures"])
    assert f"<h2>Worst trial: seed {worst['seed']}, goal {'met' if worst['goal_met'] else 'missed'}</h2>" in page
    scene = json.loads(page.split('id="data">')[1].split("</script>")[0])["scene"]
    assert len(scene["times"]) > 2 and scene["times"][-1] > 0.0
    assert f"contact-mpc evaluate {task_file}" in page and "<td>processor</td>" in page
