"""``contact-mpc bench mpc``: what is measured, how samples are taken, and what the figures say. No time is asserted."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from contact_mpc.cli.bench.dynamics.bench_mpc import PEER, SETTING, build_calls, make_result, measure
from contact_mpc.cli.bench.dynamics.mpc_workload import FD_STEP, STATES, make_iteration, settle
from contact_mpc.cli.main import build_app
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.errors import StackError
from contact_mpc.planning.trajopt.task import plan_task
from contact_mpc.task.task import load_task


@pytest.fixture(scope="module")
def task():
    return load_task("allegro_ball")


@pytest.fixture(scope="module")
def plan(task):
    return plan_task(task).plan


@pytest.fixture(scope="module")
def plant(task):
    return settle(task)


def test_calls_are_taken_in_rotating_order_and_warm_up_is_left_out():
    order: list[str] = []
    calls = {name: lambda sample, name=name: order.append(name) for name in ("a", "b", "c")}
    times_ms = measure(calls, samples=10)
    assert {len(values) for values in times_ms.values()} == {10}
    turns = [tuple(order[i : i + 3]) for i in range(0, len(order), 3)]
    assert all(set(turn) == {"a", "b", "c"} for turn in turns)
    assert {turn[0] for turn in turns} == {"a", "b", "c"}


@pytest.mark.parametrize(("peer_ms", "ratio", "goal_met"), [(1.0, 0.5, True), (0.9, 0.45, False)])
def test_ratio_is_peer_over_ours_and_the_goal_is_two_calls(peer_ms, ratio, goal_met):
    times_ms = {"1": [0.1], "10": [2.0, 2.0, 9.0], "20": [4.0], SETTING: [0.4], PEER: [peer_ms] * 3}
    result = make_result("t", 0, 3, times_ms)
    assert result["ratio_mjd_transition_fd_t10"] == pytest.approx(ratio)
    assert result["goal_met"] is goal_met
    assert result["mpc_iteration_ms"]["10"]["max"] == 9.0


def test_benchmark_state_is_a_grasp_with_three_or_more_contacts(plant):
    assert len(plant.state().contacts) >= 3
    assert np.abs(plant.state().v).max() < 0.1


def test_states_differ_from_sample_to_sample_so_that_no_warm_start_is_the_solution(plant, task, plan):
    prepare, _, mpc = make_iteration(task, plan, TrackerConfig(horizon_steps=1), plant.state().q, seed=0)
    seen = []
    for sample in range(STATES):
        prepare(sample)
        seen.append(mpc.horizon.q[0].copy())
    assert len(np.unique(np.array(seen), axis=0)) == STATES


def test_peer_linearises_the_plant_itself(plant, task):
    """The actuated copy continues as the plant does, and its A is that of finite differences of its own step."""
    import mujoco

    model, data = plant.actuated_copy()
    assert (model.nv, model.nu) == (task.system.n_v, task.system.n_a)
    data.ctrl[:] = task.start_u
    mujoco.mj_forward(model, data)
    assert data.ncon >= 3
    A, B = np.zeros((2 * model.nv, 2 * model.nv)), np.zeros((2 * model.nv, model.nu))
    mujoco.mjd_transitionFD(model, data, FD_STEP, False, A, B, None, None)
    kp = np.array([model.actuator_gainprm[i, 0] for i in range(model.nu)])
    assert kp == pytest.approx(task.system.kp)
    assert np.abs(B).max() > 0.0
    assert np.linalg.matrix_rank(A) > model.nv


def test_iterations_turn_the_ball_of_the_model_along_the_plan(plant, task, plan):
    """At the end of the horizon the rolled-out ball is nearer to the reference than the ball that does not move."""
    prepare, iterate, mpc = make_iteration(task, plan, TrackerConfig(), plant.state().q, seed=0)
    prepare(0)
    iterate(0)
    assert mpc.improve()
    system, (goal, end) = task.system, (mpc.horizon.q_ref[-1], mpc.horizon.q[-1])
    distance = [np.linalg.norm(system.difference(q, goal)[:3]) for q in (end, plant.state().q)]
    assert distance[0] < 0.2 * distance[1]


def test_task_without_contact_is_refused(task):
    from dataclasses import replace

    q = task.start_q.copy()
    q[6] += 1.0
    with pytest.raises(StackError, match="no contact"):
        settle(replace(task, start_q=q))


def test_all_calls_are_in_the_run(task):
    calls, preparations = build_calls(task, 0)
    assert list(calls) == ["1", "10", "20", SETTING, PEER]
    assert list(preparations) == ["1", "10", "20"]


def test_json_carries_the_agreed_keys():
    arguments = ["bench", "mpc", "--json", "--samples", "300"]
    shown = CliRunner().invoke(build_app(arguments), arguments)
    result = json.loads(shown.stdout)
    assert shown.exit_code == (0 if result["goal_met"] else 1)
    assert set(result["mpc_iteration_ms"]) == {"1", "10", "20"}
    for figures in (*result["mpc_iteration_ms"].values(), result["mjd_transition_fd_ms"]):
        assert set(figures) == {"median", "p90", "p99", "max"}
    ratio = result["mjd_transition_fd_ms"]["median"] / result["mpc_iteration_ms"]["10"]["median"]
    assert result["ratio_mjd_transition_fd_t10"] == pytest.approx(ratio)
