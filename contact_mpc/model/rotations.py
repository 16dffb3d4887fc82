"""Rotations: quaternions wxyz, rotation matrices, exponential coordinates, Jacobians of SO(3).

Perturbations are on the left, in the world frame: R_next = Exp(dtheta) R. Compiled, so that the step calls them.
Source: J. Sola et al., "A micro Lie theory for state estimation in robotics", 2018, eqs. 143-148.
"""

import numpy as np
from numba import njit

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import RAISING

SMALL_ANGLE_RAD = 1e-4  # below it the series are exact to round-off: the next term is (1e-4)^4 / 120


@njit(**RAISING)
def quaternion_to_matrix(quaternion: FloatArray) -> FloatArray:
    """Return R of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


@njit(**RAISING)
def quaternion_multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the product a b of quaternions (w, x, y, z)."""
    return np.array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


@njit(**RAISING)
def quaternion_exp(theta: FloatArray) -> FloatArray:
    """Return the unit quaternion of the rotation vector theta (3,), rad."""
    angle = np.sqrt(theta[0] ** 2 + theta[1] ** 2 + theta[2] ** 2)
    scale = 0.5 - angle**2 / 48.0 if angle < SMALL_ANGLE_RAD else np.sin(0.5 * angle) / angle
    return np.array([np.cos(0.5 * angle), scale * theta[0], scale * theta[1], scale * theta[2]])


@njit(**RAISING)
def quaternion_log(quaternion: FloatArray) -> FloatArray:
    """Return the rotation vector (3,), |theta| <= pi, of a unit quaternion (w, x, y, z)."""
    sign = 1.0 if quaternion[0] >= 0.0 else -1.0
    w = sign * quaternion[0]
    n = np.sqrt(quaternion[1] ** 2 + quaternion[2] ** 2 + quaternion[3] ** 2)
    scale = 2.0 * sign if n < 1e-12 else sign * 2.0 * np.arctan2(n, w) / n
    return np.array([scale * quaternion[1], scale * quaternion[2], scale * quaternion[3]])


@njit(**RAISING)
def matrix_to_quaternion(R: FloatArray) -> FloatArray:
    """Return the unit quaternion (w, x, y, z), w >= 0, of a rotation matrix (Shepperd's method)."""
    t = np.array([R[0, 0] + R[1, 1] + R[2, 2], R[0, 0], R[1, 1], R[2, 2]])
    i = np.argmax(t)
    if i == 0:
        q = np.array([1.0 + t[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    elif i == 1:
        q = np.array([R[2, 1] - R[1, 2], 1.0 + 2.0 * R[0, 0] - t[0], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]])
    elif i == 2:
        q = np.array([R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1.0 + 2.0 * R[1, 1] - t[0], R[1, 2] + R[2, 1]])
    else:
        q = np.array([R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1.0 + 2.0 * R[2, 2] - t[0]])
    q /= np.sqrt(np.sum(q * q))
    return q if q[0] >= 0.0 else -q


@njit(**RAISING)
def rotation_exp(theta: FloatArray) -> FloatArray:
    """Return Exp(theta), the rotation matrix of a rotation vector (3,), rad."""
    return quaternion_to_matrix(quaternion_exp(theta))


@njit(**RAISING)
def rotation_log(R: FloatArray) -> FloatArray:
    """Return the rotation vector (3,), |theta| <= pi, of a rotation matrix."""
    return quaternion_log(matrix_to_quaternion(R))


@njit(**RAISING)
def left_jacobian(theta: FloatArray) -> FloatArray:
    """Return J_l(theta) with Exp(theta + e) = Exp(J_l e) Exp(theta) + O(|e|^2)."""
    angle2 = theta[0] ** 2 + theta[1] ** 2 + theta[2] ** 2
    angle = np.sqrt(angle2)
    if angle < SMALL_ANGLE_RAD:
        a, b = 0.5 - angle2 / 24.0, 1.0 / 6.0 - angle2 / 120.0
    else:
        a, b = (1.0 - np.cos(angle)) / angle2, (angle - np.sin(angle)) / (angle2 * angle)
    x, y, z, c = theta[0], theta[1], theta[2], 1.0 - b * angle2  # I + a [theta]x + b (theta theta' - |theta|^2 I)
    return np.array(
        [
            [c + b * x * x, b * x * y - a * z, b * x * z + a * y],
            [b * x * y + a * z, c + b * y * y, b * y * z - a * x],
            [b * x * z - a * y, b * y * z + a * x, c + b * z * z],
        ]
    )


def random_rotation(rng: np.random.Generator) -> FloatArray:
    """Return a rotation matrix drawn uniformly from SO(3): that of a normal quaternion made a unit one."""
    wxyz = rng.standard_normal(4)
    return quaternion_to_matrix(wxyz / np.linalg.norm(wxyz))


def rotation_from_rpy(rpy_rad: FloatArray) -> FloatArray:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll) of URDF's fixed-axis angles (roll, pitch, yaw), rad."""
    r, p, y = (float(angle) for angle in rpy_rad)
    cr, sr, cp, sp, cy, sy = np.cos(r), np.sin(r), np.cos(p), np.sin(p), np.cos(y), np.sin(y)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(R: FloatArray) -> FloatArray:
    """Return roll, pitch, yaw (3,), rad, with R = R_z(yaw) R_y(pitch) R_x(roll); yaw is 0 at a pitch of +-90 deg."""
    sine = -R[2, 0]
    cosine = np.hypot(R[0, 0], R[1, 0])
    pitch = np.arctan2(sine, cosine)
    if cosine < 1e-9:
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def unit_vector(vector: FloatArray) -> FloatArray | None:
    """Return the direction (3,) of a vector of any finite length above 1e-9, or None; its square may overflow."""
    largest = float(np.abs(vector).max())
    if not 1e-9 <= largest < np.inf:
        return None
    scaled = vector / largest
    return np.asarray(scaled / np.linalg.norm(scaled))
