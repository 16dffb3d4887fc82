"""The Jacobian of a frame is the derivative of its pose, for free objects, hinged ones, arms and mimic joints."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.model.kinematics import forward_kinematics, frame_jacobian
from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System

STEP = 1e-6
P_BF = np.array([0.01, -0.02, 0.03])


@pytest.mark.parametrize("name", ["allegro_ball", "allegro_door", "planar_pushing", "iiwa_box", "linkage"])
def test_it_is_the_derivative_of_the_pose(named_system: Callable[[str], System], name: str) -> None:
    system = named_system(name)
    q = system.integrate(system.q_default, np.linspace(-0.1, 0.1, system.n_v))
    for body in range(len(system.tree.parent)):
        J = frame_jacobian(system.tree, q, body, P_BF)
        for d in range(system.n_v):
            dq = np.zeros(system.n_v)
            dq[d] = STEP
            (R1, p1), (R0, p0) = (_pose(system, system.integrate(q, sign * dq), body) for sign in (1.0, -1.0))
            column = np.concatenate([rotation_log(R1 @ R0.T), p1 - p0]) / (2.0 * STEP)
            np.testing.assert_allclose(J[:, d], column, atol=1e-8)


@pytest.mark.parametrize("name", ["allegro_ball", "allegro_door", "planar_hand_ball", "anypulator_door"])
def test_an_objects_twist_comes_from_its_own_coordinates(
    named_system: Callable[[str], System], check_jacobian: Callable[..., float], name: str
) -> None:
    system = named_system(name)
    q = system.integrate(system.q_default, np.linspace(-0.2, 0.3, system.n_v))
    R0, p0 = system.object_pose(q)

    def moved(v_u: np.ndarray) -> np.ndarray:
        R, p = system.object_pose(system.integrate(q, np.concatenate([v_u, np.ones(system.n_a)])))
        return np.concatenate([rotation_log(np.ascontiguousarray(R @ R0.T)), p - p0])

    check_jacobian(system.object_jacobian(q), moved, 1e-9)


def _pose(system: System, q: np.ndarray, body: int) -> tuple[np.ndarray, np.ndarray]:
    R, p = forward_kinematics(system.tree, q)
    return R[body], R[body] @ P_BF + p[body]
