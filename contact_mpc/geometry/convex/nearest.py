"""Signed distance and nearest features of two convex shapes, compiled: GJK where cores are apart, else EPA."""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.epa import CURVED_TOLERANCE_M, TOLERANCE_M, penetration
from contact_mpc.geometry.convex.features import nearest_features, spanning_vertices
from contact_mpc.geometry.convex.gjk import BEYOND, OVERLAP, nearest_points
from contact_mpc.geometry.convex.motion import ZERO, Feature
from contact_mpc.geometry.convex.support import Placed, Scratch, from_frame
from contact_mpc.geometry.vectors import Vector, axpy, dot, minus, row, scaled
from contact_mpc.model.polytopes import Polytopes
from contact_mpc.settings.compile_flags import COMPILED

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
    ids_A: tuple[int, int, int]
    ids_B: tuple[int, int, int]


@njit(**COMPILED)
def _point(x: Vector) -> Feature:
    return Feature(x, 0, ZERO, ZERO, ZERO, 0.0)


@njit(**COMPILED)
def _beyond(s_A: Placed, s_B: Placed, n: Vector, distance: float) -> Nearest:
    none = (-1, -1, -1)
    return Nearest(False, _point(s_A.p), _point(s_B.p), n, distance, none, none)


@njit(**COMPILED)
def find_nearest(shapes: Polytopes, s_A: Placed, s_B: Placed, limit: float, work: Scratch) -> Nearest:
    """Return the nearest features of two shapes; those with a gap above `limit`, m, are not resolved.

    Bounding spheres are asked first. Without a result of EPA (a flat core in another) they touch at their centres.
    """
    radii = shapes.radius[s_A.g] + shapes.radius[s_B.g]
    apart = minus(from_frame(s_A, row(shapes.centre, s_A.g)), from_frame(s_B, row(shapes.centre, s_B.g)))
    length = np.sqrt(dot(apart, apart))
    bound = length - shapes.reach[s_A.g] - shapes.reach[s_B.g]
    if bound > limit:
        return _beyond(s_A, s_B, scaled(1.0 / length, apart), bound + radii)
    start = apart if length > COINCIDENT_M else (0.0, 0.0, 1.0)
    state, count, v = nearest_points(shapes, s_A, s_B, start, limit + radii, work)
    if state == BEYOND:
        distance = np.sqrt(dot(v, v))
        return _beyond(s_A, s_B, scaled(1.0 / distance, v), distance)
    if state == OVERLAP:
        is_curved = s_A.cylinder_radius > 0.0 or s_B.cylinder_radius > 0.0
        tolerance = CURVED_TOLERANCE_M if is_curved else TOLERANCE_M
        _is_found, n, s = penetration(shapes, s_A, s_B, count, tolerance, work)
        count = 3
    else:
        s = np.sqrt(dot(v, v))
        n = scaled(1.0 / s, v)
    x_A, x_B = ZERO, ZERO
    for i in range(count):
        x_A, x_B = axpy(work.weights[i], row(work.a, i), x_A), axpy(work.weights[i], row(work.b, i), x_B)
    ids_A, ids_B = spanning_vertices(work, 0, count), spanning_vertices(work, 1, count)
    f_A, f_B, n, s = nearest_features(shapes, s_A, s_B, n, s, x_A, x_B, ids_A, ids_B, work)
    return Nearest(True, f_A, f_B, n, s, ids_A, ids_B)
