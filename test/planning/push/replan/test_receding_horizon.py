"""Solving again from a measured state: warm, pure, and with a status where nothing can be done."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.replan.receding_horizon import (
    RecedingHorizon,
    ReplanStatus,
    measured_instance,
    start_receding_horizon,
)
from contact_mpc.planning.push.result import ContactImplicitResult
from contact_mpc.planning.push.task import build_instance, read_settings
from contact_mpc.task.task import load_task

FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@pytest.fixture
def horizon(planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult) -> RecedingHorizon:
    return start_receding_horizon(planner, instance, result)


def measured(horizon: RecedingHorizon, k: int) -> tuple[float, FloatArray, FloatArray]:
    """Return time and state of the plan at stage k as a sensor would see them, half a step behind."""
    model, x = horizon.planner.model, horizon.solution.x[k]
    now = x[:8] - 0.5 * model.dt_s * x[8:]
    q = np.concatenate([model.thing.q_u(now[5:], horizon.instance.q_u, horizon.instance.heading_rad), now[:5]])
    return k * model.dt_s, q, np.concatenate([x[13:15], [0.0, 0.0], x[8:13]])


def test_the_undisturbed_state_gives_the_same_hit_again(horizon: RecedingHorizon) -> None:
    model, k = horizon.planner.model, 4
    outcome = horizon.replan(*measured(horizon, k))
    assert outcome.status is ReplanStatus.REPLANNED and outcome.plan is not None
    ours, theirs = outcome.horizon.solution, horizon.solution
    np.testing.assert_array_equal(ours.modes.contact[:-k], theirs.modes.contact[k:])
    # the impulse that carries the block to its goal depends on the goal alone
    assert ours.u[:, model.n_r].sum() == pytest.approx(theirs.u[:, model.n_r].sum(), rel=1e-6)
    np.testing.assert_allclose(outcome.plan.u[0], measured(horizon, k)[1][4:], atol=1e-9)


def test_a_displaced_block_is_still_pushed_to_the_goal(horizon: RecedingHorizon) -> None:
    t_s, q, v = measured(horizon, 3)
    q[1] += 0.01  # 1 cm back, against the push along -y
    outcome = horizon.replan(t_s, q, v)
    assert outcome.status is ReplanStatus.REPLANNED and outcome.plan is not None
    goal = horizon.solution.x[-1, 6]
    assert outcome.plan.q[-1, 1] == pytest.approx(goal, abs=1e-7)
    assert outcome.result is not None and outcome.result.residuals is not None
    assert outcome.result.residuals.largest <= horizon.planner.model.settings.tolerance


def test_a_hit_beside_the_central_line_leaves_the_block_where_it_is(horizon: RecedingHorizon) -> None:
    t_s, q, v = measured(horizon, 3)
    q[3] += 0.02
    aim_m = 0.012
    outcome = replace(horizon, instance=replace(horizon.instance, aim_m=aim_m)).replan(t_s, q, v)
    assert outcome.plan is not None
    np.testing.assert_allclose(outcome.plan.q[0, :2], q[:2], atol=1e-9)
    (k,) = np.flatnonzero(outcome.horizon.solution.modes.contact)
    head, _ = horizon.planner.geometry.head(outcome.horizon.solution.x[k, :5])
    across = np.array([-np.sin(q[3]), np.cos(q[3])])
    assert float(across @ (head[:2] - outcome.plan.q[2 * k, :2])) == pytest.approx(aim_m, abs=1e-6)


def test_replanning_changes_nothing_and_repeats(horizon: RecedingHorizon) -> None:
    state = measured(horizon, 5)
    first, second = horizon.replan(*state), horizon.replan(*state)
    assert first.plan is not None and second.plan is not None
    np.testing.assert_array_equal(first.plan.tau_ff, second.plan.tau_ff)
    assert first.horizon is not horizon and horizon.t_s == 0.0


def test_what_no_push_can_mend_has_a_status_and_no_plan(horizon: RecedingHorizon) -> None:
    hit = int(np.flatnonzero(horizon.solution.modes.contact)[-1])
    due = horizon.replan(*measured(horizon, hit))
    coasting = horizon.replan(*measured(horizon, hit + 4))
    t_s, q, v = measured(horizon, hit + 4)
    v[1] *= 1.3
    beyond = horizon.replan(t_s, q, v)
    assert due.status is ReplanStatus.HIT_DUE
    assert coasting.status in (ReplanStatus.COASTING, ReplanStatus.OVERSHOOT)
    assert abs(coasting.stops_at_m) < 0.01
    assert beyond.status is ReplanStatus.OVERSHOOT and beyond.stops_at_m > 0.05
    assert all(outcome.plan is None for outcome in (due, beyond))


def test_an_arm_that_comes_folded_from_a_push_finds_another(horizon: RecedingHorizon) -> None:
    """Joints and block as after a push by 0.7 m; led past its base, the head ends in postures that reach nothing."""
    q = np.array([0.505, -0.469, 0.0, -1.576, 2.179, 0.143, 2.783, 1.082, 1.238])
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.003, -0.278, 0.027, 0.584, -0.178])
    for goal in (0.584, 0.479):  # 11.5 cm and 1 cm
        outcome = horizon.push_again(1.154, q, v, goal, -1.576)
        assert outcome.status is ReplanStatus.REPLANNED and outcome.plan is not None
        d = direction(horizon.planner.model, -1.576)
        assert float(d[:2] @ outcome.plan.q[-1, :2]) == pytest.approx(goal, abs=1e-6)


def test_noise_at_the_end_of_a_joint_is_no_invalid_state(horizon: RecedingHorizon) -> None:
    t_s, q, v = measured(horizon, 3)
    q[6] = horizon.planner.model.system.q_max[2] + 1e-4
    v[6] = 0.0
    now = measured_instance(horizon.planner, horizon.instance, q, v)
    assert now.x_0[2] == horizon.planner.model.system.q_max[2]


@pytest.mark.parametrize("name", ["anypulator_ball", "anypulator_door"])
def test_what_nothing_stops_still_passes_its_goal_when_the_first_plan_said(name: str) -> None:
    task = load_task(name)
    planner = ContactImplicitPlanner(task.system, read_settings(task))
    instance = build_instance(task, planner, None, None)
    horizon, k = start_receding_horizon(planner, instance, planner.plan(instance)), 4
    model, x = planner.model, horizon.solution.x[k]
    n, o = model.n_r, model.n_o
    q = np.concatenate([instance.q_u, x[:n] - 0.5 * model.dt_s * x[n + o : 2 * n + o]])
    v = np.concatenate([np.zeros(task.system.n_v_u), x[n + o : 2 * n + o]])
    outcome = horizon.replan(k * model.dt_s, q, v)
    assert outcome.status is ReplanStatus.REPLANNED
    w = outcome.horizon.solution.x[:, n : n + o]
    d = direction(model, instance.heading_rad)
    assert float(d @ w[-1 - k]) == pytest.approx(instance.goal, abs=1e-6)
