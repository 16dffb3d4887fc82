"""The second-order cone of one contact in primal-dual Newton steps, compiled and without a tangent basis.

With the normal n as the axis, x_0 = n . x and x_t = x - x_0 n, a slack s and a multiplier z lie in {x : x_0 >= |x_t|}:

    s = M d + phi n = psi n + mu d_t        f = M z (force on A)        M = n n' + mu (I - n n')
    R = 2 n n' - I        det x = x . R x = x_0^2 - |x_t|^2        x^-1 = R x / det x

The log barrier asks for z = (2 / kappa) s^-1 (then M z = -w of `dynamics.smoothed.barrier`). Its linearisation at
(s, z) in the scaling of Nesterov and Todd, with target t in place of 2 / kappa, is

    dz = t s^-1 - z - S ds,    S = (2 v v' - R) sqrt(det z / det s),    S s = z,
    v = (R s' + z') / sqrt(2 (1 + s' . z')),    s' = s / sqrt(det s), z' = z / sqrt(det z)

Source: L. Vandenberghe, "The CVXOPT linear and quadratic cone program solvers", 2010, section 4.
"""

import numpy as np
from numba import njit

from contact_mpc.geometry.vectors import Vector, axpy, dot, scaled
from contact_mpc.settings.code.compile_flags import COMPILED


@njit(inline="always", **COMPILED)
def weigh(mu: float, n: Vector, x: Vector) -> Vector:
    """Return M x."""
    return axpy((1.0 - mu) * dot(n, x), n, scaled(mu, x))


@njit(inline="always", **COMPILED)
def reflect(n: Vector, x: Vector) -> Vector:
    """Return R x."""
    return axpy(2.0 * dot(n, x), n, scaled(-1.0, x))


@njit(inline="always", **COMPILED)
def determinant(n: Vector, x: Vector) -> float:
    """Return det x."""
    x_0 = dot(n, x)
    return 2.0 * x_0 * x_0 - dot(x, x)


@njit(inline="always", **COMPILED)
def margin(n: Vector, x: Vector) -> float:
    """Return x_0 - |x_t|, positive inside the cone."""
    x_0 = dot(n, x)
    return x_0 - np.sqrt(max(dot(x, x) - x_0 * x_0, 0.0))


@njit(inline="always", **COMPILED)
def inverse(n: Vector, x: Vector, scale: float) -> Vector:
    """Return scale x^-1."""
    return scaled(scale / determinant(n, x), reflect(n, x))


@njit(inline="always", **COMPILED)
def scaling(n: Vector, s: Vector, z: Vector) -> tuple[Vector, float]:
    """Return v and sqrt(det z / det s)."""
    a, b = 1.0 / np.sqrt(determinant(n, s)), 1.0 / np.sqrt(determinant(n, z))
    size = 1.0 / np.sqrt(2.0 * (1.0 + a * b * dot(s, z)))
    return axpy(size * a, reflect(n, s), scaled(size * b, z)), a / b


@njit(inline="always", **COMPILED)
def scale_slack(n: Vector, v: Vector, ratio: float, x: Vector) -> Vector:
    """Return S x."""
    return scaled(ratio, axpy(2.0 * dot(v, x), v, scaled(-1.0, reflect(n, x))))


@njit(inline="always", **COMPILED)
def largest_step(n: Vector, x: Vector, dx: Vector, limit: float) -> float:
    """Return the largest t <= limit for which x + t dx stays inside the cone (x being inside)."""
    x_0, dx_0 = dot(n, x), dot(n, dx)
    if x_0 + limit * dx_0 <= 0.0:
        limit = -x_0 / dx_0
    c0, c1, c2 = determinant(n, x), 2.0 * (2.0 * x_0 * dx_0 - dot(x, dx)), determinant(n, dx)
    if c0 + limit * (c1 + limit * c2) > 0.0 and (c2 <= 0.0 or c1 >= 0.0 or -c1 >= 2.0 * c2 * limit):
        return limit  # det is positive at both ends and has no minimum in between
    discriminant = c1 * c1 - 4.0 * c2 * c0
    if discriminant < 0.0:
        return limit
    first = 2.0 * c0 / (-c1 + np.sqrt(discriminant))  # the smaller positive root, without cancellation
    return min(limit, first) if first > 0.0 else limit
