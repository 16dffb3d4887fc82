"""Vectors of three as tuples of floats: in compiled loops they live in registers, where array views would not."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.settings.code.compile_flags import COMPILED

Vector = tuple[float, float, float]


@njit(inline="always", **COMPILED)
def row(a: NDArray[np.float64], i: int) -> Vector:
    """Return the row i of an (n, 3) array."""
    return a[i, 0], a[i, 1], a[i, 2]


@njit(inline="always", **COMPILED)
def rotate(R: NDArray[np.float64], b: int, x: Vector) -> Vector:
    """Return R[b] x for an (n, 3, 3) array of rotation matrices."""
    return (
        R[b, 0, 0] * x[0] + R[b, 0, 1] * x[1] + R[b, 0, 2] * x[2],
        R[b, 1, 0] * x[0] + R[b, 1, 1] * x[1] + R[b, 1, 2] * x[2],
        R[b, 2, 0] * x[0] + R[b, 2, 1] * x[1] + R[b, 2, 2] * x[2],
    )


@njit(inline="always", **COMPILED)
def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(inline="always", **COMPILED)
def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(inline="always", **COMPILED)
def axpy(s: float, a: Vector, b: Vector) -> Vector:
    """Return s a + b."""
    return s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2]


@njit(inline="always", **COMPILED)
def scaled(s: float, a: Vector) -> Vector:
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@njit(inline="always", **COMPILED)
def minus(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(inline="always", **COMPILED)
def dof_velocity(kind: int, axis: Vector, origin: Vector, p: Vector) -> Vector:
    """Return the velocity at p of unit motion of one degree of freedom: axis x (p - origin), or axis."""
    return cross(axis, minus(p, origin)) if kind == REVOLUTE else axis
