"""All contacts of a pair of convex shapes, written to the rows of the contact arrays, compiled.

The first row has the nearest points, the others the contacts of faces and edges that lie on each other (`manifold`), of
which a point that is there already counts once; rows without a contact have the gap inf. Where the shapes are further
apart than `limit` the first row has a lower bound of the gap, and no motion.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.manifold import (
    Flat,
    corner_feature,
    crossing,
    flat_part,
    is_over,
    other_feature,
)
from contact_mpc.geometry.convex.motion import Feature, refine, write_motion
from contact_mpc.geometry.convex.nearest import Nearest, find_nearest
from contact_mpc.geometry.convex.support import Placed, Scratch
from contact_mpc.geometry.crossing_edges import COS_FLAT
from contact_mpc.geometry.vectors import Vector, axpy, dot, minus, row, scaled
from contact_mpc.model.polytopes import Polytopes
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.compile_flags import COMPILED

SAME_POINT_M = 1e-9
TINY_M = 1e-12


@njit(**COMPILED)
def _free_row(phi: FloatArray, p: FloatArray, first: int, count: int, gap: float, x: Vector) -> int:
    """Return the row for a contact at x: a free one, else that of the largest gap if larger, else -1."""
    largest = first + 1
    for c in range(first, first + count):
        r = minus(row(p, c), x)
        if phi[c] < np.inf and dot(r, r) < SAME_POINT_M * SAME_POINT_M:
            return -1
        if c > first and phi[c] > phi[largest]:
            largest = c
    return largest if gap < phi[largest] else -1


@njit(**COMPILED)
def _write_row(
    c: int, f_A: Feature, f_B: Feature, n: Vector, s: float, origin: Vector, work: Scratch,
    phi: FloatArray, n_W: FloatArray, p: FloatArray, centre: FloatArray,
    N: FloatArray, M: FloatArray, T: FloatArray, P: FloatArray,
) -> None:  # fmt: skip
    gap = s - f_A.radius - f_B.radius
    w = axpy(-f_A.radius, n, axpy(1.0, f_A.x, origin))
    middle = axpy(-0.5 * gap, n, w)
    phi[c] = gap
    for k in range(3):
        n_W[c, k], p[c, k], centre[c, k] = n[k], middle[k], w[k]
    write_motion(c, f_A, f_B, n, s, work, N, M, T, P)


@njit(**COMPILED)
def _add_row(
    first: int, count: int, f_A: Feature, f_B: Feature, n: Vector, toward: Vector, origin: Vector, work: Scratch,
    phi: FloatArray, n_W: FloatArray, p: FloatArray, centre: FloatArray,
    N: FloatArray, M: FloatArray, T: FloatArray, P: FloatArray,
) -> None:  # fmt: skip
    """Write a contact of the flat parts, if its normal is within FLAT of `toward` and there is a row for it."""
    is_round = dot(f_A.bend, f_A.bend) + dot(f_B.bend, f_B.bend) > 0.0
    s = dot(n, minus(f_A.x, f_B.x))
    if is_round:
        f_A, f_B, n, s = refine(f_A, f_B, n, work)
    if dot(n, toward) < COS_FLAT:
        return
    gap = s - f_A.radius - f_B.radius
    middle = axpy(-f_A.radius - 0.5 * gap, n, axpy(1.0, f_A.x, origin))
    c = _free_row(phi, p, first, count, gap, middle)
    if c >= 0:
        _write_row(c, f_A, f_B, n, s, origin, work, phi, n_W, p, centre, N, M, T, P)


@njit(**COMPILED)
def _normal(part: Flat, sign: float, r: Vector, toward: Vector) -> Vector:
    """Return the normal of a corner over a flat part of B (sign 1) or A (-1): that of the face, else along r."""
    if part.corners > 2:
        return scaled(sign, part.normal)
    length = np.sqrt(dot(r, r))
    if length < TINY_M:
        return toward
    return scaled((1.0 if dot(r, toward) >= 0.0 else -1.0) / length, r)


@njit(**COMPILED)
def _write_flat_contacts(
    shapes: Polytopes, s_A: Placed, s_B: Placed, found: Nearest, first: int, count: int, origin: Vector, work: Scratch,
    phi: FloatArray, n_W: FloatArray, p: FloatArray, centre: FloatArray,
    N: FloatArray, M: FloatArray, T: FloatArray, P: FloatArray,
) -> None:  # fmt: skip
    n, away = found.n, scaled(-1.0, found.n)
    part_A = flat_part(shapes, s_A, found.ids_A, away, 0, work)
    part_B = flat_part(shapes, s_B, found.ids_B, n, 1, work)
    if part_A.corners < 2 or part_B.corners < 2:
        return
    for i in range(part_A.corners):
        f_A = corner_feature(s_A, part_A, 0, i, away, shapes.radius[s_A.g], work)
        if is_over(f_A.x, part_B, 1, work):
            f_B = other_feature(f_A.x, part_B, 1, work)
            m = _normal(part_B, 1.0, minus(f_A.x, f_B.x), n)
            _add_row(first, count, f_A, f_B, m, n, origin, work, phi, n_W, p, centre, N, M, T, P)
    for i in range(part_B.corners):
        f_B = corner_feature(s_B, part_B, 1, i, n, shapes.radius[s_B.g], work)
        if is_over(f_B.x, part_A, 0, work):
            f_A = other_feature(f_B.x, part_A, 0, work)
            m = _normal(part_A, -1.0, minus(f_A.x, f_B.x), n)
            _add_row(first, count, f_A, f_B, m, n, origin, work, phi, n_W, p, centre, N, M, T, P)
    for i in range(part_A.corners if part_A.corners > 2 else 1):
        for j in range(part_B.corners if part_B.corners > 2 else 1):
            is_inside, f_A, f_B, m = crossing(i, j, part_A, part_B, n, work)
            if is_inside:
                _add_row(first, count, f_A, f_B, m, n, origin, work, phi, n_W, p, centre, N, M, T, P)


@njit(**COMPILED)
def write_pair(
    shapes: Polytopes, s_A: Placed, s_B: Placed, limit: float, first: int, count: int, origin: Vector, work: Scratch,
    phi: FloatArray, n_W: FloatArray, p: FloatArray, centre: FloatArray,
    N: FloatArray, M: FloatArray, T: FloatArray, P: FloatArray,
) -> None:  # fmt: skip
    """Write the contacts of a pair to the rows first to first + count - 1.

    Shapes are seen from `origin` (in the world), where phi, n_W, p, centre and N, M, T, P stand, too.
    """
    for c in range(first + 1, first + count):
        phi[c] = np.inf
    found = find_nearest(shapes, s_A, s_B, limit, work)
    if found.is_near:
        _write_row(first, found.f_A, found.f_B, found.n, found.distance, origin, work, phi, n_W, p, centre, N, M, T, P)
        if count > 1:
            _write_flat_contacts(shapes, s_A, s_B, found, first, count, origin, work, phi, n_W, p, centre, N, M, T, P)
        return
    phi[first] = found.distance - shapes.radius[s_A.g] - shapes.radius[s_B.g]
    for i in range(3):
        n_W[first, i], centre[first, i] = found.n[i], found.f_A.x[i] + origin[i]
        p[first, i] = 0.5 * (found.f_A.x[i] + found.f_B.x[i]) + origin[i]
        for k in range(3):
            N[first, i, k] = M[first, i, k] = T[first, i, k] = P[first, i, k] = 0.0
