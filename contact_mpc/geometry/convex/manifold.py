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
from contact_mpc.geometry.convex.support import Placed, Scratch, from_frame, vertex
from contact_mpc.geometry.crossing_edges import COS_FLAT, END_M, SIN_FLAT
from contact_mpc.geometry.turning import nearest_on_segments
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, row, scaled
from contact_mpc.model.polytopes import FACE_CORNERS, Polytopes
from contact_mpc.settings.compile_flags import COMPILED


class Flat(NamedTuple):
    """The flat part of a shape: number of corners (in `Scratch.faces`), outward normal, radius of its edges, m.

    is_side: corners stand on the axis of a cylinder, radius is that of the cylinder. Corners of a face (3 and more) are
    counter-clockwise seen from outside; without any where nothing is flat.
    """

    corners: int
    normal: Vector
    radius: float
    is_side: bool


@njit(**COMPILED)
def _put(work: Scratch, side: int, i: int, x: Vector) -> None:
    work.faces[side, i, 0], work.faces[side, i, 1], work.faces[side, i, 2] = x


@njit(inline="always", **COMPILED)
def corner(work: Scratch, side: int, i: int) -> Vector:
    """Return the corner i of the flat part of A (side 0) or B (1)."""
    return work.faces[side, i, 0], work.faces[side, i, 1], work.faces[side, i, 2]


@njit(**COMPILED)
def _flat_cylinder(s: Placed, d: Vector, side: int, work: Scratch) -> Flat:
    """Return the end or the side of a cylinder that faces d."""
    along, r, h = dot(s.axes[2], d), s.cylinder_radius, s.cylinder_half
    if abs(along) > COS_FLAT:
        sign = 1.0 if along > 0.0 else -1.0
        for i in range(FACE_CORNERS):
            angle = sign * 2.0 * np.pi * i / FACE_CORNERS
            _put(work, side, i, from_frame(s, (r * np.cos(angle), r * np.sin(angle), sign * h)))
        return Flat(FACE_CORNERS, scaled(sign, s.axes[2]), 0.0, False)
    if abs(along) < SIN_FLAT:
        _put(work, side, 0, axpy(-h, s.axes[2], s.p))
        _put(work, side, 1, axpy(h, s.axes[2], s.p))
        return Flat(2, d, r, True)
    return Flat(0, d, 0.0, False)


@njit(**COMPILED)
def flat_part(shapes: Polytopes, s: Placed, ids: tuple[int, int, int], d: Vector, side: int, work: Scratch) -> Flat:
    """Write the corners of the flat part at the vertices `ids` that faces d; side is 0 for A, 1 for B."""
    if s.cylinder_radius > 0.0:
        return _flat_cylinder(s, d, side, work)
    face, cosine = aligned_face(shapes, s, ids, d)
    if cosine > COS_FLAT:
        start, count = shapes.corner_start[face], shapes.corner_start[face + 1] - shapes.corner_start[face]
        for i in range(count):
            _put(work, side, i, vertex(shapes, s, shapes.corners[start + i]))
        local = row(shapes.normals, face)
        normal = axpy(local[0], s.axes[0], axpy(local[1], s.axes[1], scaled(local[2], s.axes[2])))
        return Flat(count, normal, 0.0, False)
    best, found, a = SIN_FLAT, -1, vertex(shapes, s, ids[0])
    for e in range(shapes.edge_start[ids[0]], shapes.edge_start[ids[0] + 1]):
        v = shapes.edges[e]
        along = abs(dot(unit(minus(vertex(shapes, s, v), a)), d))
        if (ids[1] < 0 or v in ids) and along < best:
            best, found = along, v
    if found < 0:
        return Flat(0, d, 0.0, False)
    _put(work, side, 0, a)
    _put(work, side, 1, vertex(shapes, s, found))
    return Flat(2, d, shapes.radius[s.g], False)


@njit(**COMPILED)
def is_over(x: Vector, part: Flat, side: int, work: Scratch) -> bool:
    """Return whether x is over a face, or beside an edge between its ends."""
    for i in range(part.corners if part.corners > 2 else 1):
        a = corner(work, side, i)
        along = minus(corner(work, side, (i + 1) % part.corners), a)
        if part.corners == 2:
            t = dot(along, minus(x, a))
            return END_M * END_M < t < dot(along, along)
        if dot(cross(along, minus(x, a)), part.normal) < 0.0:
            return False
    return True


@njit(**COMPILED)
def corner_feature(s: Placed, part: Flat, side: int, i: int, d: Vector, radius: float, work: Scratch) -> Feature:
    """Return the corner i, on the side of a cylinder the point of the rim furthest along d."""
    if part.is_side:
        return rim_feature(s, d, -1.0 if i == 0 else 1.0)
    return Feature(corner(work, side, i), 0, ZERO, ZERO, ZERO, radius)


@njit(**COMPILED)
def other_feature(x: Vector, part: Flat, side: int, work: Scratch) -> Feature:
    """Return the face, or the edge, with its point nearest to x."""
    a = corner(work, side, 0)
    if part.corners > 2:
        return plane_feature(axpy(-dot(part.normal, minus(x, a)), part.normal, x), part.normal, 0.0)
    t = unit(minus(corner(work, side, 1), a))
    return Feature(axpy(dot(t, minus(x, a)), t, a), 1, t, ZERO, ZERO, part.radius)


@njit(**COMPILED)
def crossing(
    i: int, j: int, part_A: Flat, part_B: Flat, toward: Vector, work: Scratch
) -> tuple[bool, Feature, Feature, Vector]:
    """Return whether edges i of A and j of B cross inside both within FLAT of `toward`, their features and normal."""
    a, b = corner(work, 0, i), corner(work, 1, j)
    along_A = minus(corner(work, 0, (i + 1) % part_A.corners), a)
    along_B = minus(corner(work, 1, (j + 1) % part_B.corners), b)
    half_A, half_B = 0.5 * np.sqrt(dot(along_A, along_A)), 0.5 * np.sqrt(dot(along_B, along_B))
    u, w = scaled(0.5 / half_A, along_A), scaled(0.5 / half_B, along_B)
    m = cross(u, w)
    sine = np.sqrt(dot(m, m))
    cosine = dot(m, toward)
    f_A = Feature(a, 1, u, ZERO, ZERO, part_A.radius)
    f_B = Feature(b, 1, w, ZERO, ZERO, part_B.radius)
    if sine * sine < PARALLEL or abs(cosine) < COS_FLAT * sine:
        return False, f_A, f_B, toward
    centre_A, centre_B = axpy(half_A, u, a), axpy(half_B, w, b)
    s, t = nearest_on_segments(centre_A, u, half_A, centre_B, w, half_B)
    is_inside = abs(s) < half_A - END_M and abs(t) < half_B - END_M
    f_A = Feature(axpy(s, u, centre_A), 1, u, ZERO, ZERO, part_A.radius)
    f_B = Feature(axpy(t, w, centre_B), 1, w, ZERO, ZERO, part_B.radius)
    return is_inside, f_A, f_B, scaled((1.0 if cosine > 0.0 else -1.0) / sine, m)
