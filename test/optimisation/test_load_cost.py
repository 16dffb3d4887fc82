"""The load cost: its rows against differences of the roll-out, and what it does to commands."""

from collections.abc import Callable

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.optimisation.horizon import (
    Horizon,
    build_limits,
    build_weights,
    forget_solution,
    improve,
    make_horizon,
    roll_out,
)
from contact_mpc.optimisation.load_cost import WATCHED_SHARE, LoadCost, count_loads, write_loads
from contact_mpc.task.task import TaskConfig, load_task

KAPPA, TOLERANCE, T = 1e4, 1e-18, 3


def stretch(hz: Horizon) -> np.ndarray:
    return hz.u - hz.q[1:, hz.q.shape[1] - hz.u.shape[1] :]


def at_rest(task: TaskConfig) -> Horizon:
    hz = make_horizon(build_model(task.system), task.system.n_q, T)
    hz.q[0], hz.q_ref[:], hz.u_before[:] = task.start_q, task.start_q, task.start_u
    hz.u[:], hz.u_ref[:] = task.start_u, task.start_u
    return hz


def test_rows_are_the_derivatives_of_the_stretch(each_task: TaskConfig, check_jacobian: Callable) -> None:
    model, hz = build_model(each_task.system), at_rest(each_task)
    hz.u[:] += 2e-3 * np.random.default_rng(0).normal(size=hz.u.shape)
    assert roll_out(model, hz, KAPPA, TOLERANCE, True)
    s, u = stretch(hz), hz.u.copy()
    limit = np.median(np.abs(s), axis=0) / WATCHED_SHARE * (1.0 + 1e-9)
    cost = LoadCost(limit, 4.0)
    watched = np.abs(s) > WATCHED_SHARE * limit
    assert count_loads(cost, s) == watched.sum() > 0
    rows, level = np.empty((watched.sum(), u.size)), np.empty(watched.sum())
    write_loads(cost, s, hz.A, hz.B, rows, level)
    np.testing.assert_allclose(level, 2.0 * (limit - np.abs(s))[watched], rtol=1e-9, atol=1e-15)

    def room(x: np.ndarray) -> np.ndarray:
        hz.u[:] = u + x.reshape(u.shape)
        forget_solution(hz)
        assert roll_out(model, hz, KAPPA, TOLERANCE, True)
        return np.asarray((limit - np.sign(s) * stretch(hz))[watched])

    check_jacobian(0.5 * rows, room, tolerance=1e-5, step=1e-5)


def test_without_weight_there_are_no_rows(each_task: TaskConfig) -> None:
    hz = at_rest(each_task)
    assert count_loads(LoadCost(np.zeros(each_task.system.n_a), 0.0), stretch(hz) + 1.0) == 0


def test_springs_are_spared() -> None:
    """References that press fingers into the ball ask for nearly twice the torque; where that costs, springs give less.

    Iterations without a line search go to and fro about the limit of a quarter of it.
    """
    task, largest = load_task("allegro_ball"), {}
    system, model = task.system, build_model(task.system)
    for weight in (0.0, 1e7):
        hz = at_rest(task)
        hz.u_ref[:] += 0.05
        w = build_weights(system, 0.0, 0.0, 1.0, 10.0, 0.0, weight, 0.25)
        for _ in range(60):
            assert improve(model, hz, w, build_limits(system, 0.0, 0.01, 1.0), KAPPA, 1e-10)
        assert roll_out(model, hz, KAPPA, 1e-10, False)
        largest[weight] = np.max(np.abs(system.kp * stretch(hz)) / system.tau_max_nm)
    assert largest[0.0] > 1.5
    assert largest[1e7] < 0.4
