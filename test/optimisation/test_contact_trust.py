"""The contact trust region: its rows against differences of the roll-out, and what it does to a program."""

from collections.abc import Callable

import numpy as np
import pytest
from held_tasks import held_task

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.fingers import closest_pair_per_finger, finger_rows
from contact_mpc.optimisation.box_qp import BOX_CONVERGED
from contact_mpc.optimisation.contact_trust import make_contact_trust
from contact_mpc.optimisation.horizon import (
    CommandLimits,
    Horizon,
    build_limits,
    build_weights,
    forget_solution,
    improve,
    make_horizon,
    roll_out,
)
from contact_mpc.task.task import TaskConfig

KAPPA, TOLERANCE, T = 1e4, 1e-18, 3


def problem(task: TaskConfig, weight: float) -> tuple[Model, Horizon]:
    """A horizon at rest at the start with a trust region of `weight` about the closest contact of each finger."""
    model, fingers = build_model(task.system), finger_rows(task.system)
    trust = make_contact_trust(model, T, fingers, weight)
    gaps = ContactDynamics(task.system).step(task.start_q, task.start_u).gaps
    near = closest_pair_per_finger(fingers, gaps, 0.01)
    near = near[fingers[near] >= 0]
    if weight > 0.0:
        trust.watched[fingers[near]] = near
    hz = make_horizon(model, task.system.n_q, T, trust)
    hz.q[0], hz.q_ref[:], hz.u_before[:] = task.start_q, task.start_q, task.start_u
    hz.u[:], hz.u_ref[:] = task.start_u, task.start_u
    return model, hz


def box(task: TaskConfig, trust: float) -> CommandLimits:
    return build_limits(task.system, 0.0, trust, 1.0)


def test_rows_are_the_derivatives_of_forces_and_cones(each_task: TaskConfig, check_jacobian: Callable) -> None:
    model, hz = problem(each_task, 4.0)
    trust = hz.contact_trust
    assert np.all(trust.watched >= 0)
    hz.u[:] += 2e-3 * np.random.default_rng(0).normal(size=hz.u.shape)
    weights = build_weights(each_task.system, 100.0, 1e4, 1.0, 60.0, 10.0)
    assert improve(model, hz, weights, box(each_task, 0.0), KAPPA, TOLERANCE)  # du = 0
    rows, u = 0.5 * trust.rows, hz.u.copy()
    f, n = hz.force[-1][trust.watched], hz.newton.con.n[trust.watched]
    normal = np.sum(n * f, axis=1)
    tangential = np.linalg.norm(f - normal[:, None] * n, axis=1)
    cone = model.mu[trust.watched] * normal - tangential
    np.testing.assert_allclose(trust.force[-1], np.concatenate([normal, cone]), rtol=1e-9)
    np.testing.assert_allclose(trust.level, 2.0 * trust.force.ravel(), rtol=1e-12)
    assert np.all(trust.level >= 0.0)  # the roll-out is inside

    def forces(x: np.ndarray) -> np.ndarray:
        hz.u[:] = u + x.reshape(u.shape)
        forget_solution(hz)
        assert roll_out(model, hz, KAPPA, TOLERANCE, True)
        return trust.force.ravel().copy()

    check_jacobian(rows, forces, tolerance=1e-5, step=1e-5)


@pytest.mark.parametrize("shift_m", [(0.03, 0.0, 0.0), (0.0, 0.03, 0.0), (0.0, -0.03, 0.0)])
def test_linearised_forces_stay_in_their_cones(shift_m: tuple[float, float, float]) -> None:
    """A goal 3 cm aside asks for forces 10 N outside the cones; with the trust region they stay inside."""
    task, worst = held_task("allegro_ball"), {}
    system = task.system
    R_WB, p_WB = system.object_pose(task.start_q)
    goal = task.start_q.copy()
    goal[: system.n_q_u] = system.q_from_object_pose(R_WB, p_WB + shift_m, goal)
    for weight in (1e-12, 1.0):
        model, hz = problem(task, weight)
        hz.q_ref[:] = goal
        before, trust = hz.u.copy(), hz.contact_trust
        assert improve(model, hz, build_weights(system, 100.0, 1e4, 1.0, 1.0, 0.0), box(task, 0.2), KAPPA, 1e-10)
        assert hz.counts[2] == BOX_CONVERGED
        worst[weight] = float((trust.level + trust.rows @ (hz.u - before).ravel()).min()) / np.sqrt(weight)
    assert worst[1e-12] < -10.0
    assert worst[1.0] > -0.05


def test_small_changes_cost_nothing(each_task: TaskConfig) -> None:
    """Where all forces stay well inside their cones, the commands are those without a trust region."""
    found = []
    for weight in (0.0, 1e3):
        model, hz = problem(each_task, weight)
        weights = build_weights(each_task.system, 100.0, 1e4, 1.0, 60.0, 10.0)
        assert improve(model, hz, weights, box(each_task, 1e-4), KAPPA, 1e-10)
        found.append(hz.u.copy())
    np.testing.assert_array_equal(*found)
