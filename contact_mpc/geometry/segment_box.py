"""The nearest points of a segment (the core of a capsule) and a box, and how they move.

In the axes e_i of the box, the point c(t) = c + t u of the segment lies r(t) outside, r_i = how far its coordinate i
is beyond the half extent h_i, and

    g(t) = |r(t)|^2 / 2,    g'(t) = u . r(t)

is convex with a derivative that is piecewise linear, with kinks where a coordinate passes +-h_i: its root is found
exactly. Where the segment cuts the box, the point with the largest depth counts. Motion seen from the box, with
delta the velocity of the material point at c, omega the turning of the segment and F the projection on the axes with
r_i != 0: where t is inside the segment, u . r = 0 stays true, so

    slide ds = -((F u) . delta + omega . (u x r)) / (u . F u)          T = u ds/ddelta, P = u ds/domega
    n = r / |r|,   dn = (I - n n') F (delta + u ds) / |r|              N = dn/ddelta, M = dn/domega

and T = P = 0 at an end. Over a face and inside the box n does not change. Wrong where the nearest point jumps: a
segment parallel to a face, for which the two ends are contacts of their own (`contact_mpc.model.contact_points`).
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.sphere_distance import beyond, face_normal
from contact_mpc.geometry.vectors import Vector, axpy, cross, dot, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

Axes = tuple[Vector, Vector, Vector]
TINY_M = 1e-12  # of the surface: so near it is inside, and an edge has no curvature that could be used
PARALLEL = 1e-9  # u . F u below which a segment counts as parallel to the nearest feature
ZERO = (0.0, 0.0, 0.0)
TERNARY_STEPS = 52


@njit(inline="always", **COMPILED)
def _outside(t: float, c: Vector, u: Vector, half: Vector) -> Vector:
    """Return r(t)."""
    return (
        beyond(c[0] + t * u[0], half[0]),
        beyond(c[1] + t * u[1], half[1]),
        beyond(c[2] + t * u[2], half[2]),
    )


@njit(inline="always", **COMPILED)
def _depth(t: float, c: Vector, u: Vector, half: Vector) -> float:
    """Return the signed distance of a point inside the box from its faces, max_i |c_i + t u_i| - h_i."""
    return max(abs(c[0] + t * u[0]) - half[0], abs(c[1] + t * u[1]) - half[1], abs(c[2] + t * u[2]) - half[2])


@njit(**INNER)
def _deepest(c: Vector, u: Vector, length: float, half: Vector) -> float:
    """Return the t at which the depth, convex along the segment, is least (ternary search, to 1e-9 of the length)."""
    low, high = -length, length
    for _ in range(TERNARY_STEPS):
        third = (high - low) / 3.0
        if _depth(low + third, c, u, half) <= _depth(high - third, c, u, half):
            high -= third
        else:
            low += third
    return 0.5 * (low + high)


@njit(**INNER)
def nearest_to_box(c: Vector, u: Vector, length: float, half: Vector) -> float:
    """Return the t in [-length, length] whose point c + t u is nearest to, or deepest in, the box."""
    low, high = -length, length
    slope_low, slope_high = dot(u, _outside(low, c, u, half)), dot(u, _outside(high, c, u, half))
    if slope_low >= 0.0 or slope_high <= 0.0:  # nearest at an end, or the end is inside
        t = low if slope_low > 0.0 or slope_high >= 0.0 else high
    else:
        for i in range(6):
            axis, side = i // 2, 1.0 if i % 2 == 0 else -1.0
            kink = (side * half[axis] - c[axis]) / u[axis] if u[axis] != 0.0 else high
            if low < kink < high:
                slope = dot(u, _outside(kink, c, u, half))
                if slope <= 0.0:
                    low, slope_low = kink, slope
                else:
                    high, slope_high = kink, slope
        t = low - slope_low * (high - low) / (slope_high - slope_low)
    r = _outside(t, c, u, half)
    return t if dot(r, r) > 0.0 else _deepest(c, u, length, half)


@njit(**COMPILED)
def segment_to_box(c: Vector, u: Vector, length: float, half: Vector) -> tuple[float, float, Vector, Vector, bool]:
    """Return t, the signed distance s (m), the normal n, the axes F with r != 0 (1 or 0 each), and whether t is inside.

    All in the box's frame.
    """
    t = nearest_to_box(c, u, length, half)
    r = _outside(t, c, u, half)
    s = np.sqrt(dot(r, r))
    if s < TINY_M:
        s, n = face_normal(axpy(t, u, c), half)
        return t, s, n, (abs(n[0]), abs(n[1]), abs(n[2])), False
    free = (1.0 if r[0] != 0.0 else 0.0, 1.0 if r[1] != 0.0 else 0.0, 1.0 if r[2] != 0.0 else 0.0)
    return t, s, scaled(1.0 / s, r), free, abs(t) < length


@njit(**INNER)
def _project(axes: Axes, free: Vector, x: Vector) -> Vector:
    """Return F x in the world."""
    found = ZERO
    for i in range(3):
        found = axpy(free[i] * dot(axes[i], x), axes[i], found)
    return found


@njit(**COMPILED)
def segment_box_motion(
    contact: int,
    s: float,
    n: Vector,
    u: Vector,
    axes: Axes,
    free: Vector,
    slides: bool,
    N: FloatArray,
    M: FloatArray,
    T: FloatArray,
    P: FloatArray,
) -> None:
    """Write N, M, T, P of a contact; n, u and the box's axes are in the world, `slides`: t is inside the segment."""
    u_free = _project(axes, free, u)
    stiffness = dot(u, u_free)
    turned = cross(u, scaled(s, n))
    slides = slides and stiffness > PARALLEL
    bend = 1.0 / s if abs(s) > TINY_M else 0.0
    for k in range(3):
        e = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        along = scaled(-dot(u_free, e) / stiffness, u) if slides else ZERO
        around = scaled(-turned[k] / stiffness, u) if slides else ZERO
        dn, dm = _project(axes, free, axpy(1.0, e, along)), _project(axes, free, around)
        dn, dm = axpy(-dot(n, dn), n, dn), axpy(-dot(n, dm), n, dm)
        for i in range(3):
            T[contact, i, k], P[contact, i, k] = along[i], around[i]
            N[contact, i, k], M[contact, i, k] = bend * dn[i], bend * dm[i]
