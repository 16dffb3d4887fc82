"""Inverse kinematics: poses that postures have are reached, a free axis is free, limits are kept."""

import numpy as np
import pytest

from contact_mpc.geometry.reach import LENGTH_M, LinkFrame, reach
from contact_mpc.model.rotations import rotation_from_rpy
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.urdf import Pose

ROOM_RAD = 0.02
FRAME_P = np.array([0.0, 0.02, 0.1])


@pytest.fixture(scope="module")
def arm() -> tuple[System, LinkFrame]:
    system = load_system("iiwa_box")
    return system, LinkFrame(int(system.tree.dof_body[-1]), Pose(np.eye(3), FRAME_P))


def test_jacobian_is_the_derivative_of_the_pose(arm: tuple[System, LinkFrame]) -> None:
    system, frame = arm
    q, epsilon = system.q_default.copy(), 1e-6
    q[system.n_q_u :] += 0.1
    J = frame.jacobian(system, q)
    for a in range(system.n_a):
        ends = []
        for sign in (-1.0, 1.0):
            moved = q.copy()
            moved[system.n_q_u + a] += sign * epsilon
            ends.append(frame.pose(system, moved))
        turn = (ends[1].R - ends[0].R) @ frame.pose(system, q).R.T / (2.0 * epsilon)
        column = [turn[2, 1], turn[0, 2], turn[1, 0], *(ends[1].p - ends[0].p) / (2.0 * epsilon)]
        np.testing.assert_allclose(J[:, a], column, atol=1e-7)


def test_a_pose_of_another_posture_is_reached(arm: tuple[System, LinkFrame]) -> None:
    system, frame = arm
    q = system.q_default.copy()
    q[system.n_q_u :] += np.linspace(-0.3, 0.3, system.n_a)
    goal = frame.pose(system, np.concatenate([q[: system.n_q_u], q[system.n_q_u :]]))
    found, off = reach(system, system.q_default, frame, goal, steps=60)
    assert off < 1e-5
    np.testing.assert_allclose(frame.pose(system, found).p, goal.p, atol=1e-5)
    np.testing.assert_allclose(frame.pose(system, found).R, goal.R, atol=1e-5 / LENGTH_M)


def test_turns_about_a_free_axis_cost_nothing(arm: tuple[System, LinkFrame]) -> None:
    system, frame = arm
    here = frame.pose(system, system.q_default)
    turned = Pose(here.R @ rotation_from_rpy(np.array([0.0, 0.0, 0.7])), here.p)
    assert reach(system, system.q_default, frame, turned, steps=0, free_axis=True)[1] < 1e-9
    assert reach(system, system.q_default, frame, turned, steps=0)[1] > 0.05


def test_what_is_out_of_reach_says_how_far_and_keeps_the_limits(arm: tuple[System, LinkFrame]) -> None:
    system, frame = arm
    far = Pose(np.eye(3), np.array([3.0, 0.0, 0.5]))
    q, off = reach(system, system.q_default, frame, far, steps=40, room=ROOM_RAD)
    q_a = q[system.n_q_u :]
    assert off > 1.0
    assert np.all(q_a >= system.q_min + ROOM_RAD - 1e-12) and np.all(q_a <= system.q_max - ROOM_RAD + 1e-12)
