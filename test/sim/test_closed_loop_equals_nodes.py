"""The loop in one process and the nodes over DDS send the same commands, bit for bit."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.model.plan import load_plan
from contact_mpc.model.task import load_task
from contact_mpc.sim.closed_loop import run_closed_loop
from contact_mpc.sim.loop_config import load_loop_config

DURATION_S, HOLD_S, SEED = 0.4, 0.1, 5


@pytest.mark.end_to_end
@pytest.mark.drake
def test_commands_of_the_nodes_are_those_of_the_loop_in_one_process(tmp_path):
    pytest.importorskip("rclpy")
    from contact_mpc.replay.bag import read_run

    options = ["--duration-s", str(DURATION_S), "--hold-s", str(HOLD_S), "--seed", str(SEED), "--record", str(tmp_path)]
    command = [sys.executable, "-m", "contact_mpc", "run", "allegro_ball", "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert run.returncode in (0, 1), run.stderr  # 1: half a second is too short for the goal
    (folder,) = tmp_path.iterdir()
    sent = read_run(folder / "bag").effort_commands

    task = replace(load_task("allegro_ball"), duration_s=DURATION_S, hold_s=HOLD_S)
    plan = load_plan(folder / "plan.npz", task.system)
    result = run_closed_loop(task.system, task, plan, load_loop_config("allegro_ball"), seed=SEED)

    assert set(result.plan_status) == {"ok"}
    assert np.isin(result.t_ns, sent.t_ns).all()
    assert np.array_equal(sent.values[np.isin(sent.t_ns, result.t_ns)], result.commands)
