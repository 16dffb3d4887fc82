"""One iteration over a horizon: sensitivities, cost, bounds, and the one-step controller of the talk as T = 1."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.model.system import System
from contact_mpc.optimisation.horizon import CommandLimits, Horizon, Weights, improve, make_horizon, roll_out
from contact_mpc.optimisation.load_cost import LoadCost
from contact_mpc.task.task import TaskConfig

KAPPA, TOLERANCE = 1e4, 1e-18
WIDE = 1e3


def constant(system: System, value: float) -> np.ndarray:
    return np.full(system.n_a, value)


def bounds(system: System, limit: float = WIDE, trust: float = WIDE, first: float = WIDE) -> CommandLimits:
    return CommandLimits(*(constant(system, value) for value in (-limit, limit, trust, first, -np.inf, np.inf)))


def weights(system: System, R: float = 10.0, V: float = 0.0, Q: float = 100.0) -> Weights:
    object_ = np.full(system.n_v_u, Q)
    no_load = LoadCost(constant(system, np.inf), 0.0)
    return Weights(object_, 2.0 * object_, constant(system, R), constant(system, V), no_load)


def problem(task: TaskConfig, T: int) -> tuple[Model, Horizon]:
    """A horizon from the task's start that shall turn the object by a quarter of the task."""
    system = task.system
    model = build_model(system)
    hz = make_horizon(model, system.n_q, T)
    hz.q[0], hz.u[:], hz.u_ref[:], hz.u_before[:] = task.start_q, task.start_u, task.start_u, task.start_u
    goal = task.start_q.copy()
    goal[: system.n_q_u] = system.q_from_object_pose(*task.goal_pose(0.25), goal)
    hz.q_ref[:] = goal
    return model, hz


def root_weights(w: Weights, k: int, T: int) -> np.ndarray:
    """Return sqrt(W_e) of the error e_{k+1}, (n_v_u,)."""
    return np.sqrt(w.W_T if k == T - 1 else w.W_e)


def tangent_error(system: System, hz: Horizon, k: int) -> np.ndarray:
    return system.difference(hz.q_ref[k], hz.q[k])[: system.n_v_u]


def cost(system: System, hz: Horizon, w: Weights) -> float:
    T = len(hz.u)
    tracking = sum((w.W_T if k == T else w.W_e) @ tangent_error(system, hz, k) ** 2 for k in range(1, T + 1))
    rates = np.diff(hz.u, axis=0, prepend=hz.u_before[None])
    return float(tracking + np.sum(w.W_u * (hz.u - hz.u_ref) ** 2) + np.sum(w.W_du * rates**2))


def test_sensitivities_are_the_derivatives_of_the_roll_out(each_task: TaskConfig, check_jacobian: Callable) -> None:
    system, T = each_task.system, 3
    model, hz = problem(each_task, T)
    w = weights(system)
    assert improve(model, hz, w, bounds(system, trust=0.0), KAPPA, TOLERANCE)  # du = 0
    M, nominal, u = hz.H.M.reshape(T, system.n_v_u, -1), hz.q.copy(), hz.u.copy()
    S = np.array([M[k] / root_weights(w, k, T)[:, None] for k in range(T)])

    def objects(x: np.ndarray) -> np.ndarray:
        hz.u[:], hz.dq[:] = u + x.reshape(u.shape), 0.0
        assert roll_out(model, hz, KAPPA, TOLERANCE, False)
        return np.array([system.difference(nominal[k + 1], hz.q[k + 1])[: system.n_v_u] for k in range(T)])

    # S is to first order in e; measured here about the nominal itself, where that order is exact.
    check_jacobian(S, objects, tolerance=1e-5, step=1e-5)


def test_roll_out_is_the_steps_one_after_the_other(each_task: TaskConfig) -> None:
    system = each_task.system
    model, hz = problem(each_task, 4)
    hz.u[:] += 0.01 * np.random.default_rng(0).normal(size=hz.u.shape)
    assert roll_out(model, hz, KAPPA, TOLERANCE, False)
    dynamics, q = ContactDynamics(system, kappa=KAPPA, tolerance=TOLERANCE), each_task.start_q
    for k, u in enumerate(hz.u):
        result = dynamics.step(q, u)
        q = result.q_next
        np.testing.assert_allclose(hz.q[k + 1], q, atol=1e-8)
        impulses = system.config.h_s * hz.force[k] * model.pairs.sign[:, None]
        np.testing.assert_allclose(impulses, result.impulses, atol=1e-6)


def test_one_step_without_rate_cost_is_the_least_squares_controller(each_task: TaskConfig) -> None:
    """seeds/003, "Controller": min |e + B_u du|^2_Q + |u + du - u_ref|^2_R, by numpy's lstsq."""
    system = each_task.system
    model, hz = problem(each_task, 1)
    hz.u[:] += 0.01
    w, u = weights(system), hz.u[0].copy()
    linear = ContactDynamics(system, kappa=KAPPA, tolerance=TOLERANCE).linearize(each_task.start_q, u)
    error = system.difference(hz.q_ref[1], linear.step.q_next)[: system.n_v_u]
    root_e, root_u = np.sqrt(w.W_T), np.sqrt(w.W_u)
    rows = np.vstack([root_e[:, None] * linear.B[: system.n_v_u], np.diag(root_u)])
    right = np.concatenate([-root_e * error, -root_u * (u - hz.u_ref[0])])
    expected = u + np.linalg.lstsq(rows, right, rcond=None)[0]
    assert improve(model, hz, w, bounds(system), KAPPA, TOLERANCE)
    np.testing.assert_allclose(hz.u[0], expected, atol=1e-9)
    assert np.abs(hz.u[0] - u).max() > 1e-4


@pytest.mark.parametrize("rate_weight", [0.0, 30.0])
def test_solution_minimises_the_linearised_cost(rate_weight: float, each_task: TaskConfig) -> None:
    """The whole program, rebuilt from M and the cost's definition, by numpy's lstsq."""
    system, T = each_task.system, 4
    model, hz = problem(each_task, T)
    w, u = weights(system, V=rate_weight), hz.u.copy()
    assert improve(model, hz, w, bounds(system), KAPPA, TOLERANCE)
    rows, right, n = [], [], T * system.n_a
    for k in range(T):
        root = root_weights(w, k, T)
        rows.append(hz.H.M[k * system.n_v_u : (k + 1) * system.n_v_u])
        right.append(-root * tangent_error(system, hz, k + 1))
        pick = np.eye(n)[k * system.n_a : (k + 1) * system.n_a]
        rows.append(np.sqrt(w.W_u)[:, None] * pick)
        right.append(-np.sqrt(w.W_u) * (u[k] - hz.u_ref[k]))
        earlier = np.eye(n)[(k - 1) * system.n_a : k * system.n_a] if k else np.zeros((system.n_a, n))
        before = u[k - 1] if k else hz.u_before
        rows.append(np.sqrt(w.W_du)[:, None] * (pick - earlier))
        right.append(-np.sqrt(w.W_du) * (u[k] - before))
    expected = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0].reshape(u.shape)
    np.testing.assert_allclose(hz.u - u, expected, atol=1e-8)


def test_iterations_in_a_small_trust_region_lower_the_true_cost(each_task: TaskConfig) -> None:
    system = each_task.system
    model, hz = problem(each_task, 6)
    w, costs = weights(system), []
    for _ in range(6):
        u = hz.u.copy()
        assert improve(model, hz, w, bounds(system, trust=2e-3), KAPPA, 1e-10)
        following, hz.u[:] = hz.u.copy(), u
        costs.append(cost(system, hz, w))
        hz.u[:] = following
    assert np.all(np.diff(costs) < 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_whatever_the_nominal(seed: int, each_task: TaskConfig) -> None:
    system, rng = each_task.system, np.random.default_rng(seed)
    model, hz = problem(each_task, 3)
    hz.u[:] += rng.normal(0.0, 0.01, hz.u.shape)
    hz.q_ref[:, : system.n_q_u] = system.integrate(hz.q_ref[0], rng.normal(0.0, 0.3, system.n_v))[: system.n_q_u]
    box = bounds(system, trust=0.02, first=0.015)._replace(lower=system.q_min, upper=system.q_max)
    before = hz.u.copy()
    assert improve(model, hz, weights(system, R=0.1), box, KAPPA, 1e-10)
    assert np.abs(hz.u[1:] - before[1:]).max() <= 0.02 + 1e-12
    assert np.all((hz.u >= system.q_min - 1e-12) & (hz.u <= system.q_max + 1e-12))
    assert np.abs(hz.u[0] - hz.u_before).max() <= 0.015 + 1e-12


def test_first_step_keeps_its_bound_from_a_nominal_far_from_the_command_in_force(each_task: TaskConfig) -> None:
    system = each_task.system
    model, hz = problem(each_task, 2)
    hz.u[:] += 0.08  # a trust region of 0.02 does not reach the 0.03 allowed about the command in force
    box = bounds(system, trust=0.02, first=0.03)._replace(lower=system.q_min, upper=system.q_max)
    assert improve(model, hz, weights(system), box, KAPPA, 1e-10)
    assert np.abs(hz.u[0] - hz.u_before).max() <= 0.03 + 1e-12


def test_springs_stay_within_their_stretch_when_iterations_have_settled(each_task: TaskConfig) -> None:
    """A reference that presses by half more than the start ends at the bound, in the roll-out's own u - q_a."""
    system = each_task.system
    pressed = each_task.start_u - each_task.start_q[system.n_q_u :]
    limit, found = 0.8 * float(np.abs(pressed).max()), {}
    for largest in (np.inf, limit):
        model, hz = problem(each_task, 3)
        hz.q_ref[:] = each_task.start_q
        hz.u_ref[:] += 0.5 * pressed
        box = bounds(system, trust=5e-3)
        box.stretch_min[:], box.stretch_max[:] = -largest, largest
        for _ in range(40):
            assert improve(model, hz, weights(system, R=200.0), box, KAPPA, 1e-10)
        assert roll_out(model, hz, KAPPA, 1e-10, False)
        found[largest] = float(np.abs(hz.u - hz.q[1:, system.n_q_u :]).max())
    assert found[np.inf] > 1.2 * limit
    assert found[limit] == pytest.approx(limit, rel=1e-3)


def test_stretch_out_of_reach_is_approached_by_the_trust_region(each_task: TaskConfig) -> None:
    system = each_task.system
    model, hz = problem(each_task, 2)
    hz.u[:] += 0.1
    box = bounds(system, trust=0.01)
    box.stretch_min[:], box.stretch_max[:] = -1e-3, 1e-3
    before = hz.u.copy()
    assert improve(model, hz, weights(system), box, KAPPA, 1e-10)
    assert np.abs(hz.u - before).max() <= 0.01 + 1e-12
    stretched = np.abs(before - hz.q[1:, system.n_q_u :]) > 0.02
    np.testing.assert_allclose(np.abs(hz.u - before)[stretched], 0.01, atol=1e-12)
    assert stretched.any()


def test_roll_out_says_where_the_model_has_no_next_state(each_task: TaskConfig) -> None:
    model, hz = problem(each_task, 3)
    hz.q[0, : each_task.system.n_q_u][-1] = np.nan
    assert not roll_out(model, hz, KAPPA, 1e-10, True)
    assert hz.status[0] != 0
