"""Other controllers than the tracker: their models against ours, their optimisers against known optima."""

from itertools import product

import numpy as np
import pytest

from contact_mpc.control.tracking.comparison.admm import AdmmConfig, AdmmMpc, condense, project
from contact_mpc.control.tracking.comparison.complementarity_model import Lineariser
from contact_mpc.control.tracking.comparison.sampling import SamplingConfig, SamplingMpc, spline_matrix
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.dynamics.contact_dynamics import ContactDynamics, build_model
from contact_mpc.dynamics.exact.lemke import SOLVED, solve_lcp
from contact_mpc.task.task import load_task

RAYS = 4
SAME_STEP_M = 1e-7  # two solvers of the same program: clarabel polished, and pivoting


@pytest.fixture(scope="module", params=["allegro_ball", "planar_hand_ball"])
def task(request):
    return load_task(request.param)


def linearise(task, closed_m=0.0):
    model = build_model(task.system, 0.1, 0.5)
    return Lineariser(task.system, model, RAYS, reach_m=0.02, closed_m=closed_m).linearise(task.start_q)


def forces_of(lcs, x, u):
    """Solve 0 <= lam _|_ E x + F lam + H u + c >= 0, in units that make its entries of the order of one."""
    compliance = np.mean(np.diag(lcs.F))
    solved = solve_lcp(lcs.F / compliance, (lcs.E @ x + lcs.H @ u + lcs.c) / compliance)
    assert solved.outcome == SOLVED
    return solved.z


def test_one_step_of_the_complementarity_system_is_that_of_the_quadratic_program(task):
    lcs, u = linearise(task), task.start_u
    x = lcs.B @ u + lcs.D @ forces_of(lcs, np.zeros(task.system.n_v), u) + lcs.d
    dynamics = ContactDynamics(task.system, "qp", h_s=0.1, friction=0.5, ray_count=RAYS)
    result = dynamics.step(task.start_q, u)
    assert result.is_converged
    np.testing.assert_allclose(task.system.difference(task.start_q, result.q_next), x, atol=SAME_STEP_M)


def test_gaps_below_the_noise_are_closed_and_larger_ones_kept(task):
    measured, closed = linearise(task), linearise(task, closed_m=0.02)
    np.testing.assert_allclose(measured.E, closed.E, atol=0.0)
    pressed = closed.D @ forces_of(closed, np.zeros(task.system.n_v), task.start_u)
    assert np.linalg.norm(pressed) > 0.0
    assert np.ptp((measured.c - closed.c).reshape(-1, 2), axis=1).max() < 1e-12  # the gap of a contact, for every ray
    assert np.abs(measured.c - closed.c).max() < 0.02


def test_projection_is_the_nearest_complementary_point():
    rng = np.random.default_rng(0)
    lower, upper = np.full((2, 1), -0.5), np.full((2, 1), 0.5)
    for _ in range(50):
        z, weight = rng.standard_normal(2 * 5), rng.uniform(0.1, 10.0, 2 * 5)
        found = project(z, weight, lower, upper).reshape(2, 5)
        lam, eta = found[:, 1:3], found[:, 3:]
        assert np.all(lam >= 0.0) and np.all(eta >= 0.0) and np.all(lam * eta == 0.0)
        assert np.all(np.abs(found[:, 0]) <= 0.5)
        distance = np.sum(weight.reshape(2, 5) * (found - z.reshape(2, 5)) ** 2)
        assert distance == pytest.approx(_nearest_distance(z.reshape(2, 5), weight.reshape(2, 5)), rel=1e-12)


def _nearest_distance(z, weight):
    """Least distance over every choice of which of a force and its gap is zero."""
    best = np.inf
    for zero in product([False, True], repeat=4):
        is_gap = np.array(zero).reshape(2, 2)
        point = z.copy()
        point[:, 0] = np.clip(z[:, 0], -0.5, 0.5)
        point[:, 1:3] = np.where(is_gap, 0.0, np.maximum(z[:, 1:3], 0.0))
        point[:, 3:] = np.where(is_gap, np.maximum(z[:, 3:], 0.0), 0.0)
        best = min(best, float(np.sum(weight * (point - z) ** 2)))
    return best


def make_admm(task, **changes):
    config = TrackerConfig(horizon_steps=3, friction=0.5)
    return AdmmMpc(task.system, config, AdmmConfig(horizon_steps=3, **changes))


def predicted_cost(mpc, task, q_ref, u_ref, u):
    """Cost of commands when the complementarity system itself is rolled out."""
    system, weights = task.system, mpc.weights
    lcs, x, before, cost = mpc._lineariser.linearise(task.start_q), np.zeros(task.system.n_v), task.start_u, 0.0
    for k in range(len(u)):
        x = lcs.A @ x + lcs.B @ u[k] + lcs.D @ forces_of(lcs, x, u[k]) + lcs.d
        error = system.difference(q_ref[k + 1], task.start_q)[: system.n_v_u] + x[: system.n_v_u]
        cost += np.sum(weights.W_e * error**2) + np.sum(weights.W_u * (u[k] - u_ref[k]) ** 2)
        cost += np.sum(weights.W_du * (u[k] - before) ** 2)
        before = u[k]
    return cost


def reference_ahead(task, turn_rad=0.05):
    """Object turned a little about the task's axis in the world, commands of the start."""
    dq = np.zeros(task.system.n_v)
    kinds = task.system.n_v_u
    dq[:3] = turn_rad * task.goal.axis_W if kinds == 6 else (0.0, 0.0, turn_rad)
    q_ref = np.array([task.system.integrate(task.start_q, dq * k / 3.0) for k in range(4)])
    return q_ref, np.tile(task.start_u, (3, 1))


def test_admm_lowers_the_cost_of_its_own_model(task):
    mpc, (q_ref, u_ref) = make_admm(task), reference_ahead(task)
    mpc.u[:] = u_ref
    assert mpc.solve(task.start_q, q_ref, u_ref, task.start_u)
    bound = 0.95 * predicted_cost(mpc, task, q_ref, u_ref, u_ref)
    assert predicted_cost(mpc, task, q_ref, u_ref, mpc.u) < bound
    for _ in range(3):  # warm starts keep most of it; ADMM does not fall monotonically on a program that is not convex
        mpc.solve(task.start_q, q_ref, u_ref, task.start_u)
    assert predicted_cost(mpc, task, q_ref, u_ref, mpc.u) < bound


def test_admm_copies_agree_as_it_goes_on(task):
    """Primal residual: forces and gaps of the program and their complementary copies differ less and less."""
    residuals = []
    for iterations in (5, 20, 60):
        mpc, (q_ref, u_ref) = make_admm(task, iterations=iterations), reference_ahead(task)
        mpc.u[:] = u_ref
        mpc.solve(task.start_q, q_ref, u_ref, task.start_u)
        residuals.append(mpc.residual)
    assert residuals[2] < 0.2 * residuals[1] < 0.2 * residuals[0]


def test_condensed_problem_is_the_rolled_out_system(task):
    mpc, (_, u_ref) = make_admm(task), reference_ahead(task)
    lcs = mpc._lineariser.linearise(task.start_q)
    error = np.zeros((3, task.system.n_v_u))
    problem = condense(lcs, error, u_ref, task.start_u, mpc)
    rng, r = np.random.default_rng(1), len(lcs.c)
    u, lam = u_ref + 0.01 * rng.standard_normal(u_ref.shape), rng.uniform(0.0, 1.0, (3, r))
    y = np.hstack([u, lam]).ravel()
    rows = (problem.L @ y + problem.offset).reshape(3, -1)
    x, cost, before, n_u = np.zeros(task.system.n_v), 0.0, task.start_u, task.system.n_v_u
    for k in range(3):
        eta = lcs.E @ x + lcs.F @ lam[k] + lcs.H @ u[k] + lcs.c
        np.testing.assert_allclose(rows[k], np.concatenate([u[k], lam[k], eta]), atol=1e-12)
        x = lcs.A @ x + lcs.B @ u[k] + lcs.D @ lam[k] + lcs.d
        cost += np.sum(mpc.weights.W_e * x[:n_u] ** 2) + np.sum(mpc.weights.W_u * (u[k] - u_ref[k]) ** 2)
        cost += np.sum(mpc.weights.W_du * (u[k] - before) ** 2)
        before = u[k]
    half = 0.5 * y @ problem.P @ y + problem.g @ y
    constant = 0.5 * (np.sum(mpc.weights.W_u * u_ref**2) + np.sum(mpc.weights.W_du * task.start_u**2))
    x, drift = np.zeros(task.system.n_v), 0.0
    for _ in range(3):
        x = lcs.A @ x + lcs.d
        drift += 0.5 * np.sum(mpc.weights.W_e * x[:n_u] ** 2)
    assert half + constant + drift == pytest.approx(0.5 * cost, rel=1e-9)


class SpringRollouts:
    """Objects follow the mean of the commands, nothing else: the best commands are known."""

    def __init__(self, system):
        self._system = system

    def roll_out(self, q, u_before, u):
        out = np.tile(q, (*u.shape[:2], 1))
        out[..., 0] = q[0] + u.mean(axis=2)
        return out


def test_sampling_finds_commands_that_reach_the_reference():
    task = load_task("planar_hand_ball")
    config = TrackerConfig(horizon_steps=2, command_weight=1e-3, rate_weight=1e-3, command_rate_rad_s=10.0)
    sampling = SamplingConfig(horizon_steps=2, knots=2, samples=64, elites=8, iterations=30, least_spread_rad=1e-3)
    mpc = SamplingMpc(task.system, config, sampling, SpringRollouts(task.system), seed=0)
    u_ref = np.tile(task.start_u, (2, 1))
    q_ref = np.tile(task.start_q, (3, 1))
    q_ref[1:, 0] += task.start_u.mean() + np.array([0.02, 0.03])
    assert mpc.solve(task.start_q, q_ref, u_ref, task.start_u)
    np.testing.assert_allclose(mpc.u.mean(axis=1) - task.start_u.mean(), [0.02, 0.03], atol=2e-3)


def test_one_elite_never_costs_more_than_the_start():
    task = load_task("planar_hand_ball")
    config = TrackerConfig(horizon_steps=2)
    mpc = SamplingMpc(task.system, config, SamplingConfig(horizon_steps=2), SpringRollouts(task.system), seed=3)
    u_ref, q_ref = np.tile(task.start_u, (2, 1)), np.tile(task.start_q, (3, 1))
    costs = []
    for _ in range(20):
        u = u_ref[None] + mpc._deviation
        q = mpc._rollouts.roll_out(task.start_q, task.start_u, u)
        costs.append(float(mpc._cost(q, u, q_ref, u_ref, task.start_u)[0]))
        assert mpc.solve(task.start_q, q_ref, u_ref, task.start_u)
    assert all(later <= earlier for earlier, later in zip(costs, costs[1:], strict=False))
    assert costs[-1] < costs[0]


def test_spline_interpolates_its_knots_from_zero():
    np.testing.assert_allclose(spline_matrix(4, 2) @ np.array([2.0, 6.0]), [1.0, 2.0, 4.0, 6.0])
    np.testing.assert_allclose(spline_matrix(3, 3), np.eye(3))
