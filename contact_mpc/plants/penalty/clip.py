"""Overlap of a closed mesh with a convex polytope: the mesh's surface, clipped by one half-space after the other.

A closed surface is a chain of oriented triangles without boundary. Clipping it by a half-space opens it along segments
in the plane; the cone over these segments from any point of the plane closes it again, with triangles of either
orientation that cancel where they lie on each other. All integrals over the surface are those of the overlap, whatever
the shape of the mesh: volume and centre by the divergence theorem, the surface of the mesh inside the polytope by its
area vectors. Exact up to rounding.
"""

import numpy as np
from numba import njit

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

# What is known of an overlap: columns of its row. S is the integral of A's outward normal over A's surface inside B,
# T that of (x - c) x normal; extent is the overlap's length along S.
VOLUME, CENTRE, AREA, TURN, EXTENT, WIDTH = 0, slice(1, 4), slice(4, 7), slice(7, 10), 10, 11
PIECES = 64
Point = tuple[float, float, float]
GROWTH, SPARE = 6, 4096  # room for triangles that clipping adds


@njit(**INNER)
def clip_plane(
    source: FloatArray, source_cap: FloatArray, count: int, plane: FloatArray, chain: FloatArray, is_cap: FloatArray
) -> int:
    """Write what of rows 0..count of a chain (m, 9) fulfils n . x + d <= 0, closed again; return how many rows.

    The marks (m,) say which triangles lie in a clipping plane.
    """
    has_apex, apex = False, (0.0, 0.0, 0.0)
    out = 0
    a, b, c, d = plane[0], plane[1], plane[2], plane[3]
    for t in range(count):
        row = source[t]
        s0 = a * row[0] + b * row[1] + c * row[2] + d
        s1 = a * row[3] + b * row[4] + c * row[5] + d
        s2 = a * row[6] + b * row[7] + c * row[8] + d
        if s0 > 0.0 and s1 > 0.0 and s2 > 0.0:
            continue
        if out + 3 > chain.shape[0]:
            raise ValueError("an overlap has too many triangles")
        cap = source_cap[t]
        if s0 <= 0.0 and s1 <= 0.0 and s2 <= 0.0:
            chain[out] = row
            is_cap[out] = cap
            out += 1
            continue
        # Begin with the vertex that is alone on its side.
        i = 0
        if (s1 <= 0.0) != (s0 <= 0.0) and (s1 <= 0.0) != (s2 <= 0.0):
            i = 1
        elif (s2 <= 0.0) != (s0 <= 0.0) and (s2 <= 0.0) != (s1 <= 0.0):
            i = 2
        si, sj, sk = s0, s1, s2
        if i == 1:
            si, sj, sk = s1, s2, s0
        elif i == 2:
            si, sj, sk = s2, s0, s1
        i, j, k = 3 * i, 3 * ((i + 1) % 3), 3 * ((i + 2) % 3)
        u, w = si / (si - sj), si / (si - sk)
        pi, pj, pk = (
            (row[i], row[i + 1], row[i + 2]),
            (row[j], row[j + 1], row[j + 2]),
            (row[k], row[k + 1], row[k + 2]),
        )
        e, f = _crossing(row, i, j, u), _crossing(row, i, k, w)
        is_cap[out] = cap
        if si <= 0.0:  # keep (i, e, f); its boundary e -> f is closed by a triangle with f -> e
            _put(chain, out, pi, e, f)
            out += 1
            g, h = f, e
        else:  # keep (e, j, k), (e, k, f); their boundary f -> e is closed by one with e -> f
            _put(chain, out, e, pj, pk)
            _put(chain, out + 1, e, pk, f)
            is_cap[out + 1] = cap
            out += 2
            g, h = e, f
        if not has_apex:
            has_apex, apex = True, g
        else:
            _put(chain, out, apex, g, h)
            is_cap[out] = 1.0
            out += 1
    return out


@njit(**INNER)
def _put(chain: FloatArray, t: int, a: Point, b: Point, c: Point) -> None:
    row = chain[t]
    row[0], row[1], row[2] = a
    row[3], row[4], row[5] = b
    row[6], row[7], row[8] = c


@njit(**COMPILED)
def _crossing(row: FloatArray, i: int, j: int, u: float) -> Point:
    """Return the point at u between the corners that begin at i and j."""
    return (
        row[i] + u * (row[j] - row[i]),
        row[i + 1] + u * (row[j + 1] - row[i + 1]),
        row[i + 2] + u * (row[j + 2] - row[i + 2]),
    )


@njit(**COMPILED)
def measure(chain: FloatArray, is_cap: FloatArray, count: int, row: FloatArray, pieces: FloatArray) -> int:
    """Write an overlap's row and pieces (m, 6) (centre, area vector) of A's surface in it; return how many pieces."""
    row[:] = 0.0
    n = 0
    if count == 0:
        return 0
    o0, o1, o2 = chain[0, 0], chain[0, 1], chain[0, 2]
    for t in range(count):
        c = chain[t]
        a0, a1, a2 = c[0] - o0, c[1] - o1, c[2] - o2
        b0, b1, b2 = c[3] - o0, c[4] - o1, c[5] - o2
        c0, c1, c2 = c[6] - o0, c[7] - o1, c[8] - o2
        v = (a0 * (b1 * c2 - b2 * c1) + a1 * (b2 * c0 - b0 * c2) + a2 * (b0 * c1 - b1 * c0)) / 6.0
        row[0] += v
        row[1] += 0.25 * v * (a0 + b0 + c0)
        row[2] += 0.25 * v * (a1 + b1 + c1)
        row[3] += 0.25 * v * (a2 + b2 + c2)
        if is_cap[t] > 0.0:
            continue
        d0, d1, d2, e0, e1, e2 = b0 - a0, b1 - a1, b2 - a2, c0 - a0, c1 - a1, c2 - a2
        n0, n1, n2 = 0.5 * (d1 * e2 - d2 * e1), 0.5 * (d2 * e0 - d0 * e2), 0.5 * (d0 * e1 - d1 * e0)
        row[4] += n0
        row[5] += n1
        row[6] += n2
        k = min(n, pieces.shape[0] - 1)  # those without room are added to the last one
        w = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        if k < n:
            p = pieces[k]
            before = np.sqrt(p[3] * p[3] + p[4] * p[4] + p[5] * p[5])
            share = w / max(before + w, 1e-300)
        else:
            pieces[k] = 0.0
            share = 1.0
        p = pieces[k]
        p[0] += share * (o0 + (a0 + b0 + c0) / 3.0 - p[0])
        p[1] += share * (o1 + (a1 + b1 + c1) / 3.0 - p[1])
        p[2] += share * (o2 + (a2 + b2 + c2) / 3.0 - p[2])
        p[3] += n0
        p[4] += n1
        p[5] += n2
        n = k + 1
    if row[0] > 0.0:
        for i in range(3):
            row[1 + i] = row[1 + i] / row[0]
        row[1] += o0
        row[2] += o1
        row[3] += o2
    add_turn_and_extent(row, pieces, n, chain.reshape(-1, 3), 3 * count)
    return n


@njit(**INNER)
def add_turn_and_extent(row: FloatArray, pieces: FloatArray, n: int, points: FloatArray, n_points: int) -> None:
    """Add to a row, which has centre and area, the turn of n pieces about it and the extent along the area."""
    for t in range(n):
        p = pieces[t]
        x, y, z = p[0] - row[1], p[1] - row[2], p[2] - row[3]
        row[7] += y * p[5] - z * p[4]
        row[8] += z * p[3] - x * p[5]
        row[9] += x * p[4] - y * p[3]
    size = np.sqrt(row[4] ** 2 + row[5] ** 2 + row[6] ** 2)
    if size == 0.0:
        return
    low, high = np.inf, -np.inf
    for t in range(n_points):
        s = (points[t, 0] * row[4] + points[t, 1] * row[5] + points[t, 2] * row[6]) / size
        low, high = min(low, s), max(high, s)
    row[10] = high - low


@njit(**COMPILED)
def clip_mesh(
    corners: FloatArray,
    sphere: FloatArray,
    planes: FloatArray,
    chains: FloatArray,
    caps: FloatArray,
    row: FloatArray,
    pieces: FloatArray,
) -> int:
    """Write the overlap of a mesh A, corners (m, 9), with the polytope B of planes (k, 4), all in one frame.

    sphere (4,) is a centre and a radius that hold A; the plane that is furthest out from its centre clips first.
    chains (2, n, 9) and caps (3, n) are room for work, caps[2] is zero. Returns the number of pieces, 0 for none.
    """
    best, first = -np.inf, 0
    row[:] = 0.0
    for k in range(planes.shape[0]):
        s = planes[k, 0] * sphere[0] + planes[k, 1] * sphere[1] + planes[k, 2] * sphere[2] + planes[k, 3]
        if s >= sphere[3]:
            return 0
        if s > best:
            best, first = s, k
    count = clip_plane(corners, caps[2], corners.shape[0], planes[first], chains[0], caps[0])
    now = 0
    for k in range(planes.shape[0]):
        if k != first and count > 0:
            count = clip_plane(chains[now], caps[now], count, planes[k], chains[1 - now], caps[1 - now])
            now = 1 - now
    n = measure(chains[now], caps[now], count, row, pieces)
    if row[0] <= 0.0:
        row[:] = 0.0
        return 0
    return n
