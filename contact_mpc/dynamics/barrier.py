"""Log barrier of one contact's dual friction cone, its gradient, Hessian and mixed derivatives, compiled.

For a relative displacement d (3,) at a contact with normal n, gap phi and friction mu (seeds/003, "Smoothing, the
general case"), written without a tangent basis and scaled by mu^2, which changes the barrier by a constant only:

    nu = n . d        psi = phi + nu        D = psi^2 - mu^2 (|d|^2 - nu^2)
    barrier = -(1 / kappa) log D            for psi > 0, D > 0
    e  = (psi + mu^2 nu) n - mu^2 d         (half the gradient of D)
    w  = -2 e / (kappa D)                   gradient of the barrier; the contact force on A is -w, N
    W  = (4 e e' / D^2 - 2 ((1 + mu^2) n n' - mu^2 I) / D) / kappa

Derivatives of w along a change (dphi, dn) at fixed d: with dnu = dn . d,
dD = 2 psi dphi + 2 (psi + mu^2 nu) dnu and de = (dphi + (1 + mu^2) dnu) n + (psi + mu^2 nu) dn.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.flags import COMPILED
from contact_mpc.geometry.vectors import Vector, axpy, dot, scaled

FloatArray = NDArray[np.float64]


@njit(**COMPILED)
def cone_value(phi: float, mu: float, n: FloatArray, d: FloatArray) -> float:
    """Return D where psi > 0, else -1: positive inside the cone only."""
    nu = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
    psi = phi + nu
    if psi <= 0.0:
        return -1.0
    return psi * psi - mu * mu * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - nu * nu)


@njit(**COMPILED)
def cone_half_gradient(phi: float, mu: float, n: FloatArray, d: FloatArray, e: FloatArray) -> None:
    """Write e, half the gradient of D along d."""
    nu = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
    s = phi + nu + mu * mu * nu
    for i in range(3):
        e[i] = s * n[i] - mu * mu * d[i]


@njit(**COMPILED)
def barrier_terms(
    phi: float, mu: float, n: FloatArray, d: FloatArray, kappa: float, w: FloatArray, W: FloatArray
) -> None:
    """Write the gradient w (3,) and the Hessian W (3, 3) of the barrier along d."""
    D = cone_value(phi, mu, n, d)
    cone_half_gradient(phi, mu, n, d, w)
    a, c, m2 = 4.0 / (kappa * D * D), 2.0 / (kappa * D), mu * mu
    for i in range(3):
        for j in range(3):
            W[i, j] = a * w[i] * w[j] - c * (1.0 + m2) * n[i] * n[j]
        W[i, i] += c * m2
    for i in range(3):
        w[i] *= -c


@njit(inline="always", **COMPILED)
def barrier_mixed(
    phi: float, mu: float, n: Vector, d: Vector, kappa: float, dphi: float, dn: Vector
) -> Vector:
    """Return the change of w along (dphi, dn) at fixed d."""
    m2 = mu * mu
    nu, dnu = dot(n, d), dot(dn, d)
    psi = phi + nu
    D = psi * psi - m2 * (dot(d, d) - nu * nu)
    s = psi + m2 * nu
    dD = 2.0 * (psi * dphi + s * dnu)
    e = axpy(-m2, d, scaled(s, n))
    de = axpy(dphi + (1.0 + m2) * dnu, n, scaled(s, dn))
    return scaled(-2.0 / (kappa * D), axpy(-dD / D, e, de))


@njit(**COMPILED)
def largest_step(
    phi: float, mu: float, n: FloatArray, d: FloatArray, delta: FloatArray, limit: float
) -> float:
    """Return the largest t <= limit for which d + t delta stays inside the cone (d being inside)."""
    m2 = mu * mu
    nu = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
    dnu = n[0] * delta[0] + n[1] * delta[1] + n[2] * delta[2]
    psi = phi + nu
    if psi + limit * dnu <= 0.0:
        limit = -psi / dnu
    dd = delta[0] * delta[0] + delta[1] * delta[1] + delta[2] * delta[2]
    cross = d[0] * delta[0] + d[1] * delta[1] + d[2] * delta[2]
    c0 = psi * psi - m2 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - nu * nu)
    c1 = 2.0 * (psi * dnu - m2 * (cross - nu * dnu))
    c2 = dnu * dnu - m2 * (dd - dnu * dnu)
    if c0 + limit * (c1 + limit * c2) > 0.0 and (c2 <= 0.0 or c1 >= 0.0 or -c1 >= 2.0 * c2 * limit):
        return limit  # D is positive at both ends and has no minimum in between
    discriminant = c1 * c1 - 4.0 * c2 * c0
    if discriminant < 0.0:
        return limit
    root = np.sqrt(discriminant)
    first = 2.0 * c0 / (-c1 + root)  # the smaller positive root of c0 + c1 t + c2 t^2, without cancellation
    return min(limit, first) if first > 0.0 else limit
