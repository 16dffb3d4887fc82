"""Signed distance from a sphere to a primitive, with the derivative of the normal, in closed form and compiled.

In the frame G of the other shape, a sphere centre c has the signed distance s(c) to the bare core of the shape (a
point, a segment, a box, a cylinder). The normal n = ds/dc points from the shape to the sphere, and N = dn/dc is the
curvature of the offset surface:

    point      n = c / |c|            N = (I - n n') / |c|
    segment    n = (c - c*) / s       N = (I - n n' - z z') / s   beside it, as for a point beyond its ends
    box        the same for a vertex and an edge, N = 0 over a face and inside
    cylinder   beside: as a segment; over a cap: N = 0; at the rim: curvature of the rim
    half-space n = z, N = 0

Valid away from the medial axis, where the normal jumps (the centre of a sphere, the diagonals inside a box). However
near a point is to a surface it has the normal of its feature: only the curvature of edges, corners and rims, 1 / s, is
taken as zero below TINY_M.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.vectors import Vector, axpy, dot
from contact_mpc.model.kinematic_tree import BOX, CAPSULE, CYLINDER, HALF_SPACE
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

Symmetric = tuple[float, float, float, float, float, float]  # xx, xy, xz, yy, yz, zz
TINY_M = 1e-12  # of a round shape's axis, where the direction is undefined; a curvature of 1 / TINY_M has no use
FLAT = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@njit(**COMPILED)
def direction(r: Vector) -> tuple[float, Vector]:
    """Return |r| and r / |r| of r != 0, to round-off for components as small as they can be."""
    largest = max(abs(r[0]), abs(r[1]), abs(r[2]))
    x, y, z = r[0] / largest, r[1] / largest, r[2] / largest
    length = np.sqrt(x * x + y * y + z * z)
    return largest * length, (x / length, y / length, z / length)


@njit(**INNER)
def _radial(r: Vector, rank: Vector) -> tuple[float, Vector, Symmetric]:
    """Distance |r| > 0, its normal and its curvature, where only the axes with rank = 1 are free."""
    s, n = direction(r)
    if s < TINY_M:
        return s, n, FLAT
    i = 1.0 / s
    x, y, z = n
    N = ((rank[0] - x * x) * i, -x * y * i, -x * z * i, (rank[1] - y * y) * i, -y * z * i, (rank[2] - z * z) * i)
    return s, n, N


@njit(inline="always", **COMPILED)
def segment_distance(arm: Vector, axis: Vector, half_length: float) -> tuple[float, Vector, Symmetric]:
    """Return distance, normal and curvature for a segment (or a point: half_length = 0) about the origin, in any frame.

    arm is the sphere's centre, axis the segment's direction.
    """
    along = dot(axis, arm)
    beside = -half_length < along < half_length
    r = axpy(-min(max(along, -half_length), half_length), axis, arm)
    s = np.sqrt(dot(r, r))
    if s < TINY_M:
        return s, (0.0, 0.0, 1.0), FLAT
    i = 1.0 / s
    x, y, z = r[0] * i, r[1] * i, r[2] * i
    a_0, a_1, a_2 = axis if beside else (0.0, 0.0, 0.0)
    N = (
        (1.0 - x * x - a_0 * a_0) * i,
        (-x * y - a_0 * a_1) * i,
        (-x * z - a_0 * a_2) * i,
        (1.0 - y * y - a_1 * a_1) * i,
        (-y * z - a_1 * a_2) * i,
        (1.0 - z * z - a_2 * a_2) * i,
    )
    return s, (x, y, z), N


@njit(**COMPILED)
def beyond(x: float, half: float) -> float:
    """How far x lies outside [-half, half], signed."""
    return x - min(max(x, -half), half)


@njit(**INNER)
def face_normal(c: Vector, half: Vector) -> tuple[float, Vector]:
    """Return the signed distance, m, and the normal in the box's frame of the nearest face of a box around c."""
    depth = (abs(c[0]) - half[0], abs(c[1]) - half[1], abs(c[2]) - half[2])
    if depth[0] >= depth[1] and depth[0] >= depth[2]:
        return depth[0], (1.0 if c[0] >= 0.0 else -1.0, 0.0, 0.0)
    if depth[1] >= depth[2]:
        return depth[1], (0.0, 1.0 if c[1] >= 0.0 else -1.0, 0.0)
    return depth[2], (0.0, 0.0, 1.0 if c[2] >= 0.0 else -1.0)


@njit(**COMPILED)
def _box(c: Vector, half: Vector) -> tuple[float, Vector, Symmetric]:
    r = (beyond(c[0], half[0]), beyond(c[1], half[1]), beyond(c[2], half[2]))
    rank = (1.0 if r[0] != 0.0 else 0.0, 1.0 if r[1] != 0.0 else 0.0, 1.0 if r[2] != 0.0 else 0.0)
    if rank[0] + rank[1] + rank[2] > 0.0:
        return _radial(r, rank)
    s, n = face_normal(c, half)
    return s, n, FLAT


@njit(**COMPILED)
def _cylinder(c: Vector, radius: float, half: float) -> tuple[float, Vector, Symmetric]:
    """Distance to a solid cylinder about z, a box in the half plane (rho, z).

    Curvature: around the axis the radial part n_rho turns with n_rho / rho; over the rim the meridian tangent
    t = (n_z, -n_rho) bends with 1 / s.
    """
    rho = np.sqrt(c[0] ** 2 + c[1] ** 2)
    ex, ey = (c[0] / rho, c[1] / rho) if rho > TINY_M else (1.0, 0.0)
    d_rho, d_z = rho - radius, abs(c[2]) - half
    sign = 1.0 if c[2] >= 0.0 else -1.0
    bend = 0.0
    if d_rho > 0.0 and d_z > 0.0:
        s = np.sqrt(d_rho**2 + d_z**2)
        n_rho, n_z, bend = d_rho / s, sign * d_z / s, 1.0 / s if s > TINY_M else 0.0
    elif d_rho > d_z:
        n_rho, n_z, s = 1.0, 0.0, d_rho
    else:
        n_rho, n_z, s = 0.0, sign, d_z
    around = n_rho / max(rho, TINY_M)
    tx, ty, tz = n_z * ex, n_z * ey, -n_rho
    N = (
        around * ey * ey + bend * tx * tx,
        -around * ex * ey + bend * tx * ty,
        bend * tx * tz,
        around * ex * ex + bend * ty * ty,
        bend * ty * tz,
        bend * tz * tz,
    )
    return s, (n_rho * ex, n_rho * ey, n_z), N


@njit(**COMPILED)
def core_distance(shape: int, size: Vector, c: Vector) -> tuple[float, Vector, Symmetric]:
    """Return the distance, m, from the point c in the shape's frame to the shape, its normal n and curvature N, 1/m.

    For a sphere and a capsule the distance is to the centre or the segment, minus the radius.
    """
    if shape == BOX:
        return _box(c, size)
    if shape == CYLINDER:
        return _cylinder(c, size[0], size[1])
    if shape == HALF_SPACE:
        return c[2], (0.0, 0.0, 1.0), FLAT
    s, n, N = segment_distance(c, (0.0, 0.0, 1.0), size[1] if shape == CAPSULE else 0.0)
    return s - size[0], n, N
