"""Nearest points of two features: exactly where they are, and how they move with the shapes, compiled.

A feature is a point x of a core that may slide along `rank` tangents t_i: a vertex (0), an edge or the axis of a
cylinder (1), a face (2), or a rim, a circle whose tangent bends with `bend` = (outward direction) / radius. With
sigma_i = 1 for tangents of A and -1 for those of B, slides a_i and c_i = bend_i . n, the conditions of nearest points

    x_A - x_B = s n,        t_i . n = 0,        |n| = 1

change along a motion delta of the point x_A of A and a turn omega of A, both seen from B, by

    s dn_T - sum_i sigma_i a_i t_i = delta_T,     t_i . dn - c_i a_i = -(omega x t_i) . n  (tangents of A; else 0)

in the plane across n (T). These 2 + rank equations give dn and the a_i by elimination; where features leave a freedom
(s = 0 between vertices) its unknown is 0. The same equations with the residuals on the right are Newton's method. With
the radius r of the sphere swept over A, the point of its surface is w = x_A - r n, and (see `geometry.contacts`)

    dn = N delta_w + M omega,    slide of w along A = T delta_w + P omega,    delta = delta_w + r omega x n.

Source: implicit function theorem; the special cases of `turning` and `segment_box` agree with it.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

LENGTH_M = 0.05  # unit of slides, so that all unknowns are of one size
LEAST_PIVOT = 1e-9
PARALLEL = 1e-9  # sin^2 of the angle below which two straight edges count as parallel
NEWTON_STEPS, NEWTON_TOLERANCE = 12, 1e-13
LARGEST_TURN = 0.5
ZERO = (0.0, 0.0, 0.0)


class Feature(NamedTuple):
    """Point x, m, `rank` unit tangents, bend, 1/m, and the radius of the sphere swept over it, m."""

    x: Vector
    rank: int
    t_0: Vector
    t_1: Vector
    bend: Vector
    radius: float


@njit(inline="always", **COMPILED)
def basis(n: Vector) -> tuple[Vector, Vector]:
    """Return two unit vectors across n."""
    e = cross(n, (1.0, 0.0, 0.0) if abs(n[0]) < 0.6 else (0.0, 1.0, 0.0))
    e = scaled(1.0 / np.sqrt(dot(e, e)), e)
    return e, cross(n, e)


@njit(inline="always", **COMPILED)
def _is_round(f: Feature) -> bool:
    return dot(f.bend, f.bend) > 0.0


@njit(inline="always", **COMPILED)
def with_rank(f: Feature, rank: int) -> Feature:
    """Return the feature with its first `rank` tangents."""
    return Feature(f.x, rank, f.t_0, f.t_1, f.bend, f.radius)


@njit(**INNER)
def independent(f_A: Feature, f_B: Feature) -> tuple[Feature, Feature]:
    """Take out straight tangents that the other feature has, too: nearest points of parallel features stay put."""
    if f_A.rank == 2 and f_B.rank > 0 and not _is_round(f_B):
        if f_B.rank == 2:
            return with_rank(f_A, 0), f_B
        return f_A, with_rank(f_B, 0)
    if f_B.rank == 2 and f_A.rank == 1 and not _is_round(f_A):
        return with_rank(f_A, 0), f_B
    if f_A.rank == 1 and f_B.rank == 1 and not _is_round(f_A) and not _is_round(f_B):
        m = cross(f_A.t_0, f_B.t_0)
        if dot(m, m) < PARALLEL:
            return with_rank(f_A, 0), f_B
    return f_A, f_B


@njit(inline="always", **COMPILED)
def _tangent(f_A: Feature, f_B: Feature, i: int) -> tuple[Vector, Vector, float]:
    """Return the tangent i of both features, its bend and sigma."""
    if i < f_A.rank:
        return (f_A.t_0 if i == 0 else f_A.t_1), f_A.bend, 1.0
    return (f_B.t_0 if i == f_A.rank else f_B.t_1), f_B.bend, -1.0


@njit(**INNER)
def _write_system(S: FloatArray, f_A: Feature, f_B: Feature, n: Vector, s: float, e_0: Vector, e_1: Vector) -> int:
    """Write the left side; return its size."""
    size = 2 + f_A.rank + f_B.rank
    for i in range(size):
        for j in range(size):
            S[i, j] = 0.0
    S[0, 0] = S[1, 1] = s / LENGTH_M
    for i in range(size - 2):
        t, bend, sigma = _tangent(f_A, f_B, i)
        x, y = dot(e_0, t), dot(e_1, t)
        S[0, 2 + i], S[1, 2 + i] = -sigma * x, -sigma * y
        S[2 + i, 0], S[2 + i, 1] = x, y
        S[2 + i, 2 + i] = -LENGTH_M * dot(bend, n)
    return size


@njit(**INNER)
def _eliminate(S: FloatArray, size: int, columns: int) -> None:
    """Solve in place by elimination with full pivoting; the solution of row i is in the row i of the right side."""
    width = size + columns
    used = 0
    for _ in range(size):
        best, p, q = LEAST_PIVOT, -1, -1
        for i in range(size):
            if (used >> i) & 1:
                continue
            for j in range(size):
                if abs(S[i, j]) > best and not (used >> (8 + j)) & 1:
                    best, p, q = abs(S[i, j]), i, j
        if p < 0:
            break
        if p != q:  # the row moves to the place of its unknown
            for j in range(width):
                S[p, j], S[q, j] = S[q, j], S[p, j]
        used |= (1 << q) | (1 << (8 + q))
        inverse = 1.0 / S[q, q]
        for j in range(width):
            S[q, j] *= inverse
        for i in range(size):
            factor = S[i, q]
            if i != q and factor != 0.0:
                for j in range(width):
                    S[i, j] -= factor * S[q, j]
    for i in range(size):
        if not (used >> i) & 1:
            for j in range(size, width):
                S[i, j] = 0.0


@njit(**INNER)
def _slid(f: Feature, a_0: float, a_1: float) -> Feature:
    """Return the feature with its point moved by a_0, a_1 (m) along its tangents."""
    if f.rank == 0:
        return f
    if not _is_round(f):
        x = axpy(a_0, f.t_0, f.x)
        return Feature(axpy(a_1, f.t_1, x) if f.rank == 2 else x, f.rank, f.t_0, f.t_1, f.bend, f.radius)
    curvature = np.sqrt(dot(f.bend, f.bend))
    out, angle = scaled(1.0 / curvature, f.bend), min(max(a_0 * curvature, -LARGEST_TURN), LARGEST_TURN)
    cos, sin = np.cos(angle), np.sin(angle)
    turned = axpy(cos, out, scaled(sin, f.t_0))
    tangent = axpy(cos, f.t_0, scaled(-sin, out))
    x = axpy(1.0 / curvature, minus(turned, out), f.x)
    return Feature(x, 1, tangent, f.t_1, scaled(curvature, turned), f.radius)


@njit(**COMPILED)
def refine(f_A: Feature, f_B: Feature, n: Vector, S: FloatArray) -> tuple[Feature, Feature, Vector, float]:
    """Return the features at their nearest points, the normal and the distance s, m, from a guess of n, by Newton."""
    f_A, f_B = independent(f_A, f_B)
    s = dot(n, minus(f_A.x, f_B.x))
    for _ in range(NEWTON_STEPS):
        e_0, e_1 = basis(n)
        size = _write_system(S, f_A, f_B, n, s, e_0, e_1)
        r = minus(f_A.x, f_B.x)
        S[0, size], S[1, size] = dot(e_0, r) / LENGTH_M, dot(e_1, r) / LENGTH_M
        for i in range(size - 2):
            S[2 + i, size] = -dot(_tangent(f_A, f_B, i)[0], n)
        _eliminate(S, size, 1)
        change = 0.0
        for i in range(size):
            change = max(change, abs(S[i, size]))
        turn = max(abs(S[0, size]), abs(S[1, size]))
        share = LARGEST_TURN / turn if turn > LARGEST_TURN else 1.0
        m = axpy(share * S[0, size], e_0, axpy(share * S[1, size], e_1, n))
        n = scaled(1.0 / np.sqrt(dot(m, m)), m)
        unit, k = share * LENGTH_M, 2 + f_A.rank
        f_A = _slid(f_A, unit * S[2, size] if f_A.rank > 0 else 0.0, unit * S[3, size] if f_A.rank > 1 else 0.0)
        f_B = _slid(f_B, unit * S[k, size] if f_B.rank > 0 else 0.0, unit * S[k + 1, size] if f_B.rank > 1 else 0.0)
        s = dot(n, minus(f_A.x, f_B.x))
        if change < NEWTON_TOLERANCE:
            break
    return f_A, f_B, n, s


@njit(**INNER)
def write_motion(
    c: int, f_A: Feature, f_B: Feature, n: Vector, s: float, S: FloatArray,
    N: FloatArray, M: FloatArray, T: FloatArray, P: FloatArray,
) -> None:  # fmt: skip
    """Write N, M, T, P of contact c, whose features are at their nearest points; S (5, 11) is a buffer."""
    e_0, e_1 = basis(n)
    r = f_A.radius
    if f_A.rank == 0 and f_B.rank == 2:  # a vertex over a face of B
        turned = ((0.0, -r * n[2], r * n[1]), (r * n[2], 0.0, -r * n[0]), (-r * n[1], r * n[0], 0.0))  # r (e_k x n)
        for k in range(3):
            for i in range(3):
                N[c, i, k] = M[c, i, k] = T[c, i, k] = 0.0
                P[c, i, k] = turned[k][i]
        return
    size = _write_system(S, f_A, f_B, n, s, e_0, e_1)
    for k in range(6):
        e = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
        delta = e if k < 3 else scaled(r, cross(e, n))
        S[0, size + k], S[1, size + k] = dot(e_0, delta) / LENGTH_M, dot(e_1, delta) / LENGTH_M
        for i in range(size - 2):
            is_turned = k >= 3 and i < f_A.rank
            S[2 + i, size + k] = -dot(cross(e, _tangent(f_A, f_B, i)[0]), n) if is_turned else 0.0
    _eliminate(S, size, 6)
    for k in range(6):
        e = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
        dn = axpy(S[0, size + k], e_0, scaled(S[1, size + k], e_1))
        moved = axpy(-r, dn, scaled(r, cross(e, n)) if k >= 3 else ZERO)
        for i in range(f_A.rank):
            moved = axpy(LENGTH_M * S[2 + i, size + k], f_A.t_0 if i == 0 else f_A.t_1, moved)
        for i in range(3):
            if k < 3:
                N[c, i, k], T[c, i, k] = dn[i], moved[i]
            else:
                M[c, i, k - 3], P[c, i, k - 3] = dn[i], moved[i]
