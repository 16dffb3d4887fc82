"""Which features of two shapes are nearest: from the simplex of GJK or the face of EPA, then exact by Newton, compiled.

The vertices of a simplex that have weight span the feature of a polytope: a vertex, an edge or a face. Where on a
cylinder the contact lies follows from the normal: end (n along the axis), side (n across it) or rim; near a transition
the features are tried in this order. What is found has to prove itself: the nearest points lie on their features, and
no point of the shapes lies beyond the planes across the normal there (to PROOF_M). If nothing does, the result of GJK
or EPA stays as it is, with a normal that turns with B.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.motion import ZERO, Feature, refine
from contact_mpc.geometry.convex.support import (
    ID,
    WEIGHT,
    Placed,
    Triple,
    from_frame,
    support,
    to_frame,
    to_world,
    vertex,
)
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, row, scaled
from contact_mpc.model.polytopes import FACE_CORNERS, IntArray
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

END, SIDE, RIM = 0, 1, 2
NEAR_TRANSITION = 1e-2  # rad: of the normal to the axis of a cylinder, or to its equator
PROOF_M = 1e-9
LEAST_WEIGHT = 1e-12
SAME_SIDE = 0.5  # cosine between the normal of GJK or EPA and the exact one
LEAST_SINE = 1e-3  # of the angle between edges that span a plane


@njit(**INNER)
def spanning_vertices(work: FloatArray, side: int, count: int) -> Triple:
    """Return the vertices of A (side 0) or B (1) in a simplex of `count` points, filled up to three with -1."""
    i, j, k = -1, -1, -1
    for m in range(count):
        v = int(work[m, ID + side])
        if work[m, WEIGHT] <= LEAST_WEIGHT or v in (i, j, k):
            continue
        if i < 0:
            i = v
        elif j < 0:
            j = v
        else:
            k = v
    return i, j, k


@njit(**INNER)
def _has_face(index: IntArray, v: int, face: int) -> bool:
    """Return whether the vertex v is on the face; -1 stands for no vertex, which is on any."""
    if v < 0:
        return True
    i, end = index[2 + v], index[3 + v]
    while i < end and index[i] != face:
        i += 1
    return bool(i < end)


@njit(**INNER)
def aligned_face(points: FloatArray, index: IntArray, s: Placed, ids: Triple, d: Vector) -> tuple[int, float]:
    """Return the face of a polytope with all vertices `ids` whose normal is nearest to d, and the cosine; -1: none.

    points and index are points and lists of `Polytopes`.
    """
    best, found, local = -2.0, -1, to_frame(s, d)
    if ids[0] < 0:
        return found, best
    for i in range(index[2 + ids[0]], index[3 + ids[0]]):
        face = index[i]
        value = dot(row(points, index[0] + face), local)
        if value > best and _has_face(index, ids[1], face) and _has_face(index, ids[2], face):
            best, found = value, face
    return found, best


@njit(inline="always", **COMPILED)
def unit(x: Vector) -> Vector:
    """Return x / |x|."""
    return scaled(1.0 / np.sqrt(dot(x, x)), x)


@njit(**INNER)
def plane_feature(x: Vector, n: Vector, radius: float) -> Feature:
    """Return the face through x across n."""
    t = unit(cross(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.6 else (0.0, 1.0, 0.0)))
    return Feature(x, 2, t, cross(n, t), ZERO, radius)


@njit(**INNER)
def polytope_feature(points: FloatArray, index: IntArray, s: Placed, ids: Triple, d: Vector, x: Vector) -> Feature:
    """Return the vertex, edge or face of a core with the vertices `ids`; x is a point of it, d points outwards."""
    if ids[1] < 0:
        return Feature(vertex(points, s, ids[0]), 0, ZERO, ZERO, ZERO, s.radius)
    a = vertex(points, s, ids[0])
    edge = unit(minus(vertex(points, s, ids[1]), a))
    if ids[2] >= 0:
        face, _cosine = aligned_face(points, index, s, ids, d)
        if face >= 0:
            n = to_world(s, row(points, index[0] + face))
            return plane_feature(axpy(-dot(n, minus(x, a)), n, x), n, s.radius)
        n = cross(edge, unit(minus(vertex(points, s, ids[2]), a)))
        if dot(n, n) > LEAST_SINE * LEAST_SINE:
            return plane_feature(x, unit(n), s.radius)
    return Feature(axpy(dot(edge, minus(x, a)), edge, a), 1, edge, ZERO, ZERO, s.radius)


@njit(**INNER)
def rim_feature(s: Placed, d: Vector, end: float) -> Feature:
    """Return the point of a cylinder's rim (end = -1 or 1) that is furthest along d, free to slide on the rim."""
    local = to_frame(s, d)
    across = np.sqrt(local[0] * local[0] + local[1] * local[1])
    out = (1.0, 0.0, 0.0) if across < 1e-14 else (local[0] / across, local[1] / across, 0.0)
    r = s.cylinder_radius
    x = from_frame(s, (r * out[0], r * out[1], end * s.cylinder_half))
    return Feature(x, 1, to_world(s, (-out[1], out[0], 0.0)), ZERO, scaled(1.0 / r, to_world(s, out)), 0.0)


@njit(**INNER)
def _cylinder_feature(s: Placed, where: int, d: Vector, x: Vector) -> Feature:
    """Return the end, side or rim of a cylinder along d; x is the nearest point so far."""
    axis, along = s.axes[2], dot(s.axes[2], d)
    sign = 1.0 if along >= 0.0 else -1.0
    z = dot(axis, minus(x, s.p))
    if where == END:
        return plane_feature(axpy(sign * s.cylinder_half - z, axis, x), axis, 0.0)
    if where == SIDE:
        return Feature(axpy(z, axis, s.p), 1, axis, ZERO, ZERO, s.cylinder_radius)
    return rim_feature(s, d, sign)


@njit(inline="always", **COMPILED)
def _choices(s: Placed, d: Vector) -> tuple[int, int]:
    """Return the features of a cylinder to be tried along d; twice the same where there is one."""
    along = abs(dot(s.axes[2], d))
    if along < NEAR_TRANSITION:
        return SIDE, RIM
    return (END, RIM) if along > 1.0 - 0.5 * NEAR_TRANSITION * NEAR_TRANSITION else (RIM, RIM)


@njit(**INNER)
def _separation(points: FloatArray, s_A: Placed, s_B: Placed, n: Vector) -> float:
    """Return how far apart the planes across n are that support the shapes, m: no pair of their points is nearer."""
    a, b = support(points, s_A, scaled(-1.0, n))[1], support(points, s_B, n)[1]
    return dot(n, minus(a, b)) - s_A.radius - s_B.radius


@njit(**INNER)
def _is_on(points: FloatArray, index: IntArray, s: Placed, where: int, ids: Triple, x: Vector, d: Vector) -> bool:
    """Return whether a point of the plane of a face, or of the line of an edge, belongs to it."""
    if s.cylinder_radius > 0.0:
        r = minus(x, s.p)
        z = dot(s.axes[2], r)
        if where == SIDE:
            return abs(z) < s.cylinder_half + PROOF_M
        return where == RIM or dot(r, r) - z * z < (s.cylinder_radius + PROOF_M) ** 2
    if ids[1] < 0:
        return True
    a = vertex(points, s, ids[0])
    if ids[2] < 0:
        along = minus(vertex(points, s, ids[1]), a)
        length, t = np.sqrt(dot(along, along)), dot(along, minus(x, a))
        return -PROOF_M * length < t < length * (length + PROOF_M)
    face, _cosine = aligned_face(points, index, s, ids, d)
    if face < 0:
        return True
    n = to_world(s, row(points, index[0] + face))
    first, end = index[4 + 2 * index[0] + face], index[5 + 2 * index[0] + face]
    if end - first == FACE_CORNERS:  # may have more
        return True
    a = vertex(points, s, index[end - 1])
    for i in range(first, end):
        b = vertex(points, s, index[i])
        along = minus(b, a)
        if dot(cross(along, minus(x, a)), n) < -PROOF_M * np.sqrt(dot(along, along)):
            return False
        a = b
    return True


@njit(**INNER)
def _feature(points: FloatArray, index: IntArray, s: Placed, where: int, ids: Triple, d: Vector, x: Vector) -> Feature:
    if s.cylinder_radius > 0.0:
        return _cylinder_feature(s, where, d, x)
    return polytope_feature(points, index, s, ids, d, x)


@njit(**INNER)
def nearest_features(
    points: FloatArray, index: IntArray, s_A: Placed, s_B: Placed, n: Vector, x_A: Vector, x_B: Vector,
    ids_A: Triple, ids_B: Triple, S: FloatArray,
) -> tuple[bool, Feature, Feature, Vector, float]:  # fmt: skip
    """Return whether features are proved, they at their nearest points, the normal and their distance, m.

    n, x_A, x_B and the vertices are those of GJK or EPA; S is a buffer of `motion`.
    """
    out = scaled(-1.0, n)
    choices_A, choices_B = _choices(s_A, out), _choices(s_B, n)
    count_A = 1 if s_A.cylinder_radius == 0.0 or choices_A[0] == choices_A[1] else 2
    count_B = 1 if s_B.cylinder_radius == 0.0 or choices_B[0] == choices_B[1] else 2
    for trial in range(count_A * count_B):
        where_A, where_B = choices_A[trial % count_A], choices_B[trial // count_A]
        f_A = _feature(points, index, s_A, where_A, ids_A, out, x_A)
        f_B = _feature(points, index, s_B, where_B, ids_B, n, x_B)
        f_A, f_B, m, length = refine(f_A, f_B, n, S)
        gap = length - f_A.radius - f_B.radius
        if not (dot(m, n) > SAME_SIDE and abs(_separation(points, s_A, s_B, m) - gap) < PROOF_M):
            continue
        is_on_A = _is_on(points, index, s_A, where_A, ids_A, f_A.x, scaled(-1.0, m))
        if is_on_A and _is_on(points, index, s_B, where_B, ids_B, f_B.x, m):
            return True, f_A, f_B, m, length
    f_A = Feature(x_A, 0, ZERO, ZERO, ZERO, s_A.radius)
    return False, f_A, plane_feature(x_B, n, s_B.radius), n, dot(n, minus(x_A, x_B))
