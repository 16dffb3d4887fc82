"""The force in a friction cone that explains torques best: least squares over a circular cone, exactly.

    min_f  |A f - b|^2   s.t.  |(f_1, f_2)| <= mu f_n,     f = (f_n, f_1, f_2)

with A (m, 3) and b (m,) in units of the torques' noise. The minimum is the unconstrained one where that lies in the
cone, f = 0 where A'b lies in its polar, and else on the boundary, f = s d(theta), d = (1, mu cos theta, mu sin theta):
there s = u / v with u = d.A'b, v = |A d|^2, and theta maximises u^2 / v, by Newton from the best of `RAYS` rays: the
edges of a pyramid only say where to begin. Directions that A does not see (the null space of J') keep the smallest
force, by a regularisation of 1e-9 of the largest diagonal.

Source: seeds/001 "Contact discrimination" (force in the cone by a small QP); Coulomb's law as in seeds/001.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.vectors import Vector, dot
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

RAYS = 8
ANGLES = 2.0 * np.pi * np.arange(RAYS) / RAYS
COS, SIN = np.cos(ANGLES), np.sin(ANGLES)
NEWTON_STEPS, SETTLED_RAD = 5, 1e-3  # the error after Newton's last step is of its square
LONGEST_RAD = np.pi / RAYS
REGULARISATION = 1e-9
INTERIOR, BOUNDARY, NONE = 0, 1, 2  # where the force lies: what of it may change to first order
Symmetric = tuple[float, float, float, float, float, float]  # 00, 01, 02, 11, 12, 22


@njit(inline="always", **COMPILED)
def _times(G: Symmetric, x: Vector) -> Vector:
    return (
        G[0] * x[0] + G[1] * x[1] + G[2] * x[2],
        G[1] * x[0] + G[3] * x[1] + G[4] * x[2],
        G[2] * x[0] + G[4] * x[1] + G[5] * x[2],
    )


@njit(**COMPILED)
def _solve(G: Symmetric, g: Vector) -> Vector:
    """Return G^-1 g by LDL', which keeps its digits where G is only regularised."""
    l_10, l_20 = G[1] / G[0], G[2] / G[0]
    d_1 = G[3] - l_10 * G[1]
    l_21 = (G[4] - l_20 * G[1]) / d_1
    d_2 = G[5] - l_20 * G[2] - l_21 * l_21 * d_1
    y_1 = g[1] - l_10 * g[0]
    y_2 = g[2] - l_20 * g[0] - l_21 * y_1
    z = y_2 / d_2
    y = y_1 / d_1 - l_21 * z
    return g[0] / G[0] - l_10 * y - l_20 * z, y, z


@njit(**INNER)
def _force_on_boundary(G: Symmetric, g: Vector, mu: float) -> Vector:
    """Return the best force on the cone's boundary; where fewer than three rows leave ties, that of a ray."""
    theta = np.arctan2(g[2], g[1])  # here u is largest, and positive: outside the polar cone
    d = (1.0, mu * np.cos(theta), mu * np.sin(theta))
    best = dot(g, d) ** 2 / dot(d, _times(G, d))
    for k in range(RAYS):
        d = (1.0, mu * COS[k], mu * SIN[k])
        u = dot(g, d)
        value = u * u / dot(d, _times(G, d)) if u > 0.0 else -1.0
        if value > best:
            best, theta = value, ANGLES[k]
    start = theta
    for _ in range(NEWTON_STEPS):  # on log(u^2 / v)
        c, s = mu * np.cos(theta), mu * np.sin(theta)
        d, d1, d2 = (1.0, c, s), (0.0, -s, c), (0.0, -c, -s)
        Gd, Gd1 = _times(G, d), _times(G, d1)
        u, u1, u2 = dot(g, d), dot(g, d1), dot(g, d2)
        v, v1, v2 = dot(d, Gd), 2.0 * dot(d1, Gd), 2.0 * (dot(d1, Gd1) + dot(d2, Gd))
        if u <= 0.0:
            break
        slope = 2.0 * u1 / u - v1 / v
        bend = 2.0 * (u2 * u - u1 * u1) / (u * u) - (v2 * v - v1 * v1) / (v * v)
        step = -slope / bend if bend < 0.0 else np.sign(slope) * LONGEST_RAD
        theta += min(max(step, -LONGEST_RAD), LONGEST_RAD)
        if abs(step) < SETTLED_RAD:
            break
    d = (1.0, mu * np.cos(theta), mu * np.sin(theta))
    if dot(g, d) <= 0.0 or dot(g, d) ** 2 < best * dot(d, _times(G, d)):
        d = (1.0, mu * np.cos(start), mu * np.sin(start))
    size = dot(g, d) / dot(d, _times(G, d))
    return size, size * d[1], size * d[2]


@njit(**COMPILED)
def fit_force(A: FloatArray, m: int, b: FloatArray, mu: float) -> tuple[float, Vector, int]:
    """Return min |A f - b|^2 over the cone for the first m rows, f = (f_n, f_1, f_2), N, and where f lies."""
    G_0 = G_1 = G_2 = G_3 = G_4 = G_5 = g_0 = g_1 = g_2 = 0.0
    for k in range(m):
        x, y, z = A[k, 0], A[k, 1], A[k, 2]
        G_0, G_1, G_2 = G_0 + x * x, G_1 + x * y, G_2 + x * z
        G_3, G_4, G_5 = G_3 + y * y, G_4 + y * z, G_5 + z * z
        g_0, g_1, g_2 = g_0 + x * b[k], g_1 + y * b[k], g_2 + z * b[k]
    small = REGULARISATION * max(G_0, G_3, G_5) + 1e-300
    G, g = (G_0 + small, G_1, G_2, G_3 + small, G_4, G_5 + small), (g_0, g_1, g_2)
    f, place = _solve(G, g), INTERIOR
    if f[0] < 0.0 or f[1] * f[1] + f[2] * f[2] > mu * mu * f[0] * f[0]:
        if g_0 + mu * np.sqrt(g_1 * g_1 + g_2 * g_2) <= 0.0:
            f, place = (0.0, 0.0, 0.0), NONE
        else:
            f, place = _force_on_boundary(G, g, mu), BOUNDARY
    chi2 = 0.0
    for k in range(m):
        r = A[k, 0] * f[0] + A[k, 1] * f[1] + A[k, 2] * f[2] - b[k]
        chi2 += r * r
    return chi2, f, place
