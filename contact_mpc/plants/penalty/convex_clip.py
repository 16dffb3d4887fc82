"""Overlap of two convex polytopes: the facets of each, clipped by the other's.

Nothing is built but polygons, so the time grows with the facets that meet. Only those that reach into the half-space of
the other's furthest facet do: the part of a convex body in any half-space is bounded, within it, by the facets that
meet it. Faces in one plane that point the same way count once, those of A.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.plants.penalty.clip import add_turn_and_extent
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

MOST_CORNERS = 256  # of one facet's polygon
COPLANAR_M = 1e-12
POINTS = 8192  # corners of polygons that are kept for the extent


class Facets(NamedTuple):
    """A convex body in its frame: triangles (m, 9), their planes (m, 4), a sphere (4,) of centre and radius around."""

    corners: FloatArray
    planes: FloatArray
    sphere: FloatArray


@njit(**INNER)
def clip_polygon(polygon: FloatArray, other: FloatArray, count: int, plane: FloatArray, limit: float) -> int:
    """Write the part of a convex polygon (count, 3) with n . x + d <= 0 to `other`; return its corners.

    It is none where no corner is further in than `limit`; -1 says that all of it is in, and nothing was written.
    """
    low, high = np.inf, -np.inf
    for i in range(count):
        s = plane[0] * polygon[i, 0] + plane[1] * polygon[i, 1] + plane[2] * polygon[i, 2] + plane[3]
        low, high = min(low, s), max(high, s)
    if low > -limit:
        return 0
    if high <= 0.0:
        return -1
    out = 0
    j = count - 1
    last = plane[0] * polygon[j, 0] + plane[1] * polygon[j, 1] + plane[2] * polygon[j, 2] + plane[3]
    for i in range(count):
        s = plane[0] * polygon[i, 0] + plane[1] * polygon[i, 1] + plane[2] * polygon[i, 2] + plane[3]
        if (s <= 0.0) != (last <= 0.0):
            u = last / (last - s)
            for a in range(3):
                other[out, a] = polygon[j, a] + u * (polygon[i, a] - polygon[j, a])
            out += 1
        if s <= 0.0:
            for a in range(3):
                other[out, a] = polygon[i, a]
            out += 1
        j, last = i, s
    return out


@njit(**INNER)
def _transform_facets(
    corners: FloatArray, facets: FloatArray, R: FloatArray, p: FloatArray, out: FloatArray, planes: FloatArray
) -> None:
    """Write triangles (m, 9) and their planes (m, 4), moved by x -> R x + p."""
    for t in range(corners.shape[0]):
        d = facets[t, 3]
        for a in range(3):
            n = R[a, 0] * facets[t, 0] + R[a, 1] * facets[t, 1] + R[a, 2] * facets[t, 2]
            planes[t, a] = n
            d -= n * p[a]
            for k in range(0, 9, 3):
                out[t, k + a] = (
                    R[a, 0] * corners[t, k] + R[a, 1] * corners[t, k + 1] + R[a, 2] * corners[t, k + 2] + p[a]
                )
        planes[t, 3] = d


@njit(**INNER)
def _is_outside(planes: FloatArray, sphere: FloatArray, R: FloatArray, p: FloatArray) -> bool:
    """Return whether a sphere lies beyond a plane of a body at (R, p), all in one frame."""
    d0, d1, d2 = sphere[0] - p[0], sphere[1] - p[1], sphere[2] - p[2]
    x = R[0, 0] * d0 + R[1, 0] * d1 + R[2, 0] * d2
    y = R[0, 1] * d0 + R[1, 1] * d1 + R[2, 1] * d2
    z = R[0, 2] * d0 + R[1, 2] * d1 + R[2, 2] * d2
    for k in range(planes.shape[0]):
        if planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z + planes[k, 3] >= sphere[3]:
            return True
    return False


@njit(**INNER)
def _furthest(planes: FloatArray, count: int, x: float, y: float, z: float) -> tuple[int, float]:
    best, first = -np.inf, 0
    for k in range(count):
        s = planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z + planes[k, 3]
        if s > best:
            best, first = s, k
    return first, best


@njit(**INNER)
def _reaching(corners: FloatArray, count: int, plane: FloatArray, found: FloatArray) -> int:
    """Write the indices of the triangles with a corner in a half-space; return how many."""
    n = 0
    for t in range(count):
        for k in range(0, 9, 3):
            s = plane[0] * corners[t, k] + plane[1] * corners[t, k + 1] + plane[2] * corners[t, k + 2] + plane[3]
            if s <= 0.0:
                found[n] = t
                n += 1
                break
    return n


@njit(**INNER)
def _add_polygon(
    polygon: FloatArray, count: int, origin: FloatArray, row: FloatArray, piece: FloatArray, points: FloatArray, n: int
) -> int:
    """Add a polygon's tetrahedra with the origin to a row; write its centre and area vector to piece (6,)."""
    piece[:] = 0.0
    total = 0.0
    a0, a1, a2 = polygon[0, 0] - origin[0], polygon[0, 1] - origin[1], polygon[0, 2] - origin[2]
    for i in range(1, count - 1):
        b0, b1, b2 = polygon[i, 0] - origin[0], polygon[i, 1] - origin[1], polygon[i, 2] - origin[2]
        c0, c1, c2 = polygon[i + 1, 0] - origin[0], polygon[i + 1, 1] - origin[1], polygon[i + 1, 2] - origin[2]
        v = (a0 * (b1 * c2 - b2 * c1) + a1 * (b2 * c0 - b0 * c2) + a2 * (b0 * c1 - b1 * c0)) / 6.0
        s0, s1, s2 = a0 + b0 + c0, a1 + b1 + c1, a2 + b2 + c2
        row[0] += v
        row[1] += 0.25 * v * s0
        row[2] += 0.25 * v * s1
        row[3] += 0.25 * v * s2
        d0, d1, d2, e0, e1, e2 = b0 - a0, b1 - a1, b2 - a2, c0 - a0, c1 - a1, c2 - a2
        n0, n1, n2 = 0.5 * (d1 * e2 - d2 * e1), 0.5 * (d2 * e0 - d0 * e2), 0.5 * (d0 * e1 - d1 * e0)
        w = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        total += w
        piece[0] += w * s0 / 3.0
        piece[1] += w * s1 / 3.0
        piece[2] += w * s2 / 3.0
        piece[3] += n0
        piece[4] += n1
        piece[5] += n2
    for a in range(3):
        piece[a] = origin[a] + (piece[a] / total if total > 0.0 else polygon[0, a] - origin[a])
    for i in range(count):
        if n < points.shape[0]:
            points[n] = polygon[i]
            n += 1
    return n


@njit(**COMPILED)
def clip_convex(
    a: Facets, b: Facets, R: FloatArray, p: FloatArray, work: FloatArray, row: FloatArray, pieces: FloatArray
) -> int:
    """Write the overlap of convex A and B, in A's frame; B is at (R, p) in it.

    work is room, (m_a + 14 m_b + 6 MOST_CORNERS + 3 POINTS) numbers or more. Row and pieces are those of `clip`.
    Returns the number of pieces, 0 for no overlap.
    """
    corners_a, facets_a, sphere_a = a
    corners_b, facets_b, sphere_b = b
    m_a, m_b = corners_a.shape[0], corners_b.shape[0]
    row[:] = 0.0
    if _is_outside(facets_b, sphere_a, R, p):
        return 0
    moved, planes_b = work[: 9 * m_b].reshape(m_b, 9), work[9 * m_b : 13 * m_b].reshape(m_b, 4)
    reach_b, reach_a = work[13 * m_b : 14 * m_b], work[14 * m_b : 14 * m_b + m_a]
    rest = work[14 * m_b + m_a :]
    polygons = rest[: 6 * MOST_CORNERS].reshape(2, MOST_CORNERS, 3)
    points = rest[6 * MOST_CORNERS : 6 * MOST_CORNERS + 3 * POINTS].reshape(POINTS, 3)
    _transform_facets(corners_b, facets_b, R, p, moved, planes_b)
    near_b, _ = _furthest(planes_b, m_b, sphere_a[0], sphere_a[1], sphere_a[2])
    x = R[0, 0] * sphere_b[0] + R[0, 1] * sphere_b[1] + R[0, 2] * sphere_b[2] + p[0]
    y = R[1, 0] * sphere_b[0] + R[1, 1] * sphere_b[1] + R[1, 2] * sphere_b[2] + p[1]
    z = R[2, 0] * sphere_b[0] + R[2, 1] * sphere_b[1] + R[2, 2] * sphere_b[2] + p[2]
    near_a, s = _furthest(facets_a, m_a, x, y, z)
    if s >= sphere_b[3]:
        return 0
    n_a = _reaching(corners_a, m_a, planes_b[near_b], reach_a)
    n_b = _reaching(moved, m_b, facets_a[near_a], reach_b)
    if n_a == 0 or n_b == 0:
        return 0
    n, n_points = 0, 0
    origin = np.zeros(3)  # a corner of the first polygon: faces that only touch then span no volume with it
    piece = np.empty(6)
    for i in range(n_a):
        count, now = _clip_facet(corners_a[int(reach_a[i])], planes_b, reach_b, n_b, polygons, 0.0)
        if count < 3:
            continue
        if n == 0:
            origin[0], origin[1], origin[2] = polygons[now, 0, 0], polygons[now, 0, 1], polygons[now, 0, 2]
        n_points = _add_polygon(polygons[now], count, origin, row, piece, points, n_points)
        row[4] += piece[3]
        row[5] += piece[4]
        row[6] += piece[5]
        n = _keep_piece(pieces, n, piece)
    for i in range(n_b):
        count, now = _clip_facet(moved[int(reach_b[i])], facets_a, reach_a, n_a, polygons, COPLANAR_M)
        if count >= 3:
            n_points = _add_polygon(polygons[now], count, origin, row, piece, points, n_points)
    if row[0] <= 0.0:
        row[:] = 0.0
        return 0
    for i in range(3):
        row[1 + i] = origin[i] + row[1 + i] / row[0]
    add_turn_and_extent(row, pieces, n, points, n_points)
    return n


@njit(**INNER)
def _clip_facet(
    corners: FloatArray, planes: FloatArray, reach: FloatArray, n: int, polygons: FloatArray, limit: float
) -> tuple[int, int]:
    """Clip one triangle by the planes that `reach` lists; return its corners and in which buffer they are."""
    for k in range(9):
        polygons[0, k // 3, k % 3] = corners[k]
    count, now = 3, 0
    for i in range(n):
        left = clip_polygon(polygons[now], polygons[1 - now], count, planes[int(reach[i])], limit)
        if left == -1:
            continue
        if left < 3:
            return 0, 0
        if left > MOST_CORNERS - 2:
            raise ValueError("a facet's overlap has too many corners")
        count, now = left, 1 - now
    return count, now


@njit(**INNER)
def _keep_piece(pieces: FloatArray, n: int, piece: FloatArray) -> int:
    """Append a piece; those without room are added to the last one."""
    if n < pieces.shape[0]:
        pieces[n] = piece
        return n + 1
    last = pieces[n - 1]
    before = np.sqrt(last[3] ** 2 + last[4] ** 2 + last[5] ** 2)
    own = np.sqrt(piece[3] ** 2 + piece[4] ** 2 + piece[5] ** 2)
    for a in range(3):
        last[a] += own / max(before + own, 1e-300) * (piece[a] - last[a])
        last[3 + a] += piece[3 + a]
    return n
