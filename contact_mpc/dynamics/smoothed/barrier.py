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

from numba import njit

from contact_mpc.geometry.vectors import Vector, axpy, dot, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED


@njit(inline="always", **COMPILED)
def cone_value(phi: float, mu: float, n: Vector, d: Vector) -> float:
    """Return D where psi > 0, else -1: positive inside the cone only."""
    nu = dot(n, d)
    psi = phi + nu
    return psi * psi - mu * mu * (dot(d, d) - nu * nu) if psi > 0.0 else -1.0


@njit(inline="always", **COMPILED)
def barrier_terms(phi: float, mu: float, n: Vector, d: Vector, kappa: float, c: int, W: FloatArray) -> Vector:
    """Return the gradient w of the barrier along d and write its Hessian to W[c] (3, 3)."""
    D, nu, m2 = cone_value(phi, mu, n, d), dot(n, d), mu * mu
    e = axpy(phi + nu + m2 * nu, n, scaled(-m2, d))
    weight = 2.0 / (kappa * D)
    bend = 2.0 * weight / D
    for i in range(3):
        for j in range(3):
            W[c, i, j] = bend * e[i] * e[j] - weight * (1.0 + m2) * n[i] * n[j]
        W[c, i, i] += weight * m2
    return scaled(-weight, e)


@njit(inline="always", **COMPILED)
def barrier_mixed(phi: float, mu: float, n: Vector, d: Vector, kappa: float, dphi: float, dn: Vector) -> Vector:
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
