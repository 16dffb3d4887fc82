"""Contacts of faces and edges that lie on each other, beside the nearest points, compiled.

Around the nearest features each shape offers the flat part that faces the other: the face within FLAT of the normal n*,
or else an edge (of a capsule its segment, of a cylinder its side along n*) within FLAT of the plane across n*. The end
of a cylinder stands for `FACE_CORNERS` points of its rim, fixed to it, and the chords between. Then

    a corner inside the other face or beside the other edge, and two edges that cross inside both

are contacts, each with the normal of its own features, which is within FLAT of n* again: so none is deeper than the
depth by more than 1 / cos(FLAT), and each moves smoothly. Corners on a cylinder's side are the points of its rims that
are nearest to the other face, exactly. The nearest points of two curved shapes are a contact of their own, before all.

A corner that slides off a face stops being a contact where the crossings of its edges take over at the same gap, as
for two boxes (`contact_mpc.geometry.crossing_edges`): an exact step does not notice, a smoothed one sees the force of
that spot change by the number of contacts there. The same happens where a face comes within FLAT of n*. Of more
contacts than there are rows for, those of the smallest gaps are kept.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.geometry.convex.features import aligned_face, plane_feature, rim_feature, unit
from contact_mpc.geometry.convex.motion import PARALLEL, ZERO, Feature
from contact_mpc.geometry.convex.support import SYSTEM, Placed, Triple, from_frame, to_world, vertex
from contact_mpc.geometry.crossing_edges import COS_FLAT, END_M, SIN_FLAT
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, row, scaled
from contact_mpc.model.polytopes import FACE_CORNERS, IntArray
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER


class Flat(NamedTuple):
    """The flat part of a shape: number of corners (in `Scratch.small`), outward normal, radius of its edges, m.

    is_side: corners stand on the axis of a cylinder, radius is that of the cylinder. Corners of a face (3 and more) are
    counter-clockwise seen from outside; without any where nothing is flat.
    """

    corners: int
    normal: Vector
    radius: float
    is_side: bool


@njit(**INNER)
def _put(small: FloatArray, side: int, i: int, x: Vector) -> None:
    k = SYSTEM + FACE_CORNERS * side + i
    small[k, 0], small[k, 1], small[k, 2] = x


@njit(inline="always", **COMPILED)
def corner(small: FloatArray, side: int, i: int) -> Vector:
    """Return the corner i of the flat part of A (side 0) or B (1)."""
    return row(small, SYSTEM + FACE_CORNERS * side + i)


@njit(**INNER)
def _flat_cylinder(s: Placed, d: Vector, side: int, small: FloatArray) -> Flat:
    """Return the end or the side of a cylinder that faces d."""
    along, r, h = dot(s.axes[2], d), s.cylinder_radius, s.cylinder_half
    if abs(along) > COS_FLAT:
        sign = 1.0 if along > 0.0 else -1.0
        for i in range(FACE_CORNERS):
            angle = sign * 2.0 * np.pi * i / FACE_CORNERS
            _put(small, side, i, from_frame(s, (r * np.cos(angle), r * np.sin(angle), sign * h)))
        return Flat(FACE_CORNERS, scaled(sign, s.axes[2]), 0.0, False)
    if abs(along) < SIN_FLAT:
        _put(small, side, 0, axpy(-h, s.axes[2], s.p))
        _put(small, side, 1, axpy(h, s.axes[2], s.p))
        return Flat(2, d, r, True)
    return Flat(0, d, 0.0, False)


@njit(**INNER)
def flat_part(
    points: FloatArray, index: IntArray, s: Placed, ids: Triple, d: Vector, side: int, small: FloatArray
) -> Flat:
    """Write the corners of the flat part at the vertices `ids` that faces d; side is 0 for A, 1 for B."""
    if s.cylinder_radius > 0.0:
        return _flat_cylinder(s, d, side, small)
    face, cosine = aligned_face(points, index, s, ids, d)
    n_v = index[0]
    if cosine > COS_FLAT:
        start, end = index[4 + 2 * n_v + face], index[5 + 2 * n_v + face]
        for i in range(end - start):
            _put(small, side, i, vertex(points, s, index[start + i]))
        return Flat(end - start, to_world(s, row(points, n_v + face)), 0.0, False)
    best, found, a = SIN_FLAT, -1, vertex(points, s, ids[0])
    for i in range(index[3 + n_v + ids[0]], index[4 + n_v + ids[0]]):
        v = index[i]
        if ids[1] < 0 or v == ids[1] or v == ids[2]:
            along = abs(dot(unit(minus(vertex(points, s, v), a)), d))
            if along < best:
                best, found = along, v
    if found < 0:
        return Flat(0, d, 0.0, False)
    _put(small, side, 0, a)
    _put(small, side, 1, vertex(points, s, found))
    return Flat(2, d, s.radius, False)


@njit(**COMPILED)
def is_over(x: Vector, part: Flat, side: int, small: FloatArray) -> bool:
    """Return whether x is over a face, or beside an edge between its ends."""
    for i in range(part.corners if part.corners > 2 else 1):
        a = corner(small, side, i)
        along = minus(corner(small, side, (i + 1) % part.corners), a)
        if part.corners == 2:
            t = dot(along, minus(x, a))
            return END_M * END_M < t < dot(along, along)
        if dot(cross(along, minus(x, a)), part.normal) < -END_M * np.sqrt(dot(along, along)):
            return False
    return True


@njit(**INNER)
def corner_feature(s: Placed, part: Flat, side: int, i: int, d: Vector, small: FloatArray) -> Feature:
    """Return the corner i, on the side of a cylinder the point of the rim furthest along d."""
    if part.is_side:
        return rim_feature(s, d, -1.0 if i == 0 else 1.0)
    return Feature(corner(small, side, i), 0, ZERO, ZERO, ZERO, s.radius)


@njit(**INNER)
def other_feature(x: Vector, part: Flat, side: int, small: FloatArray) -> Feature:
    """Return the face, or the edge, with its point nearest to x."""
    a = corner(small, side, 0)
    if part.corners > 2:
        return plane_feature(axpy(-dot(part.normal, minus(x, a)), part.normal, x), part.normal, 0.0)
    t = unit(minus(corner(small, side, 1), a))
    return Feature(axpy(dot(t, minus(x, a)), t, a), 1, t, ZERO, ZERO, part.radius)


@njit(**COMPILED)
def crossing(
    i: int, j: int, part_A: Flat, part_B: Flat, toward: Vector, small: FloatArray
) -> tuple[bool, Feature, Feature, Vector]:
    """Return whether edges i of A and j of B cross inside both within FLAT of `toward`, their features and normal."""
    a, b = corner(small, 0, i), corner(small, 1, j)
    along_A = minus(corner(small, 0, (i + 1) % part_A.corners), a)
    along_B = minus(corner(small, 1, (j + 1) % part_B.corners), b)
    aa, ab, bb = dot(along_A, along_A), dot(along_A, along_B), dot(along_B, along_B)
    m, r = cross(along_A, along_B), minus(a, b)
    area2, cosine = dot(m, m), dot(m, toward)
    f_A = Feature(a, 1, along_A, ZERO, ZERO, part_A.radius)
    f_B = Feature(b, 1, along_B, ZERO, ZERO, part_B.radius)
    if area2 < PARALLEL * aa * bb or cosine * cosine < COS_FLAT * COS_FLAT * area2:
        return False, f_A, f_B, toward
    ra, rb = dot(r, along_A), dot(r, along_B)
    s, t = (ab * rb - bb * ra) / area2, (aa * rb - ab * ra) / area2
    if min(s, 1.0 - s) * np.sqrt(aa) < END_M or min(t, 1.0 - t) * np.sqrt(bb) < END_M:
        return False, f_A, f_B, toward
    f_A = Feature(axpy(s, along_A, a), 1, unit(along_A), ZERO, ZERO, part_A.radius)
    f_B = Feature(axpy(t, along_B, b), 1, unit(along_B), ZERO, ZERO, part_B.radius)
    return True, f_A, f_B, scaled((1.0 if cosine > 0.0 else -1.0) / np.sqrt(area2), m)
