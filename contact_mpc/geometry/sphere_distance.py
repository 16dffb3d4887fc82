"""Signed distance from a sphere to a primitive, with the derivative of the normal, in closed form and compiled.

In the frame G of the other shape, a sphere centre c has the signed distance s(c) to the bare core of the shape (a
point, a segment, a box, a cylinder). The normal n = ds/dc points from the shape to the sphere, and N = dn/dc is the
curvature of the offset surface:

    point      n = c / |c|            N = (I - n n') / |c|
    segment    n = (c - c*) / s       N = (I - n n' - z z') / s   beside it, as for a point beyond its ends
    box        the same for a vertex and an edge, N = 0 over a face and inside
    cylinder   beside: as a segment; over a cap: N = 0; at the rim: curvature of the rim

Valid away from the medial axis, where the normal jumps (the centre of a sphere, the diagonals inside a box).
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.model.kinematic_tree import BOX, CAPSULE, CYLINDER

FloatArray = NDArray[np.float64]
TINY_M = 1e-12  # below it a direction is undefined and the z axis is taken


@njit(cache=True)
def _radial(r: FloatArray, rank: FloatArray, n: FloatArray, N: FloatArray) -> float:
    """Normal and curvature of the distance |r| where only the axes with rank = 1 are free."""
    s = np.sqrt(r[0] ** 2 + r[1] ** 2 + r[2] ** 2)
    if s < TINY_M:
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
        N[:, :] = 0.0
        return s
    for i in range(3):
        n[i] = r[i] / s
    for i in range(3):
        for j in range(3):
            N[i, j] = ((rank[i] if i == j else 0.0) - n[i] * n[j]) / s
    return s


@njit(cache=True)
def _segment(c: FloatArray, half_length: float, n: FloatArray, N: FloatArray, scratch: FloatArray) -> float:
    r, rank = scratch[0], scratch[1]
    along = min(max(c[2], -half_length), half_length)
    r[0], r[1], r[2] = c[0], c[1], c[2] - along
    rank[0], rank[1], rank[2] = 1.0, 1.0, 0.0 if along == c[2] else 1.0
    return _radial(r, rank, n, N)


@njit(cache=True)
def _box(c: FloatArray, half: FloatArray, n: FloatArray, N: FloatArray, scratch: FloatArray) -> float:
    r, rank = scratch[0], scratch[1]
    outside = False
    for i in range(3):
        near = min(max(c[i], -half[i]), half[i])
        r[i] = c[i] - near
        rank[i] = 0.0 if near == c[i] else 1.0
        outside = outside or near != c[i]
    if outside:
        return _radial(r, rank, n, N)
    best = 0
    for i in range(1, 3):
        if half[i] - abs(c[i]) < half[best] - abs(c[best]):
            best = i
    n[:] = 0.0
    N[:, :] = 0.0
    n[best] = 1.0 if c[best] >= 0.0 else -1.0
    return abs(c[best]) - half[best]


@njit(cache=True)
def _cylinder(c: FloatArray, radius: float, half: float, n: FloatArray, N: FloatArray, scratch: FloatArray) -> float:
    """Distance to a solid cylinder about z: in the half plane (rho, z) it is a box."""
    rho = max(np.sqrt(c[0] ** 2 + c[1] ** 2), TINY_M)
    ex, ey = c[0] / rho, c[1] / rho
    d_rho, d_z = rho - radius, abs(c[2]) - half
    sign = 1.0 if c[2] >= 0.0 else -1.0
    n[:] = 0.0
    N[:, :] = 0.0
    if d_rho <= 0.0 and d_z <= 0.0 or d_rho <= 0.0 or d_z <= 0.0:
        side = d_rho > d_z
        n_rho, n_z, s = (1.0, 0.0, d_rho) if side else (0.0, sign, d_z)
        bend = 0.0
    else:
        s = np.sqrt(d_rho**2 + d_z**2)
        n_rho, n_z = d_rho / s, sign * d_z / s
        bend = 1.0 / s
    n[0], n[1], n[2] = n_rho * ex, n_rho * ey, n_z
    # meridian plane: tangent t = (n_z, -n_rho) turns with `bend`; around the axis the radial part turns with n_rho / rho
    t = scratch[0]
    t[0], t[1], t[2] = n_z * ex, n_z * ey, -n_rho
    around = n_rho / rho
    N[0, 0], N[1, 1] = around * ey * ey, around * ex * ex
    N[0, 1] = N[1, 0] = -around * ex * ey
    for i in range(3):
        for j in range(3):
            N[i, j] += bend * t[i] * t[j]
    return s


@njit(cache=True)
def core_distance(shape: int, size: FloatArray, c: FloatArray, n: FloatArray, N: FloatArray, scratch: FloatArray) -> float:
    """Return the distance, m, from the point c (3,) in the shape's frame to the shape; write n (3,) and N (3, 3).

    For a sphere and a capsule the distance is to the centre or the segment, minus the radius. scratch is (2, 3).
    """
    if shape == BOX:
        return _box(c, size, n, N, scratch)
    if shape == CYLINDER:
        return _cylinder(c, size[0], size[1], n, N, scratch)
    return _segment(c, size[1] if shape == CAPSULE else 0.0, n, N, scratch) - size[0]
