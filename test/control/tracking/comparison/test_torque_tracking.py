"""A cost on joint torques: its derivatives against differences, its program against the tracker's, its feedback."""

import numpy as np
import pytest

from contact_mpc.control.tracking.comparison.torque_tracking import (
    MOST_FEEDBACK,
    TorqueMpc,
    integrate_lack,
    stretch_sensitivity,
)
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.task.task import load_task

CONFIG = TrackerConfig(horizon_steps=3, iterations=1, contact_trust_weight=1.0, torque_share=0.9)


@pytest.fixture(scope="module")
def task():
    return load_task("planar_hand_ball")


def solve(mpc, task):
    """Follow a reference that turns the disc by 0.05 rad, from the task's start; return u."""
    T, start = len(mpc.u), task.start_q
    q_ref, u_ref = np.tile(start, (T + 1, 1)), np.tile(task.start_u, (T, 1))
    q_ref[:, 2] += 0.05
    mpc.u[:] = task.start_u
    assert mpc.solve(start, q_ref, u_ref, task.start_u)
    return mpc.u.copy()


def test_without_weight_it_is_the_tracker(task):
    plain, torque = Mpc(task.system, CONFIG), TorqueMpc(task.system, CONFIG, 0.0)
    np.testing.assert_allclose(solve(torque, task), solve(plain, task), atol=1e-9)


def test_the_larger_the_weight_the_nearer_are_torques_to_the_reference(task):
    off = []
    for weight in (0.0, 100.0, 1e4):
        mpc = TorqueMpc(task.system, CONFIG, weight)
        mpc.stretch_ref[:] = task.start_u - task.start_q[task.system.n_q_u :]
        du = (solve(mpc, task) - task.start_u).ravel()
        stretch = task.start_u - mpc.horizon.q[1:, task.system.n_q_u :]
        off.append(np.linalg.norm((stretch - mpc.stretch_ref).ravel() + stretch_sensitivity(mpc.horizon) @ du))
    assert off[0] > off[1] > off[2]


def test_sensitivity_of_stretch_is_that_of_differences(task):
    mpc = TorqueMpc(task.system, CONFIG.model_copy(update={"newton_tolerance": 1e-14}), 1.0)
    solve(mpc, task)
    hz, n_q_u, step = mpc.horizon, task.system.n_q_u, 1e-6

    def stretch_at(u):
        hz.u[:] = u
        assert mpc.improve()  # rolls u out, then changes it
        return (u - hz.q[1:, n_q_u:]).ravel()

    u = np.tile(task.start_u, (3, 1))
    expected = np.empty((u.size, u.size))
    for i in range(u.size):
        bump = step * np.eye(u.size)[i].reshape(u.shape)
        expected[:, i] = (stretch_at(u + bump) - stretch_at(u - bump)) / (2.0 * step)
    stretch_at(u)
    np.testing.assert_allclose(stretch_sensitivity(hz), expected, atol=1e-5)


def test_what_drives_lack_is_fed_forward_up_to_a_share_of_their_limits():
    tau_max, lack, sent = np.array([1.0, 2.0]), np.array([0.02, -0.02]), np.zeros(2)
    sent = integrate_lack(sent, lack, 0.5, tau_max)
    np.testing.assert_allclose(sent, [0.01, -0.01])
    for _ in range(100):
        sent = integrate_lack(sent, lack, 0.5, tau_max)
    np.testing.assert_allclose(sent, MOST_FEEDBACK * tau_max * [1.0, -1.0])
