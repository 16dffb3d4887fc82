"""A convex shape where it stands, its support points, and the buffers of one distance query.

The difference C = {x_A - x_B} of two shapes decides on everything: they are apart by its distance from the origin, and
they overlap by the depth of the origin in it. A and B stand for cores without their radii (a point, a segment, a
polytope) or for a solid cylinder. Positions are in the axes of the world, seen from the frame of B.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.geometry.vectors import Vector, axpy, dot, minus
from contact_mpc.model.polytopes import FACE_CORNERS
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

MOST_POINTS, MOST_FACES = 128, 256  # of the polytope that EPA grows
MOST_CONTACTS = 12
SYSTEM = 5  # unknowns of `motion`: two of the normal, three along features
A, B, ID, WEIGHT, POINT_WIDTH = 3, 6, 9, 11, 12  # columns of `Scratch.points`
RECORD = 36  # of a contact, see `records`
ON_AXIS = 1e-14
Triple = tuple[int, int, int]


class Placed(NamedTuple):
    """A geometry with the axes of its frame and its origin, its radius and its vertices `first` to `end`.

    radius is 0 of what is no sphere or capsule, radius and half length of the cylinder of what is none.
    """

    axes: tuple[Vector, Vector, Vector]
    p: Vector
    radius: float
    first: int
    end: int
    cylinder_radius: float
    cylinder_half: float


class Scratch(NamedTuple):
    """Buffers.

    points : (128 + 3, 12) points of C (3), of A (3) and of B (3), their vertices (2; -1 on a cylinder), weights
    mesh : (256, 9) triangles (3) and planes (4) of EPA, edges of a hole (2)
    small : (5 + 16, 11) the linear system of `motion`, then corners (8) of a face of A and of B
    records : (12, 36) contacts of a pair
    """

    points: FloatArray
    mesh: FloatArray
    small: FloatArray
    records: FloatArray


def make_scratch() -> Scratch:
    """Allocate."""
    return Scratch(
        np.zeros((MOST_POINTS + 3, POINT_WIDTH)),
        np.zeros((MOST_FACES, 9)),
        np.zeros((SYSTEM + 2 * FACE_CORNERS, SYSTEM + 6)),
        np.zeros((MOST_CONTACTS, RECORD)),
    )


@njit(inline="always", **COMPILED)
def to_frame(s: Placed, d: Vector) -> Vector:
    """Return a direction of the world in the axes of the shape."""
    return dot(s.axes[0], d), dot(s.axes[1], d), dot(s.axes[2], d)


@njit(inline="always", **COMPILED)
def to_world(s: Placed, d: Vector) -> Vector:
    """Return a direction of the shape's frame in the axes of the world."""
    return axpy(d[0], s.axes[0], axpy(d[1], s.axes[1], (d[2] * s.axes[2][0], d[2] * s.axes[2][1], d[2] * s.axes[2][2])))


@njit(inline="always", **COMPILED)
def from_frame(s: Placed, x: Vector) -> Vector:
    """Return where the point x of the shape's frame stands."""
    return axpy(x[0], s.axes[0], axpy(x[1], s.axes[1], axpy(x[2], s.axes[2], s.p)))


@njit(inline="always", **COMPILED)
def vertex(points: FloatArray, s: Placed, v: int) -> Vector:
    """Return where the vertex v stands; points are those of `Polytopes`."""
    return from_frame(s, (points[v, 0], points[v, 1], points[v, 2]))


@njit(**COMPILED)
def support(points: FloatArray, s: Placed, d: Vector) -> tuple[int, Vector]:
    """Return the point of a core that is furthest along d, with its vertex, or -1 on a cylinder."""
    x, y, z = to_frame(s, d)
    if s.cylinder_radius > 0.0:
        across = np.sqrt(x * x + y * y)
        scale = s.cylinder_radius / across if across > ON_AXIS else 0.0
        return -1, from_frame(s, (scale * x, scale * y, s.cylinder_half if z >= 0.0 else -s.cylinder_half))
    best, found = -np.inf, s.first
    for v in range(s.first, s.end):
        value = x * points[v, 0] + y * points[v, 1] + z * points[v, 2]
        if value > best:
            best, found = value, v
    return found, vertex(points, s, found)


@njit(**INNER)
def add_support(points: FloatArray, s_A: Placed, s_B: Placed, d: Vector, out: FloatArray, i: int) -> Vector:
    """Write the point of C that is furthest along d to row i of `Scratch.points`; return it."""
    v_A, a = support(points, s_A, d)
    v_B, b = support(points, s_B, (-d[0], -d[1], -d[2]))
    y = minus(a, b)
    for k in range(3):
        out[i, k], out[i, A + k], out[i, B + k] = y[k], a[k], b[k]
    out[i, ID], out[i, ID + 1] = v_A, v_B
    return y


@njit(inline="always", **COMPILED)
def part(out: FloatArray, i: int, column: int) -> Vector:
    """Return three columns of row i, e.g. of the point of A."""
    return out[i, column], out[i, column + 1], out[i, column + 2]
