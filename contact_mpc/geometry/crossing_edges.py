"""Contacts of two boxes edge across edge, in closed form and compiled; corners are contacts of their own.

An edge of A (axis u) and one of B (axis w) touch along n = +-u x w, at the nearest points c_A, c_B of the two lines:

    phi = n . (c_A - c_B),    negative where the edges have passed through each other

with the motion of two segments that are nearest inside both (`contact_mpc.geometry.turning`). Such a pair is a contact
if c_A and c_B lie inside the edges and the edges face each other: n within FLAT of the normals that an edge has between
its two faces. Where edges are nearest they do exactly; the allowance takes in the other crossings of two faces that
lie flat on each other, up to eight (two planks laid crosswise touch in four crossings and no corner).

Which edges count is decided beside the axis n* of largest separation S of the two boxes (separating axis theorem: six
face normals, nine u x w; S is minus the depth where they overlap): n has to be within FLAT of n*, too. As c_A and c_B
are points of the two boxes, n* . (c_A - c_B) >= S, so no contact is deeper than the depth by more than 1 / cos(FLAT).
Where boxes overlap least along u x w, or are nearest there, the crossing lies inside both edges. For the same reason
corners inside the other box leave it through the face within FLAT of n*, if it has one, and not through the nearest:
two boxes that overlap are then as deep in each other as S says, wherever their nearest features lie. So do corners
within TOUCHING_M outside: where boxes lie edge over edge, round-off would choose between the two faces.

Wrong where edges are parallel (their corners are contacts). A crossing that leaves an edge stops being a contact
where the corner has the same gap and normal: exact steps do not notice, the smoothed force of that spot halves.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.turning import PARALLEL, nearest_on_segments, segment_motion
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

Axes = tuple[Vector, Vector, Vector]
SIN_FLAT, COS_FLAT = 0.2, 0.98  # 11.5 degrees
END_M = 1e-9  # of an edge, where its corner is the contact
TOUCHING_M = 1e-9


@njit(**COMPILED)
def _reach(axes: Axes, half: Vector, n: Vector) -> float:
    """Return how far a box reaches along n from its centre, m."""
    return half[0] * abs(dot(axes[0], n)) + half[1] * abs(dot(axes[1], n)) + half[2] * abs(dot(axes[2], n))


@njit(**INNER)
def separating_axis(arm: Vector, axes_a: Axes, half_a: Vector, axes_b: Axes, half_b: Vector) -> tuple[float, Vector]:
    """Return the largest separation S of two boxes, m, and its axis from B to A; arm is the centre of A less B's."""
    best, found = -np.inf, (0.0, 0.0, 1.0)
    for k in range(15):
        if k < 6:
            n = axes_a[k] if k < 3 else axes_b[k - 3]
        else:
            m = cross(axes_a[(k - 6) // 3], axes_b[(k - 6) % 3])
            sin2 = dot(m, m)
            if sin2 < PARALLEL:
                continue
            n = scaled(1.0 / np.sqrt(sin2), m)
        along = dot(n, arm)
        separation = abs(along) - _reach(axes_a, half_a, n) - _reach(axes_b, half_b, n)
        if separation > best:
            best, found = separation, scaled(1.0 if along >= 0.0 else -1.0, n)
    return best, found


@njit(**INNER)
def _edge_centre(axes: Axes, half: Vector, i: int, side: int, d: Vector) -> tuple[bool, Vector]:
    """Return whether the edge `side` (0 to 3) along axis i faces d, and its centre seen from that of the box."""
    centre, faces = (0.0, 0.0, 0.0), True
    for k in range(2):
        axis = (i + 1 + k) % 3
        sign = 1.0 if (side >> k) & 1 else -1.0
        faces = faces and sign * dot(axes[axis], d) > -SIN_FLAT
        centre = axpy(sign * half[axis], axes[axis], centre)
    return faces, centre


@njit(**INNER)
def _slot(phi: FloatArray, first: int, count: int, gap: float) -> int:
    """Return the contact for a crossing of this gap: a free one, else that of the largest gap if larger, else -1."""
    largest = first
    for c in range(first, first + count):
        if phi[c] > phi[largest]:
            largest = c
    return largest if gap < phi[largest] else -1


@njit(**INNER)
def find_crossings(
    first: int,
    count: int,
    p_A: Vector,
    axes_a: Axes,
    half_a: Vector,
    p_B: Vector,
    axes_b: Axes,
    half_b: Vector,
    phi: FloatArray,
    n_W: FloatArray,
    p: FloatArray,
    c_A: FloatArray,
    N: FloatArray,
    M: FloatArray,
    T: FloatArray,
    P: FloatArray,
) -> tuple[float, Vector]:
    """Write the nearest crossings of two boxes to the contacts first to first + count - 1, with phi = inf where none.

    Centres p_A, p_B and axes are in the world. Returns S and n*.
    """
    for c in range(first, first + count):
        phi[c] = np.inf
    arm = minus(p_A, p_B)
    separation, toward = separating_axis(arm, axes_a, half_a, axes_b, half_b)
    for i in range(3):
        for j in range(3):
            u, w = axes_a[i], axes_b[j]
            m = cross(u, w)
            sine = np.sqrt(dot(m, m))
            along = dot(m, toward)
            if sine * sine < PARALLEL or abs(along) < COS_FLAT * sine:
                continue
            n = scaled((1.0 if along > 0.0 else -1.0) / sine, m)
            for pair in range(16):
                faces_b, edge_a = _edge_centre(axes_a, half_a, i, pair // 4, scaled(-1.0, n))
                faces_a, edge_b = _edge_centre(axes_b, half_b, j, pair % 4, n)
                if not (faces_a and faces_b):
                    continue
                edge_a = axpy(1.0, arm, edge_a)
                s, t = nearest_on_segments(edge_a, u, half_a[i], edge_b, w, half_b[j])
                if abs(s) > half_a[i] - END_M or abs(t) > half_b[j] - END_M:
                    continue
                point = axpy(s, u, edge_a)
                r = minus(point, axpy(t, w, edge_b))
                gap = dot(n, r)
                c = _slot(phi, first, count, gap)
                if c >= 0:
                    segment_motion(c, r, n, u, w, True, True, N, M, T, P)
                    _write(c, gap, n, axpy(1.0, p_B, point), phi, n_W, p, c_A)
    return separation, toward


@njit(**INNER)
def leave_along(toward: Vector, c: Vector, axes: Axes, half: Vector) -> tuple[bool, float, Vector]:
    """Return whether a box has a face within FLAT of `toward`, and the signed distance of the point c to it, m, with n.

    c is seen from the centre of the box.
    """
    for k in range(3):
        along = dot(axes[k], toward)
        if abs(along) > COS_FLAT:
            n = scaled(1.0 if along > 0.0 else -1.0, axes[k])
            return True, dot(n, c) - half[k], n
    return False, 0.0, toward


@njit(**COMPILED)
def _write(
    c: int, gap: float, n: Vector, point: Vector, phi: FloatArray, n_W: FloatArray, p: FloatArray, c_A: FloatArray
) -> None:
    phi[c] = gap
    for k in range(3):
        n_W[c, k], p[c, k], c_A[c, k] = n[k], point[k] - 0.5 * gap * n[k], point[k]
