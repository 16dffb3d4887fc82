"""Depth of the origin in the difference C of two cores that overlap, by the expanding polytope algorithm, compiled.

A polytope inside C grows by the support point along the normal of its face nearest to the origin until that face is one
of C (G. van den Bergen, "Proximity queries and penetration depth computation on 3D game objects", 2001). A signed
distance is taken, so the origin may lie outside, too, where the shapes just touch.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.gjk import triangle_weights
from contact_mpc.geometry.convex.support import (
    MOST_FACES,
    MOST_POINTS,
    POINT_WIDTH,
    WEIGHT,
    Placed,
    add_support,
)
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, row, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

FLAT_M = 1e-12  # over a face, where a point does not see it
THIN = 1e-10  # area against edge^2: a face without a direction
SAME_PLANE = 10.0  # times the tolerance: faces that are equally near
NEW_ROWS = 64  # faces kept free for one expansion


@njit(**INNER)
def _add_face(work: FloatArray, mesh: FloatArray, count: int, i: int, j: int, k: int) -> int:
    """Write the face (i, j, k), counter-clockwise from outside; return the number of faces."""
    a, ab, ac = row(work, i), minus(row(work, j), row(work, i)), minus(row(work, k), row(work, i))
    n = cross(ab, ac)
    area = np.sqrt(dot(n, n))
    mesh[count, 0], mesh[count, 1], mesh[count, 2] = i, j, k
    if area <= THIN * max(dot(ab, ab), dot(ac, ac)):
        n, area = (0.0, 0.0, 0.0), 0.0
    else:
        n = scaled(1.0 / area, n)
    mesh[count, 3], mesh[count, 4], mesh[count, 5] = n
    mesh[count, 6] = dot(n, a) if area > 0.0 else np.inf
    return count + 1


@njit(**INNER)
def _direction(i: int) -> Vector:
    sign = 1.0 if i % 2 == 0 else -1.0
    return (
        sign if i // 2 == 0 else 0.1 * sign,
        sign if i // 2 == 1 else -0.2 * sign,
        sign if i // 2 == 2 else 0.3 * sign,
    )


@njit(**COMPILED)
def _spread(work: FloatArray, count: int) -> float:
    """Return |y_1 - y_0|, twice the area or six times the volume of the first 2, 3 or 4 points."""
    o = row(work, 0)
    x = minus(row(work, 1), o)
    if count == 2:
        return float(np.sqrt(dot(x, x)))
    n = cross(x, minus(row(work, 2), o))
    if count == 3:
        return float(np.sqrt(dot(n, n)))
    return abs(dot(n, minus(row(work, 3), o)))


@njit(**COMPILED)
def _complete(points: FloatArray, s_A: Placed, s_B: Placed, work: FloatArray, count: int) -> bool:
    """Extend the simplex of `count` points to the tetrahedron that spans most; False where C is flat."""
    if count == 0:
        add_support(points, s_A, s_B, (1.0, 0.0, 0.0), work, 0)
        count = 1
    while count < 4:
        best, found = 0.0, -1
        for i in range(8):
            d = _direction(i)
            if i >= 6:
                if count != 3:
                    continue
                n = cross(minus(row(work, 1), row(work, 0)), minus(row(work, 2), row(work, 0)))
                d = scaled(1.0 if i == 6 else -1.0, n)
            add_support(points, s_A, s_B, d, work, count)
            value = _spread(work, count + 1)
            if value > best:
                best, found = value, i
        if found < 0:
            return False
        d = _direction(found)
        if found >= 6:
            n = cross(minus(row(work, 1), row(work, 0)), minus(row(work, 2), row(work, 0)))
            d = scaled(1.0 if found == 6 else -1.0, n)
        add_support(points, s_A, s_B, d, work, count)
        count += 1
    return True


@njit(**INNER)
def _first_faces(work: FloatArray, mesh: FloatArray) -> int:
    o = row(work, 0)
    n = cross(minus(row(work, 1), o), minus(row(work, 2), o))
    count, outside = 0, dot(n, minus(row(work, 3), o)) > 0.0
    j, k = (2, 1) if outside else (1, 2)
    count = _add_face(work, mesh, count, 0, j, k)
    count = _add_face(work, mesh, count, 0, k, 3)
    count = _add_face(work, mesh, count, k, j, 3)
    return _add_face(work, mesh, count, j, 0, 3)


@njit(**INNER)
def _remove_seen(work: FloatArray, mesh: FloatArray, faces: int, y: Vector) -> tuple[int, int]:
    """Remove the faces that the point y sees; return how many are left, and the edges of the hole in `rim`."""
    edges, f = 0, 0
    while f < faces:
        n = (mesh[f, 3], mesh[f, 4], mesh[f, 5])
        is_flat = mesh[f, 6] == np.inf
        if not is_flat and dot(n, minus(y, row(work, int(mesh[f, 0])))) <= FLAT_M:
            f += 1
            continue
        if is_flat and not _touches_hole(mesh, f, edges):
            f += 1
            continue
        for k in range(3):
            edges = _toggle(mesh, edges, int(mesh[f, k]), int(mesh[f, (k + 1) % 3]))
        faces -= 1
        for k in range(7):
            mesh[f, k] = mesh[faces, k]
    return faces, edges


@njit(**INNER)
def _touches_hole(mesh: FloatArray, f: int, edges: int) -> bool:
    """Return whether a face without direction borders on the hole: it goes with its neighbour."""
    for e in range(edges):
        for k in range(3):
            i, j = int(mesh[f, k]), int(mesh[f, (k + 1) % 3])
            if int(mesh[e, 7]) == j and int(mesh[e, 8]) == i:
                return True
    return False


@njit(**INNER)
def _toggle(mesh: FloatArray, edges: int, i: int, j: int) -> int:
    """Take the edge (j, i) out of the rim, or add (i, j)."""
    for e in range(edges):
        if int(mesh[e, 7]) == j and int(mesh[e, 8]) == i:
            mesh[e, 7], mesh[e, 8] = mesh[edges - 1, 7], mesh[edges - 1, 8]
            return edges - 1
    mesh[edges, 7], mesh[edges, 8] = i, j
    return edges + 1


@njit(**INNER)
def _nearest_face(mesh: FloatArray, faces: int) -> int:
    best = 0
    for f in range(1, faces):
        if mesh[f, 6] < mesh[best, 6]:
            best = f
    return best


@njit(**INNER)
def _face_with_point(work: FloatArray, mesh: FloatArray, faces: int, depth: float) -> int:
    """Return, of the faces up to `depth` away, the one that has the nearest point of all: faces may share a plane."""
    best, found = np.inf, 0
    for f in range(faces):
        if mesh[f, 6] <= depth:
            a, b, c = (
                row(work, int(mesh[f, 0])),
                row(work, int(mesh[f, 1])),
                row(work, int(mesh[f, 2])),
            )
            w = triangle_weights(a, b, c)
            v = axpy(w[0], a, axpy(w[1], b, scaled(w[2], c)))
            if dot(v, v) < best:
                best, found = dot(v, v), f
    return found


@njit(**COMPILED)
def penetration(
    points: FloatArray, s_A: Placed, s_B: Placed, count: int, tolerance: float, work: FloatArray, mesh: FloatArray
) -> Vector:
    """Return the normal from B to A along which the cores are least deep in each other.

    tolerance is that of the depth, m. Starts from `count` points in `work`, leaves the three points of the face with
    their weights as the first ones. A flat C (two segments in a plane) has no depth: all stays on the first point.
    """
    if not _complete(points, s_A, s_B, work, count):
        work[0, WEIGHT], work[1, WEIGHT], work[2, WEIGHT] = 1.0, 0.0, 0.0
        return 0.0, 0.0, 1.0
    faces, count = _first_faces(work, mesh), 4
    while True:
        f = _nearest_face(mesh, faces)
        n, depth = (mesh[f, 3], mesh[f, 4], mesh[f, 5]), mesh[f, 6]
        if depth == np.inf:
            work[0, WEIGHT], work[1, WEIGHT], work[2, WEIGHT] = 1.0, 0.0, 0.0
            return 0.0, 0.0, 1.0
        if count == MOST_POINTS or faces > MOST_FACES - NEW_ROWS:
            break
        y = add_support(points, s_A, s_B, n, work, count)
        if not dot(n, y) - depth > tolerance:
            break
        faces, edges = _remove_seen(work, mesh, faces, y)
        for e in range(edges):
            faces = _add_face(work, mesh, faces, int(mesh[e, 7]), int(mesh[e, 8]), count)
        count += 1
    f = _face_with_point(work, mesh, faces, depth + SAME_PLANE * tolerance)
    _keep_face(work, mesh, f)
    return -mesh[f, 3], -mesh[f, 4], -mesh[f, 5]


@njit(**INNER)
def _keep_face(work: FloatArray, mesh: FloatArray, f: int) -> None:
    """Move the points of face f to the front, with the weights of its point nearest to the origin."""
    for m in range(3):
        for q in range(POINT_WIDTH):
            work[MOST_POINTS + m, q] = work[int(mesh[f, m]), q]
    for m in range(3):
        for q in range(POINT_WIDTH):
            work[m, q] = work[MOST_POINTS + m, q]
    work[0, WEIGHT], work[1, WEIGHT], work[2, WEIGHT] = triangle_weights(row(work, 0), row(work, 1), row(work, 2))
