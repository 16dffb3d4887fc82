"""Vectorised pose arithmetic over series: errors and interpolation. Quaternions wxyz, frames in W."""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]


def rotation_vectors(quaternion_wxyz: FloatArray, reference_wxyz: FloatArray) -> FloatArray:
    """Return the rotation vectors theta (n, 3), rad, with R = Exp(theta) R_reference, |theta| <= pi.

    Parameters
    ----------
    quaternion_wxyz, reference_wxyz : (n, 4) or (4,) array
        Unit quaternions of R and R_reference; they broadcast.
    """
    w, xyz = _multiply_by_conjugate(np.atleast_2d(quaternion_wxyz), np.atleast_2d(reference_wxyz))
    sign = np.where(w < 0.0, -1.0, 1.0)
    sine = np.linalg.norm(xyz, axis=1)
    angle = 2.0 * np.arctan2(sine, np.abs(w))
    scale = np.divide(angle, sine, out=np.full_like(angle, 2.0), where=sine > 1e-12)
    vectors: FloatArray = (sign * scale)[:, None] * xyz
    return vectors


def angles_deg(quaternion_wxyz: FloatArray, reference_wxyz: FloatArray) -> FloatArray:
    """Return the angles (n,) between orientations, deg."""
    angles: FloatArray = np.degrees(np.linalg.norm(rotation_vectors(quaternion_wxyz, reference_wxyz), axis=1))
    return angles


def angles_about_deg(quaternion_wxyz: FloatArray, reference_wxyz: FloatArray, axis_W: FloatArray) -> FloatArray:
    """Return the turn (n,) from the reference about the unit axis in W, deg, without jumps at 180 degrees."""
    along = rotation_vectors(quaternion_wxyz, reference_wxyz) @ axis_W
    angles: FloatArray = np.degrees(np.unwrap(along))
    return angles


def interpolate(t_ns: IntArray, knots_ns: IntArray, values: FloatArray) -> FloatArray:
    """Return `values` (m, k) at the knots interpolated linearly at t_ns, (n, k), held constant outside.

    Relative time is used, since a double cannot hold a wall-clock stamp to the nanosecond.
    """
    origin = knots_ns[0]
    t, knots = (t_ns - origin) * 1e-9, (knots_ns - origin) * 1e-9
    return np.column_stack([np.interp(t, knots, column) for column in values.T])


def interpolate_quaternions(t_ns: IntArray, knots_ns: IntArray, wxyz: FloatArray) -> FloatArray:
    """Return unit quaternions at t_ns, (n, 4): linear between sign-aligned knots, then normalised.

    Exact at the knots; between knots that are an angle a apart the error is below a^3 / 100 rad.
    """
    signs = np.cumprod(np.where(np.sum(wxyz[1:] * wxyz[:-1], axis=1) < 0.0, -1.0, 1.0))
    aligned = wxyz * np.concatenate([[1.0], signs])[:, None]
    mixed = interpolate(t_ns, knots_ns, aligned)
    unit: FloatArray = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return unit


def _multiply_by_conjugate(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scalar (n,) and vector part (n, 3) of a b*."""
    wa, va, wb, vb = a[:, :1], a[:, 1:], b[:, :1], -b[:, 1:]
    scalar = wa * wb - np.sum(va * vb, axis=1, keepdims=True)
    vector = wa * vb + wb * va + np.cross(va, vb)
    return scalar[:, 0], vector
