"""Distance of two convex cores by the algorithm of Gilbert, Johnson and Keerthi, compiled.

The point v of C nearest to the origin is found over simplices of support points (C. Ericson, "Real-Time Collision
Detection", 2005, sections 5.1 and 9.5). Along v / |v| the shapes are at least v . y / |v| apart, with y the support
point against v, so a query ends as soon as that is more than `limit`, and else where |v| is within `tolerance` of it.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.support import POINT_WIDTH, WEIGHT, Placed, add_support
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, row, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import INNER

APART, BEYOND, OVERLAP = 0, 1, 2
TOUCHING_M = 1e-9  # nearer cores are left to EPA, which takes small gaps, too
SAME_M = 1e-13
MOST_ITERATIONS = 100


@njit(**INNER)
def triangle_weights(a: Vector, b: Vector, c: Vector) -> Vector:
    """Return the weights of the point of a triangle that is nearest to the origin."""
    ab, ac = minus(b, a), minus(c, a)
    d_1, d_2 = -dot(ab, a), -dot(ac, a)
    if d_1 <= 0.0 and d_2 <= 0.0:
        return 1.0, 0.0, 0.0
    d_3, d_4 = -dot(ab, b), -dot(ac, b)
    if d_3 >= 0.0 and d_4 <= d_3:
        return 0.0, 1.0, 0.0
    v_c = d_1 * d_4 - d_3 * d_2
    if v_c <= 0.0 and d_1 >= 0.0 and d_3 <= 0.0:
        t = d_1 / (d_1 - d_3)
        return 1.0 - t, t, 0.0
    d_5, d_6 = -dot(ab, c), -dot(ac, c)
    if d_6 >= 0.0 and d_5 <= d_6:
        return 0.0, 0.0, 1.0
    v_b = d_5 * d_2 - d_1 * d_6
    if v_b <= 0.0 and d_2 >= 0.0 and d_6 <= 0.0:
        t = d_2 / (d_2 - d_6)
        return 1.0 - t, 0.0, t
    v_a = d_3 * d_6 - d_5 * d_4
    if v_a <= 0.0 and d_4 >= d_3 and d_5 >= d_6:
        t = (d_4 - d_3) / ((d_4 - d_3) + (d_5 - d_6))
        return 0.0, 1.0 - t, t
    scale = 1.0 / (v_a + v_b + v_c)
    return v_a * scale, v_b * scale, v_c * scale


@njit(**INNER)
def _segment_weights(work: FloatArray) -> None:
    a, b = row(work, 0), row(work, 1)
    ab = minus(b, a)
    length2 = dot(ab, ab)
    t = min(max(-dot(ab, a) / length2, 0.0), 1.0) if length2 > 0.0 else 0.0
    work[0, WEIGHT], work[1, WEIGHT] = 1.0 - t, t


@njit(**INNER)
def _tetrahedron_weights(work: FloatArray) -> bool:
    """Write the weights of the nearest point of a tetrahedron; return whether the origin is inside, weights unset."""
    best, found, best_face = np.inf, (0.0, 0.0, 0.0), -1
    for face in range(4):  # without the point `face`
        i, j, k = (1 if face == 0 else 0), (1 if face > 1 else 2), (2 if face == 3 else 3)
        a, b, c = row(work, i), row(work, j), row(work, k)
        normal = cross(minus(b, a), minus(c, a))
        own, other = -dot(normal, a), dot(normal, minus(row(work, face), a))
        if own * other > 0.0:
            continue
        w = triangle_weights(a, b, c)
        v = axpy(w[0], a, axpy(w[1], b, scaled(w[2], c)))
        if dot(v, v) < best:
            best, found, best_face = dot(v, v), w, face
    if best_face < 0:
        return True
    i, j, k = (1 if best_face == 0 else 0), (1 if best_face > 1 else 2), (2 if best_face == 3 else 3)
    work[best_face, WEIGHT] = 0.0
    work[i, WEIGHT], work[j, WEIGHT], work[k, WEIGHT] = found
    return False


@njit(**INNER)
def _reduce(work: FloatArray, count: int) -> int:
    """Drop the points without weight; return how many are left."""
    left = 0
    for i in range(count):
        if work[i, WEIGHT] > 0.0:
            if left != i:
                for k in range(POINT_WIDTH):
                    work[left, k] = work[i, k]
            left += 1
    return left


@njit(**INNER)
def _nearest_on_simplex(work: FloatArray, count: int) -> tuple[int, Vector]:
    """Keep the points that span the nearest feature of a simplex to the origin; return how many, and the point.

    Four are left where the origin is inside a tetrahedron.
    """
    work[0, WEIGHT] = 1.0
    if count == 2:
        _segment_weights(work)
    elif count == 3:
        work[0, WEIGHT], work[1, WEIGHT], work[2, WEIGHT] = triangle_weights(row(work, 0), row(work, 1), row(work, 2))
    elif count == 4 and _tetrahedron_weights(work):
        return 4, (0.0, 0.0, 0.0)
    count = _reduce(work, count)
    v = (0.0, 0.0, 0.0)
    for i in range(count):
        v = axpy(work[i, WEIGHT], row(work, i), v)
    return count, v


@njit(**INNER)
def _is_known(work: FloatArray, count: int, y: Vector) -> bool:
    for i in range(count):
        r = minus(row(work, i), y)
        if dot(r, r) < SAME_M * SAME_M:
            return True
    return False


@njit(**INNER)
def nearest_points(
    points: FloatArray, s_A: Placed, s_B: Placed, start: Vector, limit: float, tolerance: float, work: FloatArray
) -> tuple[int, int, Vector]:
    """Return the state (APART, BEYOND, OVERLAP), the points of the simplex in `work`, and v.

    start is a first guess of v (not zero), limit a distance of the cores and `tolerance` its accuracy, m. Where BEYOND,
    v is the direction along which the cores are at least |v| apart.
    """
    v, count = start, 0
    for _ in range(MOST_ITERATIONS):
        length = np.sqrt(dot(v, v))
        y = add_support(points, s_A, s_B, scaled(-1.0, v), work, count)
        bound = dot(v, y) / length
        if bound > limit:
            return BEYOND, count, scaled(bound / length, v)
        if count > 0 and (length - bound < tolerance or _is_known(work, count, y)):
            break
        left, new = _nearest_on_simplex(work, count + 1)
        if left == 4 or dot(new, new) < TOUCHING_M * TOUCHING_M:
            return OVERLAP, left, new
        stalled = count > 0 and dot(new, new) >= length * length
        v, count = new, left
        if stalled:
            break
    return APART, count, v
