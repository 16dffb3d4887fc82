"""The way back along which fingers came: from where the object is to the start, no faster than asked."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_exp, rotation_log
from contact_mpc.planning.way_back import Pace, Trail, loop_area, plan_back, turn_along
from contact_mpc.task.task import load_task

TASK = load_task("allegro_ball")
SYSTEM = TASK.system
PACE = Pace(turn_deg_s=10.0, way_m_s=0.01, step_s=0.1)


def turned(rotation_vector: np.ndarray, joints_rad: float = 0.0) -> np.ndarray:
    """The start with its object turned and its joints moved."""
    R, p = SYSTEM.object_pose(TASK.start_q)
    q = TASK.start_q + joints_rad
    q[: SYSTEM.n_q_u] = SYSTEM.q_from_object_pose(rotation_exp(rotation_vector) @ R, p, TASK.start_q)
    return q


def trail_to(angle_deg: float, count: int = 6) -> Trail:
    shares = np.linspace(0.0, 1.0, count)
    q = np.array([turned(np.array([0.0, 0.0, np.deg2rad(angle_deg)]) * share, 0.1 * share) for share in shares])
    return Trail(q, TASK.start_u + 0.1 * shares[:, None])


def test_a_way_back_begins_where_the_object_is_and_ends_at_the_start_at_rest() -> None:
    trail = trail_to(30.0)
    q, u = turned(np.array([0.03, 0.0, np.deg2rad(29.0)]), 0.12), trail.u[-1] - 0.02
    plan = plan_back(SYSTEM, trail, q, u, PACE)
    np.testing.assert_array_equal(plan.q[0], q)
    np.testing.assert_array_equal(plan.u[0], u)
    np.testing.assert_allclose(plan.q[-1], TASK.start_q, atol=1e-12)
    np.testing.assert_allclose(plan.u[-1], TASK.start_u, atol=1e-12)
    steps = np.abs(np.diff(plan.u, axis=0)).max(axis=1)
    assert max(steps[0], steps[-1]) < 0.2 * steps.max()
    assert plan.times_s[-1] == pytest.approx(3.0, abs=PACE.step_s)  # 30 deg at a mean of 10 deg/s


def test_it_goes_through_the_postures_that_the_fingers_came_by() -> None:
    trail = trail_to(30.0)
    bent = replace(trail, u=trail.u.copy())
    bent.u[3] += 0.2  # which no straight line between the ends has
    plan = plan_back(SYSTEM, bent, trail.q[-1], trail.u[-1], PACE)
    assert np.abs(plan.u - bent.u[3]).max(axis=1).min() < 0.03


def test_a_trail_to_and_fro_counts_twice_and_a_loop_has_an_area() -> None:
    there = trail_to(30.0)
    both = Trail(np.vstack([there.q, there.q[::-1]]), np.vstack([there.u, there.u[::-1]]))
    assert turn_along(SYSTEM, both) == pytest.approx(2.0 * np.deg2rad(30.0))
    R_x, R_z = rotation_exp(np.array([0.4, 0.0, 0.0])), rotation_exp(np.array([0.0, 0.0, 0.8]))
    R_start = SYSTEM.object_pose(TASK.start_q)[0]
    z_half = turned(np.array([0.0, 0.0, 0.5]))
    assert loop_area(SYSTEM, TASK.start_q, z_half, R_x @ R_start) == pytest.approx(0.5 * 0.4 * 0.5)
    assert loop_area(SYSTEM, TASK.start_q, z_half, R_z @ R_start) < 1e-12
    np.testing.assert_allclose(rotation_log(R_z), [0.0, 0.0, 0.8], atol=1e-12)
