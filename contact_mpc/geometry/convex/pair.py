"""All contacts of a pair of convex shapes, written to the rows of the contact arrays, compiled.

The first row has the nearest points, the others the contacts of faces and edges that lie on each other (`manifold`), of
which a point that is there already counts once; rows without a contact have the gap inf. Where the shapes are further
apart than `limit` the first row has a lower bound of the gap, and no motion.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.manifold import Flat, corner_feature, crossing, flat_part, is_over, other_feature
from contact_mpc.geometry.convex.motion import Feature, refine, write_motion
from contact_mpc.geometry.convex.nearest import Nearest, centres_apart, find_nearest
from contact_mpc.geometry.convex.records import DISTANCE, GAP, NORMAL, OF_B, POINT, add_record, read_feature
from contact_mpc.geometry.convex.support import Placed, Scratch, part
from contact_mpc.geometry.crossing_edges import COS_FLAT
from contact_mpc.geometry.vectors import Vector, axpy, dot, minus, scaled
from contact_mpc.model.polytopes import Polytopes
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

TINY_M = 1e-12


@njit(**INNER)
def _normal(flat: Flat, sign: float, r: Vector, toward: Vector) -> Vector:
    """Return the normal of a corner over a flat part of B (sign 1) or A (-1): that of the face, else along r."""
    if flat.corners > 2:
        return scaled(sign, flat.normal)
    length = np.sqrt(dot(r, r))
    if length < TINY_M:
        return toward
    return scaled((1.0 if dot(r, toward) >= 0.0 else -1.0) / length, r)


@njit(**COMPILED)
def _add(found: int, count: int, f_A: Feature, f_B: Feature, n: Vector, toward: Vector, work: Scratch) -> int:
    """Keep a contact of the flat parts, if its normal is within FLAT of `toward`; return how many are kept."""
    s = dot(n, minus(f_A.x, f_B.x))
    if dot(f_A.bend, f_A.bend) + dot(f_B.bend, f_B.bend) > 0.0:
        f_A, f_B, n, s = refine(f_A, f_B, n, work.small)
    if dot(n, toward) < COS_FLAT:
        return found
    return add_record(work.records, found, count, f_A, f_B, n, s)


@njit(**INNER)
def _add_flat_contacts(shapes: Polytopes, s_A: Placed, s_B: Placed, nearest: Nearest, count: int, work: Scratch) -> int:
    """Collect the contacts of the flat parts around the nearest features; return how many there are with the first."""
    n, away, found, small = nearest.n, scaled(-1.0, nearest.n), 1, work.small
    flat_A = flat_part(shapes.points, shapes.lists, s_A, nearest.ids_A, away, 0, small)
    if flat_A.corners < 2:
        return found
    flat_B = flat_part(shapes.points, shapes.lists, s_B, nearest.ids_B, n, 1, small)
    if flat_B.corners < 2:
        return found
    for i in range(flat_A.corners):
        f_A = corner_feature(s_A, flat_A, 0, i, away, small)
        if is_over(f_A.x, flat_B, 1, small):
            f_B = other_feature(f_A.x, flat_B, 1, small)
            found = _add(found, count, f_A, f_B, _normal(flat_B, 1.0, minus(f_A.x, f_B.x), n), n, work)
    for i in range(flat_B.corners):
        f_B = corner_feature(s_B, flat_B, 1, i, n, small)
        if is_over(f_B.x, flat_A, 0, small):
            f_A = other_feature(f_B.x, flat_A, 0, small)
            found = _add(found, count, f_A, f_B, _normal(flat_A, -1.0, minus(f_A.x, f_B.x), n), n, work)
    for i in range(flat_A.corners if flat_A.corners > 2 else 1):
        for j in range(flat_B.corners if flat_B.corners > 2 else 1):
            is_crossing, f_A, f_B, m = crossing(i, j, flat_A, flat_B, n, small)
            if is_crossing:
                found = _add(found, count, f_A, f_B, m, n, work)
    return found


@njit(**COMPILED)
def collect_contacts(
    shapes: Polytopes, g_A: int, s_A: Placed, g_B: int, s_B: Placed, limit: float, count: int, work: Scratch
) -> tuple[int, float, Vector]:
    """Write the contacts of a pair to `work.records`, at most `count`, seen from the frame of B.

    Returns how many, the least gap, m, and its normal; 0 where shapes are further apart than `limit`, m, with a bound
    of the gap and its direction.
    """
    apart, bound = centres_apart(shapes, g_A, s_A, g_B, s_B)
    if bound > limit:
        return 0, bound, scaled(1.0 / np.sqrt(dot(apart, apart)), apart)
    nearest = find_nearest(shapes, s_A, s_B, apart, limit, work)
    if not nearest.is_near:
        return 0, nearest.distance - s_A.radius - s_B.radius, nearest.n
    found = add_record(work.records, 0, 1, nearest.f_A, nearest.f_B, nearest.n, nearest.distance)
    if count > 1:
        found = _add_flat_contacts(shapes, s_A, s_B, nearest, count, work)
    return found, work.records[0, GAP], nearest.n


@njit(**INNER)
def write_contacts(
    found: int, first: int, count: int, bound: float, toward: Vector, origin: Vector, work: Scratch,
    phi: FloatArray, n_W: FloatArray, p: FloatArray, centre: FloatArray,
    N: FloatArray, M: FloatArray, T: FloatArray, P: FloatArray,
) -> None:  # fmt: skip
    """Write what `collect_contacts` left to the rows first to first + count - 1, moved to the world by `origin`."""
    records = work.records
    for c in range(count):
        phi[first + c] = np.inf
    if found == 0:
        phi[first] = bound
        for i in range(3):
            n_W[first, i], centre[first, i], p[first, i] = toward[i], origin[i], origin[i]
            for k in range(3):
                N[first, i, k] = M[first, i, k] = T[first, i, k] = P[first, i, k] = 0.0
        return
    for c in range(found):
        f_A, f_B, n = read_feature(records, c, 0), read_feature(records, c, OF_B), part(records, c, NORMAL)
        w, x = axpy(-f_A.radius, n, f_A.x), part(records, c, POINT)
        phi[first + c] = records[c, GAP]
        for i in range(3):
            n_W[first + c, i], p[first + c, i], centre[first + c, i] = n[i], x[i] + origin[i], w[i] + origin[i]
        write_motion(first + c, f_A, f_B, n, records[c, DISTANCE], work.small, N, M, T, P)
