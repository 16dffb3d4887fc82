"""Signed distance and nearest features of two convex shapes, compiled: GJK where cores are apart, else EPA.

Beside a cylinder both converge slowly. They are stopped early (COARSE_M), since Newton's method on the features makes
the result exact; where that does not prove itself, they go on to FINE_M.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.epa import penetration
from contact_mpc.geometry.convex.features import nearest_features, spanning_vertices
from contact_mpc.geometry.convex.gjk import BEYOND, OVERLAP, nearest_points
from contact_mpc.geometry.convex.motion import ZERO, Feature
from contact_mpc.geometry.convex.support import WEIGHT, A, B, Placed, Scratch, Triple, from_frame, part
from contact_mpc.geometry.vectors import Vector, axpy, dot, minus, scaled
from contact_mpc.model.polytopes import Polytopes
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

COARSE_M, FINE_M = 1e-6, 1e-10
COINCIDENT_M = 1e-9


class Nearest(NamedTuple):
    """Features with their nearest points, normal from B to A, distance of the cores, m, vertices of the features.

    is_near is False where the shapes are further apart than the limit: distance is then a lower bound.
    """

    is_near: bool
    f_A: Feature
    f_B: Feature
    n: Vector
    distance: float
    ids_A: Triple
    ids_B: Triple


@njit(**INNER)
def _beyond(s_A: Placed, s_B: Placed, n: Vector, distance: float) -> Nearest:
    none = (-1, -1, -1)
    f_A, f_B = Feature(s_A.p, 0, ZERO, ZERO, ZERO, s_A.radius), Feature(s_B.p, 0, ZERO, ZERO, ZERO, s_B.radius)
    return Nearest(False, f_A, f_B, n, distance, none, none)


@njit(**INNER)
def find_nearest(shapes: Polytopes, s_A: Placed, s_B: Placed, start: Vector, limit: float, work: Scratch) -> Nearest:
    """Return the nearest features of two shapes; those with a gap above `limit`, m, are not resolved.

    start is a first guess of x_A - x_B.
    """
    limit += s_A.radius + s_B.radius
    if dot(start, start) < COINCIDENT_M * COINCIDENT_M:
        start = (0.0, 0.0, 1.0)
    is_curved = s_A.cylinder_radius > 0.0 or s_B.cylinder_radius > 0.0
    tolerance = COARSE_M if is_curved else FINE_M
    while True:
        state, count, v = nearest_points(shapes.points, s_A, s_B, start, limit, tolerance, work.points)
        s = np.sqrt(dot(v, v))
        if state == BEYOND:
            return _beyond(s_A, s_B, scaled(1.0 / s, v), s)
        n = v
        if state == OVERLAP:
            n = penetration(shapes.points, s_A, s_B, count, tolerance, work.points, work.mesh)
            count = 3
        else:
            n = scaled(1.0 / s, v)
        x_A, x_B = ZERO, ZERO
        for i in range(count):
            x_A = axpy(work.points[i, WEIGHT], part(work.points, i, A), x_A)
            x_B = axpy(work.points[i, WEIGHT], part(work.points, i, B), x_B)
        ids_A, ids_B = spanning_vertices(work.points, 0, count), spanning_vertices(work.points, 1, count)
        is_proved, f_A, f_B, m, distance = nearest_features(
            shapes.points, shapes.lists, s_A, s_B, n, x_A, x_B, ids_A, ids_B, work.small
        )
        if is_proved or tolerance == FINE_M:
            return Nearest(True, f_A, f_B, m, distance, ids_A, ids_B)
        tolerance, start = FINE_M, n


@njit(inline="always", **COMPILED)
def centres_apart(shapes: Polytopes, g_A: int, s_A: Placed, g_B: int, s_B: Placed) -> tuple[Vector, float]:
    """Return the vector between the centres of the bounding spheres, and how far the spheres are apart, m."""
    table = shapes.table
    apart = minus(
        from_frame(s_A, (table[g_A, 1], table[g_A, 2], table[g_A, 3])),
        from_frame(s_B, (table[g_B, 1], table[g_B, 2], table[g_B, 3])),
    )
    return apart, np.sqrt(dot(apart, apart)) - table[g_A, 4] - table[g_B, 4]
