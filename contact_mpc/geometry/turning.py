"""Pairs whose shape A is no sphere, so that the contact moves when A turns: two segments, and a rim on a plane.

Seen from B, the core of A moves by delta (the velocity of its point c nearest to B) and turns by omega. Then

    dn = N delta + M omega          slide of c along A = T delta + P omega

Two segments (capsules) with axes u, w and r = c_A - c_B, c_A sliding by ds along u and c_B by dt along w, follow from
u . r = w . r = 0 where both are inside their segments (n is then parallel to u x w and turns with u alone), from
u . r = 0 where only c_A is. The lowest point of a rim (centre o, axis a, radius r) over a plane of normal n lies at
o + r d with d opposite to e = n - (n . a) a, and turns by dd = -(I - d d') de / |e|.

Wrong where two segments are parallel (the nearest points jump) or where a rim lies flat on the plane; the
points of `contact_mpc.model.contact_points` carry a flat rim.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, minus, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

PARALLEL = 1e-9  # sin^2 of the angle below which two segments count as parallel
TINY_M = 1e-12


@njit(**INNER)
def nearest_on_segments(
    a: Vector, u: Vector, half_a: float, b: Vector, w: Vector, half_b: float
) -> tuple[float, float]:
    """Return (s, t): the nearest points of two segments are a + s u and b + t w (unit u, w)."""
    r, c = minus(a, b), dot(u, w)
    along_u, along_w, sin2 = dot(u, r), dot(w, r), 1.0 - c * c
    s = (c * along_w - along_u) / sin2 if sin2 > PARALLEL else 0.0
    s = min(max(s, -half_a), half_a)
    t = min(max(along_w + c * s, -half_b), half_b)
    s = min(max(c * t - along_u, -half_a), half_a)
    return s, t


@njit(**COMPILED)
def across(u: Vector, w: Vector) -> Vector:
    """Return a unit vector across two segments that cross: u x w, or any across u where they are parallel."""
    x = cross(u, w)
    if dot(x, x) <= PARALLEL:
        x = cross(u, (1.0, 0.0, 0.0) if abs(u[0]) < 0.5 else (0.0, 1.0, 0.0))
    return scaled(1.0 / np.sqrt(dot(x, x)), x)


@njit(**INNER)
def _write_outer(out: FloatArray, c: int, scale: float, x: Vector, y: Vector) -> None:
    """Write scale x y' to out[c]."""
    for i in range(3):
        for k in range(3):
            out[c, i, k] = scale * x[i] * y[k]


@njit(**INNER)
def _unit(i: int) -> Vector:
    return 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0


@njit(**INNER)
def segment_motion(
    c: int,
    r: Vector,
    n: Vector,
    u: Vector,
    w: Vector,
    inside_a: bool,
    inside_b: bool,
    N: FloatArray,
    M: FloatArray,
    T: FloatArray,
    P: FloatArray,
) -> None:
    """Write N, M, T, P of contact c for the nearest points of two segments, r = c_A - c_B."""
    distance, cos = max(np.sqrt(dot(r, r)), TINY_M), dot(u, w)
    sin2 = 1.0 - cos * cos
    both = inside_a and inside_b and sin2 > PARALLEL
    ur = cross(u, r)
    _write_outer(T, c, 0.0, u, u)
    _write_outer(P, c, 0.0, u, u)
    if both:
        _write_outer(T, c, 1.0 / sin2, u, axpy(cos, w, scaled(-1.0, u)))
        _write_outer(P, c, -1.0 / sin2, u, ur)
    elif inside_a:
        _write_outer(T, c, -1.0, u, u)
        _write_outer(P, c, -1.0, u, ur)
    sine = np.sqrt(max(sin2, TINY_M))
    sign = 1.0 if dot(n, cross(u, w)) >= 0.0 else -1.0
    for k in range(3):
        e = _unit(k)
        if both:
            dN, dM = (0.0, 0.0, 0.0), scaled(sign / sine, cross(cross(e, u), w))
        else:
            slide, turn = (T[c, 0, k], T[c, 1, k], T[c, 2, k]), (P[c, 0, k], P[c, 1, k], P[c, 2, k])
            dN, dM = scaled(1.0 / distance, axpy(1.0, e, slide)), scaled(1.0 / distance, turn)
            if inside_b and not inside_a:
                dN = axpy(-dot(w, dN), w, dN)
        dN, dM = axpy(-dot(n, dN), n, dN), axpy(-dot(n, dM), n, dM)
        for i in range(3):
            N[c, i, k], M[c, i, k] = dN[i], dM[i]


@njit(**INNER)
def rim_direction(n: Vector, axis: Vector) -> tuple[Vector, float]:
    """Return d, the direction from the centre of a rim to its lowest point over a plane of normal n, and |e|."""
    e = axpy(-dot(n, axis), axis, n)
    length = np.sqrt(dot(e, e))
    if length < TINY_M:
        return across(axis, axis), 0.0
    return scaled(-1.0 / length, e), length


@njit(**INNER)
def rim_motion(
    c: int,
    n: Vector,
    axis: Vector,
    d: Vector,
    length: float,
    radius: float,
    N: FloatArray,
    M: FloatArray,
    T: FloatArray,
    P: FloatArray,
) -> None:
    """Write N = M = T = 0 and P of contact c for the lowest point of a rim over a plane."""
    for matrix in (N, M, T):
        _write_outer(matrix, c, 0.0, n, n)
    for k in range(3):
        e = _unit(k)
        da = cross(e, axis)
        de = axpy(-dot(n, da), axis, scaled(-dot(n, axis), da))
        dd = scaled(-1.0 / length, axpy(-dot(d, de), d, de)) if length > TINY_M else (0.0, 0.0, 0.0)
        slide = scaled(radius, minus(dd, cross(e, d)))
        for i in range(3):
            P[c, i, k] = slide[i]
