"""Fingers that slide: the speed of an object dragged along still fingers, none where fingers roll with it."""

import numpy as np
import pytest

from contact_mpc.control.tracking.slip_watch import SlipWatch
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.geometry.fingers import closest_pair_per_finger, contact_jacobian, finger_of_pairs
from contact_mpc.task.task import TaskConfig

FILTER_S = 1.0
TICK_NS, REACH_M = 50_000_000, 0.004


def contacts_of(task: TaskConfig) -> tuple[np.ndarray, np.ndarray]:
    """Return Jacobians (k, 3, n_v) and normals (k, 3) of the fingers' contacts at the start."""
    model, fingers = build_model(task.system), finger_of_pairs(task.system)
    ws = make_newton(model)
    near = closest_pair_per_finger(fingers, measure_gaps(model, ws, task.start_q), REACH_M)
    near = near[fingers[near] >= 0]
    return np.array([contact_jacobian(model.pairs, ws.con, c, task.system.n_v) for c in near]), ws.con.n[near].copy()


def run(task: TaskConfig, v: np.ndarray, ticks: int, slip_m_s: float = 0.01) -> tuple[SlipWatch, list[list[str]]]:
    """Move from the start with the velocity v (n_v,)."""
    watch = SlipWatch(task.system, build_model(task.system), REACH_M, slip_m_s, 0.2, FILTER_S)
    steps = [task.system.integrate(task.start_q, 1e-9 * TICK_NS * k * v) for k in range(ticks)]
    return watch, [watch.update(k * TICK_NS, q) for k, q in enumerate(steps)]


def test_object_dragged_along_still_fingers_slides_at_its_tangential_speed(each_task: TaskConfig) -> None:
    system = each_task.system
    J, n = contacts_of(each_task)
    v = np.zeros(system.n_v)
    v[system.n_v_u - 3 : system.n_v_u] = (0.0, 0.0, 1e-3) if system.n_v_u == 6 else (0.0, 1e-3, 0.0)
    d = J @ v
    expected = np.linalg.norm(d - np.sum(n * d, axis=1, keepdims=True) * n, axis=1)
    watch, _ = run(each_task, v, 20)
    settled = 1.0 - np.exp(-19 * 1e-9 * TICK_NS / FILTER_S)
    np.testing.assert_allclose(list(watch.speeds.values()), settled * expected, rtol=0.02)
    assert expected.max() > 5e-4


def test_fingers_that_roll_with_the_object_do_not_slide(each_task: TaskConfig) -> None:
    """Joint speeds that keep every contact's material points together: J dq = 0."""
    system, n_v_u = each_task.system, each_task.system.n_v_u
    J, _ = contacts_of(each_task)
    v = np.zeros(system.n_v)
    v[n_v_u - 1] = 0.005 if n_v_u == 6 else 0.05  # up, and a turn of the disc
    v[n_v_u:] = np.linalg.lstsq(J[:, :, n_v_u:].reshape(-1, system.n_a), -(J @ v).ravel(), rcond=None)[0]
    assert np.abs(J @ v).max() < 1e-9
    assert np.abs(v[n_v_u:]).max() > 0.01
    watch, _ = run(each_task, v, 10)
    assert max(watch.speeds.values()) < 2e-4


@pytest.mark.parametrize("slip_m_s", [0.0, 0.004, 0.1])
def test_fingers_beyond_the_speed_are_named(slip_m_s: float, each_task: TaskConfig) -> None:
    v = np.zeros(each_task.system.n_v)
    v[2] = 0.5  # a turn on the spot, 30 mm/s and more at the fingers
    watch, found = run(each_task, v, 8, slip_m_s)
    assert found[0] == []
    assert len(set(found[-1]) - {""}) == (len(watch.speeds) if slip_m_s == 0.004 else 0)
    watch.reset()
    assert watch.update(0, each_task.start_q) == []


def test_a_position_that_no_robot_has_does_not_blind_the_watch(each_task: TaskConfig) -> None:
    watch, _ = run(each_task, np.zeros(each_task.system.n_v), 4)
    huge = each_task.start_q.copy()
    huge[each_task.system.n_q_u :] = 1e200
    with np.errstate(all="ignore"):
        watch.update(4 * TICK_NS, huge)
        for k in range(5, 15):  # until it has left the window
            watch.update(k * TICK_NS, each_task.start_q)
    assert np.isfinite(list(watch.speeds.values())).all()
