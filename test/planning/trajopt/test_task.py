"""Trajectory optimisation: both tasks reach their goals in the model, and plans are what the model does."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.errors import ConfigError
from contact_mpc.planning.trajopt.task import TrajoptConfig, TrajoptResult, plan_task
from contact_mpc.task.plan import load_plan, save_plan
from contact_mpc.task.task import TaskConfig, load_task


@functools.cache
def planned(name: str) -> TrajoptResult:
    return plan_task(load_task(name))


@pytest.fixture(params=["allegro_ball", "planar_hand_ball"])
def each_task(request: pytest.FixtureRequest) -> TaskConfig:
    """Return the shipped task, from its own start."""
    return load_task(request.param)


@pytest.fixture
def result(each_task: TaskConfig) -> TrajoptResult:
    return planned(each_task.name)


def test_object_reaches_the_goal_in_the_model(each_task: TaskConfig, result: TrajoptResult) -> None:
    R, p = each_task.system.object_pose(result.plan.q[-1])
    R_goal, p_goal = each_task.goal_pose()
    angle_deg = np.rad2deg(np.arccos(np.clip((np.trace(R @ R_goal.T) - 1.0) / 2.0, -1.0, 1.0)))
    assert angle_deg < 1.0 and 1e3 * np.linalg.norm(p - p_goal) < 1.0
    assert result.angle_error_deg == pytest.approx(angle_deg, abs=1e-5)
    assert result.position_error_mm == pytest.approx(1e3 * np.linalg.norm(p - p_goal), abs=1e-6)


def test_configurations_and_impulses_are_the_roll_out_of_the_commands(
    each_task: TaskConfig, result: TrajoptResult
) -> None:
    plan, config = result.plan, TrajoptConfig(**each_task.planner)
    dynamics = ContactDynamics(
        each_task.system, h_s=config.h_s, kappa=config.kappa_per_j, friction=config.friction, tolerance=1e-16
    )
    q = each_task.start_q
    np.testing.assert_array_equal(plan.q[0], q)
    for k in range(1, len(plan.times_s)):
        step = dynamics.step(q, plan.u[k])
        q = step.q_next
        np.testing.assert_allclose(plan.q[k], q, atol=1e-5)  # both to the Newton tolerance, over 30 steps
        np.testing.assert_allclose(plan.contact_impulses[k], step.impulses, atol=1e-4)


def test_commands_keep_limits_and_velocities(each_task: TaskConfig, result: TrajoptResult) -> None:
    system, plan = each_task.system, result.plan
    assert np.all((plan.u >= system.q_min) & (plan.u <= system.q_max))
    assert np.all(np.abs(np.diff(plan.u, axis=0)) <= system.v_max * np.diff(plan.times_s)[:, None] + 1e-12)
    np.testing.assert_array_equal(plan.u[0], each_task.start_u)
    assert plan.times_s[-1] == pytest.approx(each_task.duration_s)


def test_optimisation_lowers_the_cost_of_its_start(each_task: TaskConfig) -> None:
    costs = planned(each_task.name).costs
    assert np.nanmin(costs) < costs[0]


def test_plan_names_its_origin_and_survives_its_file(each_task: TaskConfig, result: TrajoptResult, tmp_path) -> None:
    save_plan(tmp_path / "plan.npz", result.plan)
    loaded = load_plan(tmp_path / "plan.npz", each_task.system)
    np.testing.assert_array_equal(loaded.u, result.plan.u)
    assert loaded.provenance["task"] == each_task.name
    assert loaded.provenance["parameters"]["minimum_force_n"] == each_task.planner["minimum_force_n"]


def test_same_task_gives_the_same_plan(each_task: TaskConfig, result: TrajoptResult) -> None:
    short = {"iterations": 2}
    first, second = plan_task(each_task, short), plan_task(each_task, short)
    np.testing.assert_array_equal(first.plan.u, second.plan.u)
    assert len(first.costs) <= 2 and result.is_feasible


def test_a_horizon_that_no_memory_holds_is_refused() -> None:
    """599 s took 9.5 GB."""
    with pytest.raises(ConfigError, match="599 in steps of planner.h_s = 0.1 s are 5990 steps; .* at most 2282"):
        plan_task(replace(load_task("planar_hand_ball"), duration_s=599.0))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"iteratons": 5}, "unknown key 'iteratons' .did you mean 'iterations'"),
        ({"iterations": 0}, "iterations.*greater than or equal to 1"),
        ({"initialisation": "warm"}, "'rolling', 'carried' or 'constant'"),
        ({"friction": float("nan")}, "friction.*finite"),
    ],
)
def test_wrong_planner_parameter_is_named_with_the_task_file(overrides: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=rf"planar_hand_ball\.yaml: planner: .*{words}"):
        plan_task(load_task("planar_hand_ball"), overrides)
