"""A convex shape where it stands, its support points, and the buffers of one distance query.

The difference C = {x_A - x_B} of two shapes decides on everything: they are apart by its distance from the origin, and
they overlap by the depth of the origin in it. A and B stand for cores without their radii (a point, a segment, a
polytope) or for a solid cylinder. Positions are in the axes of the world, seen from the frame of B.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.geometry.vectors import Vector, axpy, dot, minus
from contact_mpc.model.polytopes import FACE_CORNERS, Polytopes
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.compile_flags import COMPILED

IntArray = NDArray[np.int64]
MOST_POINTS, MOST_FACES = 128, 256  # of the polytope that EPA grows
SYSTEM = 5  # unknowns of `motion`: two of the normal, three along features
ON_AXIS = 1e-14


class Placed(NamedTuple):
    """A geometry g with the axes of its frame and its origin; radius and half length where it is a cylinder, else 0."""

    g: int
    axes: tuple[Vector, Vector, Vector]
    p: Vector
    cylinder_radius: float
    cylinder_half: float


class Scratch(NamedTuple):
    """Buffers: points of C with those of A and B, vertices of A and B (-1 on a cylinder), weights of a simplex.

    y, a, b (128, 3), id (128, 2); weights (4,); triangles (256, 3), planes (256, 4), rim (256, 2) : of EPA
    faces (2, 8, 3) : corners of a face of A and of B;  system (5, 11) : see `motion`
    """

    y: FloatArray
    a: FloatArray
    b: FloatArray
    id: IntArray
    weights: FloatArray
    triangles: IntArray
    planes: FloatArray
    rim: IntArray
    faces: FloatArray
    system: FloatArray


def make_scratch() -> Scratch:
    """Allocate."""
    return Scratch(
        np.zeros((MOST_POINTS, 3)),
        np.zeros((MOST_POINTS, 3)),
        np.zeros((MOST_POINTS, 3)),
        np.zeros((MOST_POINTS, 2), dtype=np.int64),
        np.zeros(4),
        np.zeros((MOST_FACES, 3), dtype=np.int64),
        np.zeros((MOST_FACES, 4)),
        np.zeros((MOST_FACES, 2), dtype=np.int64),
        np.zeros((2, FACE_CORNERS, 3)),
        np.zeros((SYSTEM, SYSTEM + 6)),
    )


@njit(inline="always", **COMPILED)
def to_frame(s: Placed, d: Vector) -> Vector:
    """Return a direction of the world in the axes of the shape."""
    return dot(s.axes[0], d), dot(s.axes[1], d), dot(s.axes[2], d)


@njit(inline="always", **COMPILED)
def from_frame(s: Placed, x: Vector) -> Vector:
    """Return where the point x of the shape's frame stands."""
    return axpy(x[0], s.axes[0], axpy(x[1], s.axes[1], axpy(x[2], s.axes[2], s.p)))


@njit(inline="always", **COMPILED)
def vertex(shapes: Polytopes, s: Placed, v: int) -> Vector:
    """Return where the vertex v stands."""
    return from_frame(s, (shapes.vertices[v, 0], shapes.vertices[v, 1], shapes.vertices[v, 2]))


@njit(**COMPILED)
def support(shapes: Polytopes, s: Placed, d: Vector) -> tuple[int, Vector]:
    """Return the point of a core that is furthest along d, with its vertex, or -1 on a cylinder."""
    x, y, z = to_frame(s, d)
    if s.cylinder_radius > 0.0:
        across = np.sqrt(x * x + y * y)
        scale = s.cylinder_radius / across if across > ON_AXIS else 0.0
        return -1, from_frame(s, (scale * x, scale * y, s.cylinder_half if z >= 0.0 else -s.cylinder_half))
    best, found = -np.inf, 0
    vertices = shapes.vertices
    for v in range(shapes.vertex_start[s.g], shapes.vertex_start[s.g + 1]):
        value = x * vertices[v, 0] + y * vertices[v, 1] + z * vertices[v, 2]
        if value > best:
            best, found = value, v
    return found, vertex(shapes, s, found)


@njit(**COMPILED)
def add_support(shapes: Polytopes, s_A: Placed, s_B: Placed, d: Vector, work: Scratch, i: int) -> Vector:
    """Write the point of C that is furthest along d as point i of the buffers; return it."""
    v_A, a = support(shapes, s_A, d)
    v_B, b = support(shapes, s_B, (-d[0], -d[1], -d[2]))
    y = minus(a, b)
    for k in range(3):
        work.y[i, k], work.a[i, k], work.b[i, k] = y[k], a[k], b[k]
    work.id[i, 0], work.id[i, 1] = v_A, v_B
    return y
