"""The loop in one process and the nodes over DDS send the same commands, bit for bit."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from patience import HANG_S

from contact_mpc.loop.closed_loop import run_closed_loop
from contact_mpc.loop.config import load_loop_config
from contact_mpc.settings.resources import resource
from contact_mpc.task.plan import load_plan
from contact_mpc.task.task import load_task

DURATION_S, HOLD_S, SEED = 0.4, 0.1, 5


@pytest.mark.end_to_end
@pytest.mark.drake
def test_commands_of_the_nodes_are_those_of_the_loop_in_one_process(tmp_path):
    pytest.importorskip("rclpy")
    from contact_mpc.bags.bag import read_run

    options = ["--duration-s", str(DURATION_S), "--hold-s", str(HOLD_S), "--seed", str(SEED), "--record", str(tmp_path)]
    command = [sys.executable, "-m", "contact_mpc", "run", "allegro_ball", "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert run.returncode in (0, 1), run.stderr  # 1: half a second is too short for the goal
    (folder,) = tmp_path.iterdir()
    sent = read_run(folder / "bag").effort_commands

    task = replace(load_task("allegro_ball"), duration_s=DURATION_S, hold_s=HOLD_S)
    plan = load_plan(folder / "plan.npz", task.system)
    result = run_closed_loop(task.system, task, plan, load_loop_config("allegro_ball"), seed=SEED)

    assert set(result.plan_status) == {"ok"}
    assert np.isin(result.t_ns, sent.t_ns).all()
    assert np.array_equal(sent.values[np.isin(sent.t_ns, result.t_ns)], result.commands)


@pytest.mark.end_to_end
@pytest.mark.drake
def test_perturbed_trial_through_the_nodes_has_the_commands_and_the_outcome_of_one_process(tmp_path):
    """`evaluate --through-nodes` says itself whether all bits agree; the outcome comes from the bag there."""
    pytest.importorskip("rclpy")
    text = resource("tasks", "planar_hand_ball").read_text()
    for key, value in (("duration_s", 0.3), ("hold_s", 0.1)):
        text = re.sub(rf"(?m)^{key}: .*$", f"{key}: {value}", text)
    (tmp_path / "short.yaml").write_text(text)

    def evaluate(*options):
        command = [sys.executable, "-m", "contact_mpc", "evaluate", str(tmp_path / "short.yaml")]
        command += ["--params", "planar_hand_ball", "--trial-seed", "8", "--json", *options]
        run = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
        assert run.returncode in (0, 1), run.stderr
        return json.loads(run.stdout)

    nodes, loop = evaluate("--through-nodes"), evaluate()
    assert nodes["commands_max_abs_diff"] == [0.0]
    (through,), (within,) = nodes["outcomes"], loop["outcomes"]
    for key in ("angle_error_deg", "position_error_mm"):  # the bag holds the true pose as a quaternion
        assert through.pop(key) == pytest.approx(within.pop(key), abs=1e-6)
    assert through == within
    assert (nodes["success_rate"], nodes["drops"]) == (loop["success_rate"], loop["drops"])
