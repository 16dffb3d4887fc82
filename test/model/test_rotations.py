"""Rotations against scipy, and the identities that define exponential, logarithm and left Jacobian."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from contact_mpc.model.rotations import (
    SMALL_ANGLE_RAD,
    left_jacobian,
    matrix_to_quaternion,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    quaternion_to_matrix,
    rotation_exp,
    rotation_from_rpy,
    rotation_log,
)

ROUND_OFF = 1e-13
components = st.floats(-1.0, 1.0, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-100 else x)
directions = st.tuples(components, components, components).map(np.array).filter(lambda x: np.linalg.norm(x) > 1e-3)
angles = st.floats(0.0, np.pi - 1e-6) | st.floats(0.0, 1e-3)


@st.composite
def rotation_vectors(draw: st.DrawFn) -> np.ndarray:
    direction = draw(directions)
    return draw(angles) * direction / np.linalg.norm(direction)


def from_scipy(rotation: Rotation) -> np.ndarray:
    return np.roll(rotation.as_quat(), 1)


@given(rotation_vectors())
def test_exponential_is_that_of_scipy(theta: np.ndarray) -> None:
    R = Rotation.from_rotvec(theta)
    np.testing.assert_allclose(quaternion_exp(theta), from_scipy(R), atol=ROUND_OFF)
    np.testing.assert_allclose(rotation_exp(theta), R.as_matrix(), atol=ROUND_OFF)


@given(rotation_vectors())
def test_logarithm_inverts_the_exponential(theta: np.ndarray) -> None:
    np.testing.assert_allclose(quaternion_log(quaternion_exp(theta)), theta, atol=1e-12)
    np.testing.assert_allclose(quaternion_log(-quaternion_exp(theta)), theta, atol=1e-12)
    np.testing.assert_allclose(rotation_log(rotation_exp(theta)), theta, atol=1e-8)  # R loses half the digits near pi


@given(rotation_vectors(), rotation_vectors())
def test_product_of_quaternions_is_the_product_of_rotations(a: np.ndarray, b: np.ndarray) -> None:
    product = quaternion_multiply(quaternion_exp(a), quaternion_exp(b))
    expected = (Rotation.from_rotvec(a) * Rotation.from_rotvec(b)).as_matrix()
    np.testing.assert_allclose(quaternion_to_matrix(product), expected, atol=ROUND_OFF)


@given(rotation_vectors())
def test_quaternion_of_a_matrix_is_the_one_with_positive_real_part(theta: np.ndarray) -> None:
    quaternion = matrix_to_quaternion(Rotation.from_rotvec(theta).as_matrix())
    assert quaternion[0] >= 0.0
    np.testing.assert_allclose(quaternion_to_matrix(quaternion), Rotation.from_rotvec(theta).as_matrix(), atol=1e-12)


@pytest.mark.parametrize("axis", range(3))
def test_half_turns_survive_the_way_through_a_matrix(axis: int) -> None:
    R = Rotation.from_rotvec(np.pi * np.eye(3)[axis]).as_matrix()
    np.testing.assert_allclose(quaternion_to_matrix(matrix_to_quaternion(R)), R, atol=ROUND_OFF)
    assert np.linalg.norm(rotation_log(R)) == pytest.approx(np.pi, abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.99 * SMALL_ANGLE_RAD, 1.01 * SMALL_ANGLE_RAD, 0.3, 2.0, 3.1])
def test_left_jacobian_is_the_derivative_of_the_exponential(angle: float, check_jacobian: Callable) -> None:
    theta = angle * np.array([0.36, -0.48, 0.8])

    def turned(x: np.ndarray) -> np.ndarray:
        return rotation_log(rotation_exp(theta + x) @ rotation_exp(theta).T)

    check_jacobian(left_jacobian(theta), turned, tolerance=1e-10, step=1e-3)


@given(st.tuples(*[st.floats(-7.0, 7.0)] * 3).map(np.array))
def test_roll_pitch_yaw_are_fixed_axis_angles(rpy: np.ndarray) -> None:
    np.testing.assert_allclose(rotation_from_rpy(rpy), Rotation.from_euler("xyz", rpy).as_matrix(), atol=ROUND_OFF)
