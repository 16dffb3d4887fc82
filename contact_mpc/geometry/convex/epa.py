"""Depth of the origin in the difference C of two cores that overlap, by the expanding polytope algorithm, compiled.

A polytope inside C grows by the support point along the normal of its face nearest to the origin until that face is one
of C (G. van den Bergen, "Proximity queries and penetration depth computation on 3D game objects", 2001). A signed
distance is taken, so the origin may lie outside, too, where the shapes just touch.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.gjk import triangle_weights
from contact_mpc.geometry.convex.support import MOST_FACES, MOST_POINTS, Placed, Scratch, add_support
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, row, scaled
from contact_mpc.model.polytopes import Polytopes
from contact_mpc.settings.compile_flags import COMPILED

TOLERANCE_M = 1e-10
CURVED_TOLERANCE_M = 1e-8  # `nearest` polishes what a cylinder takes part in
FLAT_M = 1e-12  # over a face, where a point does not see it
THIN = 1e-10  # area against edge^2: a face without a direction
SAME_PLANE = 10.0  # times the tolerance: faces that are equally near
NEW_ROWS = 64  # faces kept free for one expansion


@njit(**COMPILED)
def _add_face(work: Scratch, count: int, i: int, j: int, k: int) -> int:
    """Write the face (i, j, k), counter-clockwise from outside; return the number of faces."""
    a, ab, ac = row(work.y, i), minus(row(work.y, j), row(work.y, i)), minus(row(work.y, k), row(work.y, i))
    n = cross(ab, ac)
    area = np.sqrt(dot(n, n))
    work.triangles[count, 0], work.triangles[count, 1], work.triangles[count, 2] = i, j, k
    if area <= THIN * max(dot(ab, ab), dot(ac, ac)):
        n, area = (0.0, 0.0, 0.0), 0.0
    else:
        n = scaled(1.0 / area, n)
    work.planes[count, 0], work.planes[count, 1], work.planes[count, 2] = n
    work.planes[count, 3] = dot(n, a) if area > 0.0 else np.inf
    return count + 1


@njit(**COMPILED)
def _direction(i: int) -> Vector:
    sign = 1.0 if i % 2 == 0 else -1.0
    return (
        sign if i // 2 == 0 else 0.1 * sign,
        sign if i // 2 == 1 else -0.2 * sign,
        sign if i // 2 == 2 else 0.3 * sign,
    )


@njit(**COMPILED)
def _spread(work: Scratch, count: int) -> float:
    """Return |y_1 - y_0|, twice the area or six times the volume of the first 2, 3 or 4 points."""
    o = row(work.y, 0)
    x = minus(row(work.y, 1), o)
    if count == 2:
        return float(np.sqrt(dot(x, x)))
    n = cross(x, minus(row(work.y, 2), o))
    if count == 3:
        return float(np.sqrt(dot(n, n)))
    return abs(dot(n, minus(row(work.y, 3), o)))


@njit(**COMPILED)
def _complete(shapes: Polytopes, s_A: Placed, s_B: Placed, work: Scratch, count: int) -> bool:
    """Extend the simplex of `count` points to the tetrahedron that spans most; False where C is flat."""
    if count == 0:
        add_support(shapes, s_A, s_B, (1.0, 0.0, 0.0), work, 0)
        count = 1
    while count < 4:
        best, found = 0.0, -1
        for i in range(8):
            d = _direction(i)
            if i >= 6:
                if count != 3:
                    continue
                n = cross(minus(row(work.y, 1), row(work.y, 0)), minus(row(work.y, 2), row(work.y, 0)))
                d = scaled(1.0 if i == 6 else -1.0, n)
            add_support(shapes, s_A, s_B, d, work, count)
            value = _spread(work, count + 1)
            if value > best:
                best, found = value, i
        if found < 0:
            return False
        d = _direction(found)
        if found >= 6:
            n = cross(minus(row(work.y, 1), row(work.y, 0)), minus(row(work.y, 2), row(work.y, 0)))
            d = scaled(1.0 if found == 6 else -1.0, n)
        add_support(shapes, s_A, s_B, d, work, count)
        count += 1
    return True


@njit(**COMPILED)
def _first_faces(work: Scratch) -> int:
    o = row(work.y, 0)
    n = cross(minus(row(work.y, 1), o), minus(row(work.y, 2), o))
    count, outside = 0, dot(n, minus(row(work.y, 3), o)) > 0.0
    j, k = (2, 1) if outside else (1, 2)
    count = _add_face(work, count, 0, j, k)
    count = _add_face(work, count, 0, k, 3)
    count = _add_face(work, count, k, j, 3)
    return _add_face(work, count, j, 0, 3)


@njit(**COMPILED)
def _remove_seen(work: Scratch, faces: int, y: Vector) -> tuple[int, int]:
    """Remove the faces that the point y sees; return how many are left, and the edges of the hole in `rim`."""
    edges, f = 0, 0
    while f < faces:
        n = (work.planes[f, 0], work.planes[f, 1], work.planes[f, 2])
        is_flat = work.planes[f, 3] == np.inf
        if not is_flat and dot(n, minus(y, row(work.y, work.triangles[f, 0]))) <= FLAT_M:
            f += 1
            continue
        if is_flat and not _touches_hole(work, f, edges):
            f += 1
            continue
        for k in range(3):
            edges = _toggle(work, edges, work.triangles[f, k], work.triangles[f, (k + 1) % 3])
        faces -= 1
        for k in range(3):
            work.triangles[f, k], work.planes[f, k] = work.triangles[faces, k], work.planes[faces, k]
        work.planes[f, 3] = work.planes[faces, 3]
    return faces, edges


@njit(**COMPILED)
def _touches_hole(work: Scratch, f: int, edges: int) -> bool:
    """Return whether a face without direction borders on the hole: it goes with its neighbour."""
    for e in range(edges):
        for k in range(3):
            i, j = work.triangles[f, k], work.triangles[f, (k + 1) % 3]
            if work.rim[e, 0] == j and work.rim[e, 1] == i:
                return True
    return False


@njit(**COMPILED)
def _toggle(work: Scratch, edges: int, i: int, j: int) -> int:
    """Take the edge (j, i) out of the rim, or add (i, j)."""
    for e in range(edges):
        if work.rim[e, 0] == j and work.rim[e, 1] == i:
            work.rim[e, 0], work.rim[e, 1] = work.rim[edges - 1, 0], work.rim[edges - 1, 1]
            return edges - 1
    work.rim[edges, 0], work.rim[edges, 1] = i, j
    return edges + 1


@njit(**COMPILED)
def _nearest_face(work: Scratch, faces: int) -> int:
    best = 0
    for f in range(1, faces):
        if work.planes[f, 3] < work.planes[best, 3]:
            best = f
    return best


@njit(**COMPILED)
def _face_with_point(work: Scratch, faces: int, depth: float) -> int:
    """Return, of the faces up to `depth` away, the one that has the nearest point of all: faces may share a plane."""
    best, found = np.inf, 0
    for f in range(faces):
        if work.planes[f, 3] <= depth:
            a, b, c = (
                row(work.y, work.triangles[f, 0]),
                row(work.y, work.triangles[f, 1]),
                row(work.y, work.triangles[f, 2]),
            )
            w = triangle_weights(a, b, c)
            v = axpy(w[0], a, axpy(w[1], b, scaled(w[2], c)))
            if dot(v, v) < best:
                best, found = dot(v, v), f
    return found


@njit(**COMPILED)
def penetration(
    shapes: Polytopes, s_A: Placed, s_B: Placed, count: int, tolerance: float, work: Scratch
) -> tuple[bool, Vector, float]:
    """Return whether a depth was found, the normal from B to A, and the signed distance, m.

    Starts from `count` points in `work`; leaves the three points of the face with their weights as the first ones.
    """
    if not _complete(shapes, s_A, s_B, work, count):
        return False, (0.0, 0.0, 1.0), 0.0
    faces, points = _first_faces(work), 4
    while True:
        f = _nearest_face(work, faces)
        n, depth = (work.planes[f, 0], work.planes[f, 1], work.planes[f, 2]), work.planes[f, 3]
        if depth == np.inf:
            return False, (0.0, 0.0, 1.0), 0.0
        if points == MOST_POINTS or faces > MOST_FACES - NEW_ROWS:
            break
        y = add_support(shapes, s_A, s_B, n, work, points)
        if dot(n, y) - depth < tolerance:
            break
        faces, edges = _remove_seen(work, faces, y)
        for e in range(edges):
            faces = _add_face(work, faces, work.rim[e, 0], work.rim[e, 1], points)
        points += 1
    _keep_face(work, _face_with_point(work, faces, depth + SAME_PLANE * tolerance))
    return True, scaled(-1.0, n), -depth


@njit(**COMPILED)
def _keep_face(work: Scratch, f: int) -> None:
    """Move the points of face f to the front, with the weights of its point nearest to the origin."""
    i, j, k = work.triangles[f, 0], work.triangles[f, 1], work.triangles[f, 2]
    work.weights[0], work.weights[1], work.weights[2] = triangle_weights(row(work.y, i), row(work.y, j), row(work.y, k))
    points = (
        (i, row(work.a, i), row(work.b, i)),
        (j, row(work.a, j), row(work.b, j)),
        (k, row(work.a, k), row(work.b, k)),
    )
    ids = ((work.id[i, 0], work.id[i, 1]), (work.id[j, 0], work.id[j, 1]), (work.id[k, 0], work.id[k, 1]))
    for m in range(3):
        _, a, b = points[m]
        y = minus(a, b)
        work.id[m, 0], work.id[m, 1] = ids[m]
        for q in range(3):
            work.y[m, q], work.a[m, q], work.b[m, q] = y[q], a[q], b[q]
