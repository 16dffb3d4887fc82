"""The fingers' normal forces over a horizon: their rows against differences of the roll-out, and what the cost does."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.quadratic import Model
from contact_mpc.geometry.fingers import closest_pair_per_finger, finger_rows
from contact_mpc.model.task import TaskConfig, load_task
from contact_mpc.optimisation.box_qp import BOX_CONVERGED
from contact_mpc.optimisation.grip import make_grip
from contact_mpc.optimisation.horizon import (
    Bounds,
    Horizon,
    build_bounds,
    build_weights,
    forget_solution,
    improve,
    make_horizon,
    roll_out,
)

KAPPA, TOLERANCE, T = 1e4, 1e-18, 3
LEAST_N = 0.5


def problem(task: TaskConfig, weight: float) -> tuple[Model, Horizon]:
    """A horizon at rest at the task's start with a cost of `weight`, 1/N^2, on every finger."""
    system = task.system
    model = build_model(system)
    hz = make_horizon(model, system.n_q, T, make_grip(model, T, finger_rows(system)) if weight > 0.0 else None)
    hz.q[0], hz.q_ref[:], hz.u_before[:] = task.start_q, task.start_q, task.start_u
    hz.u[:], hz.u_ref[:] = task.start_u, task.start_u
    hz.grip.root[:], hz.grip.least[:] = np.sqrt(weight), LEAST_N
    return model, hz


def box(task: TaskConfig, trust: float) -> Bounds:
    return build_bounds(task.system, 0.0, trust, 1.0)


def test_rows_are_the_derivatives_of_the_fingers_forces(each_task: TaskConfig, check_jacobian: Callable) -> None:
    model, hz = problem(each_task, 4.0)
    hz.u[:] += 2e-3 * np.random.default_rng(0).normal(size=hz.u.shape)
    weights = build_weights(each_task.system, 100.0, 1e4, 1.0, 60.0, 10.0)
    assert improve(model, hz, weights, box(each_task, 0.0), KAPPA, TOLERANCE)  # du = 0
    rows, level, u, m = hz.grip.rows.copy(), hz.grip.level.copy(), hz.u.copy(), len(hz.grip.root)
    np.testing.assert_allclose(level, 2.0 * (hz.grip.force.ravel() - LEAST_N), rtol=1e-12)

    def forces(x: np.ndarray) -> np.ndarray:
        hz.u[:] = u + x.reshape(u.shape)
        forget_solution(hz)
        assert roll_out(model, hz, KAPPA, TOLERANCE, True)
        return hz.grip.force.ravel().copy()

    assert m > 1 and np.all(forces(np.zeros(u.size)) > 0.1)
    check_jacobian(0.5 * rows, forces, tolerance=1e-5, step=1e-5)


def trust_problem(task: TaskConfig, weight: float) -> tuple[Model, Horizon]:
    """The same horizon with a contact trust region about the closest contact of each finger, and no least force."""
    model, fingers = build_model(task.system), finger_rows(task.system)
    grip = make_grip(model, T, fingers, has_trust_region=True)
    gaps = ContactDynamics(task.system).step(task.start_q, task.start_u).gaps
    near = closest_pair_per_finger(fingers, gaps, 0.01)
    near = near[fingers[near] >= 0]
    grip.watched[fingers[near]] = near
    grip.root[len(grip.watched) :] = np.sqrt(weight)
    hz = make_horizon(model, task.system.n_q, T, grip)
    hz.q[0], hz.q_ref[:], hz.u_before[:] = task.start_q, task.start_q, task.start_u
    hz.u[:], hz.u_ref[:] = task.start_u, task.start_u
    return model, hz


def test_rows_of_the_trust_region_are_the_derivatives_of_forces_and_cones(
    each_task: TaskConfig, check_jacobian: Callable
) -> None:
    model, hz = trust_problem(each_task, 4.0)
    count = len(hz.grip.watched)
    assert np.all(hz.grip.watched >= 0)
    hz.u[:] += 2e-3 * np.random.default_rng(0).normal(size=hz.u.shape)
    weights = build_weights(each_task.system, 100.0, 1e4, 1.0, 60.0, 10.0)
    assert improve(model, hz, weights, box(each_task, 0.0), KAPPA, TOLERANCE)  # du = 0
    n_u = hz.u.size
    rows, u = 0.5 * hz.grip.rows.reshape(T, -1, n_u)[:, count:].reshape(-1, n_u), hz.u.copy()
    f, n = hz.force[-1][hz.grip.watched], hz.newton.con.n[hz.grip.watched]
    normal = np.sum(n * f, axis=1)
    tangential = np.linalg.norm(f - normal[:, None] * n, axis=1)
    cone = model.mu[hz.grip.watched] * normal - tangential
    np.testing.assert_allclose(hz.grip.force[-1, count:], np.concatenate([normal, cone]), rtol=1e-9)
    assert np.all(hz.grip.level >= 0.0)  # the roll-out is inside

    def forces(x: np.ndarray) -> np.ndarray:
        hz.u[:] = u + x.reshape(u.shape)
        forget_solution(hz)
        assert roll_out(model, hz, KAPPA, TOLERANCE, True)
        return hz.grip.force[:, count:].ravel().copy()

    check_jacobian(rows, forces, tolerance=1e-5, step=1e-5)


@pytest.mark.parametrize("shift_m", [(0.03, 0.0, 0.0), (0.0, 0.03, 0.0), (0.0, -0.03, 0.0)])
def test_trust_region_keeps_linearised_forces_in_their_cones(shift_m: tuple[float, float, float]) -> None:
    """A goal 3 cm aside asks for forces 10 N outside the cones; with the trust region they stay inside."""
    task, worst = load_task("allegro_ball"), {}
    system = task.system
    R_WB, p_WB = system.object_pose(task.start_q)
    goal = task.start_q.copy()
    goal[: system.n_q_u] = system.q_from_object_pose(R_WB, p_WB + shift_m, goal)
    for weight in (1e-12, 1.0):
        model, hz = trust_problem(task, weight)
        hz.q_ref[:] = goal
        before, count = hz.u.copy(), len(hz.grip.watched)
        assert improve(model, hz, build_weights(system, 100.0, 1e4, 1.0, 1.0, 0.0), box(task, 0.2), KAPPA, 1e-10)
        assert hz.counts[2] == BOX_CONVERGED
        hinges = hz.grip.level + hz.grip.rows @ (hz.u - before).ravel()
        worst[weight] = float(hinges.reshape(T, -1)[:, count:].min()) / np.sqrt(weight)
    assert worst[1e-12] < -10.0
    assert worst[1.0] > -0.05


def test_force_of_a_finger_is_the_sum_of_its_contacts(each_task: TaskConfig) -> None:
    model, hz = problem(each_task, 1.0)
    assert roll_out(model, hz, KAPPA, TOLERANCE, True)
    fingers = finger_rows(each_task.system)
    assert set(fingers) - {-1} == set(range(len(hz.grip.root)))
    pressed = np.sum(hz.force[-1] * hz.newton.con.n, axis=1)  # n is that of the last step
    pressed[pressed < 0.01] = 0.0
    for j, force in enumerate(hz.grip.force[-1]):
        np.testing.assert_allclose(force, pressed[fingers == j].sum(), rtol=1e-9)


def test_finger_that_lets_go_presses_again(each_task: TaskConfig) -> None:
    """From commands that loosen the grip, iterations with the cost leave the weakest finger more force than without."""
    weakest = []
    for weight in (0.0, 1e3):
        model, hz = problem(each_task, weight)
        loose = each_task.start_q[each_task.system.n_q_u :]
        hz.u[:], hz.u_ref[:] = loose, loose
        weights = build_weights(each_task.system, 100.0, 1e4, 1.0, 60.0, 0.0)
        for _ in range(8):
            assert improve(model, hz, weights, box(each_task, 0.02), KAPPA, 1e-10)
        grip = make_grip(model, T, finger_rows(each_task.system))
        measured = make_horizon(model, each_task.system.n_q, T, grip)
        measured.q[0], measured.u[:], measured.grip.root[:] = each_task.start_q, hz.u, 1.0
        assert roll_out(model, measured, KAPPA, TOLERANCE, True)
        weakest.append(measured.grip.force.min())
    assert weakest[1] > max(weakest[0], 0.9 * LEAST_N)


def test_fingers_above_the_least_force_leave_the_commands_as_they_are(each_task: TaskConfig) -> None:
    found = []
    for weight in (0.0, 1e3):
        model, hz = problem(each_task, weight)
        hz.grip.least[:] = 0.0
        weights = build_weights(each_task.system, 100.0, 1e4, 1.0, 60.0, 10.0)
        assert improve(model, hz, weights, box(each_task, 0.02), KAPPA, 1e-10)
        found.append(hz.u.copy())
    np.testing.assert_array_equal(*found)
