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
from contact_mpc.geometry.convex.support import Placed, Scratch, from_frame, support, to_frame, vertex
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, row, scaled
from contact_mpc.model.polytopes import Polytopes
from contact_mpc.settings.compile_flags import COMPILED

END, SIDE, RIM = 0, 1, 2
NEAR_TRANSITION = 1e-2  # rad: of the normal to the axis of a cylinder, or to its equator
PROOF_M = 1e-9
LEAST_WEIGHT = 1e-12
SAME_SIDE = 0.5  # cosine between the normal of GJK or EPA and the exact one
LEAST_SINE = 1e-3  # of the angle between edges that span a plane


@njit(**COMPILED)
def spanning_vertices(work: Scratch, side: int, count: int) -> tuple[int, int, int]:
    """Return the vertices of A (side 0) or B (1) in a simplex of `count` points, filled up to three with -1."""
    i, j, k = -1, -1, -1
    for m in range(count):
        v = work.id[m, side]
        if work.weights[m] <= LEAST_WEIGHT or v in (i, j, k):
            continue
        if i < 0:
            i = v
        elif j < 0:
            j = v
        else:
            k = v
    return i, j, k


@njit(**COMPILED)
def has_face(shapes: Polytopes, v: int, face: int) -> bool:
    """Return whether the vertex v is on the face; -1 stands for no vertex, which is on any."""
    if v < 0:
        return True
    f, end = shapes.face_start[v], shapes.face_start[v + 1]
    while f < end and shapes.faces[f] != face:
        f += 1
    return bool(f < end)


@njit(**COMPILED)
def aligned_face(shapes: Polytopes, s: Placed, ids: tuple[int, int, int], d: Vector) -> tuple[int, float]:
    """Return the face of a polytope with all vertices `ids` whose normal is nearest to d, and the cosine; -1: none."""
    best, found, local = -2.0, -1, to_frame(s, d)
    if ids[0] < 0:
        return found, best
    for f in range(shapes.face_start[ids[0]], shapes.face_start[ids[0] + 1]):
        face = shapes.faces[f]
        if has_face(shapes, ids[1], face) and has_face(shapes, ids[2], face):
            value = dot(row(shapes.normals, face), local)
            if value > best:
                best, found = value, face
    return found, best


@njit(inline="always", **COMPILED)
def _rotate(s: Placed, x: Vector) -> Vector:
    return axpy(x[0], s.axes[0], axpy(x[1], s.axes[1], scaled(x[2], s.axes[2])))


@njit(inline="always", **COMPILED)
def unit(x: Vector) -> Vector:
    """Return x / |x|."""
    return scaled(1.0 / np.sqrt(dot(x, x)), x)


@njit(**COMPILED)
def plane_feature(x: Vector, n: Vector, radius: float) -> Feature:
    """Return the face through x across n."""
    t = unit(cross(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.6 else (0.0, 1.0, 0.0)))
    return Feature(x, 2, t, cross(n, t), ZERO, radius)


@njit(**COMPILED)
def polytope_feature(shapes: Polytopes, s: Placed, ids: tuple[int, int, int], d: Vector, x: Vector) -> Feature:
    """Return the vertex, edge or face of a core with the vertices `ids`; x is a point of it, d points outwards."""
    radius = shapes.radius[s.g]
    if ids[1] < 0:
        return Feature(vertex(shapes, s, ids[0]), 0, ZERO, ZERO, ZERO, radius)
    a = vertex(shapes, s, ids[0])
    edge = unit(minus(vertex(shapes, s, ids[1]), a))
    if ids[2] >= 0:
        face, _cos = aligned_face(shapes, s, ids, d)
        if face >= 0:
            n = _rotate(s, row(shapes.normals, face))
            return plane_feature(axpy(-dot(n, minus(x, a)), n, x), n, radius)
        n = cross(edge, unit(minus(vertex(shapes, s, ids[2]), a)))
        if dot(n, n) > LEAST_SINE * LEAST_SINE:
            return plane_feature(x, unit(n), radius)
    return Feature(axpy(dot(edge, minus(x, a)), edge, a), 1, edge, ZERO, ZERO, radius)


@njit(**COMPILED)
def rim_feature(s: Placed, d: Vector, end: float) -> Feature:
    """Return the point of a cylinder's rim (end = -1 or 1) that is furthest along d, free to slide on the rim."""
    local = to_frame(s, d)
    across = np.sqrt(local[0] * local[0] + local[1] * local[1])
    out = (1.0, 0.0, 0.0) if across < 1e-14 else (local[0] / across, local[1] / across, 0.0)
    r = s.cylinder_radius
    x = from_frame(s, (r * out[0], r * out[1], end * s.cylinder_half))
    return Feature(x, 1, _rotate(s, (-out[1], out[0], 0.0)), ZERO, scaled(1.0 / r, _rotate(s, out)), 0.0)


@njit(**COMPILED)
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


@njit(**COMPILED)
def _is_proved(shapes: Polytopes, s_A: Placed, s_B: Placed, n: Vector, surface_gap: float) -> bool:
    """Return whether the shapes are as far apart along n as their features say."""
    a, b = support(shapes, s_A, scaled(-1.0, n))[1], support(shapes, s_B, n)[1]
    reach = dot(n, minus(a, b)) - shapes.radius[s_A.g] - shapes.radius[s_B.g]
    return abs(reach - surface_gap) < PROOF_M


@njit(**COMPILED)
def _is_on(s: Placed, where: int, x: Vector) -> bool:
    """Return whether a point of the plane of a cylinder's end, or of its axis, belongs to the cylinder."""
    if s.cylinder_radius == 0.0 or where == RIM:
        return True
    r = minus(x, s.p)
    z = dot(s.axes[2], r)
    if where == SIDE:
        return abs(z) < s.cylinder_half + PROOF_M
    return dot(r, r) - z * z < (s.cylinder_radius + PROOF_M) ** 2


@njit(**COMPILED)
def _feature(shapes: Polytopes, s: Placed, where: int, ids: tuple[int, int, int], d: Vector, x: Vector) -> Feature:
    if s.cylinder_radius > 0.0:
        return _cylinder_feature(s, where, d, x)
    return polytope_feature(shapes, s, ids, d, x)


@njit(**COMPILED)
def nearest_features(
    shapes: Polytopes, s_A: Placed, s_B: Placed, n: Vector, s: float, x_A: Vector, x_B: Vector,
    ids_A: tuple[int, int, int], ids_B: tuple[int, int, int], work: Scratch,
) -> tuple[Feature, Feature, Vector, float]:  # fmt: skip
    """Return the features at their nearest points, the normal and their distance without radii, m."""
    out = scaled(-1.0, n)
    choices_A, choices_B = _choices(s_A, out), _choices(s_B, n)
    for trial in range(4):
        where_A, where_B = choices_A[trial % 2], choices_B[trial // 2]
        is_double_A = trial % 2 == 1 and (s_A.cylinder_radius == 0.0 or choices_A[0] == choices_A[1])
        is_double_B = trial // 2 == 1 and (s_B.cylinder_radius == 0.0 or choices_B[0] == choices_B[1])
        if is_double_A or is_double_B:
            continue
        f_A = _feature(shapes, s_A, where_A, ids_A, out, x_A)
        f_B = _feature(shapes, s_B, where_B, ids_B, n, x_B)
        f_A, f_B, m, length = refine(f_A, f_B, n, work)
        is_inside = _is_on(s_A, where_A, f_A.x) and _is_on(s_B, where_B, f_B.x)
        if is_inside and dot(m, n) > SAME_SIDE and _is_proved(shapes, s_A, s_B, m, length - f_A.radius - f_B.radius):
            return f_A, f_B, m, length
    f_A = Feature(x_A, 0, ZERO, ZERO, ZERO, shapes.radius[s_A.g])
    return f_A, plane_feature(x_B, n, shapes.radius[s_B.g]), n, s
