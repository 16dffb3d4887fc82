"""Local descent: a contact point slides along its surface until no motion of it explains the torques better.

At a point the best force is known (`cone_force`). A Gauss-Newton step then solves

    min over x (2), y   |S x + B y - r|^2 + DAMPING tr(S'S) |x|^2

with r what the force leaves of the torques, S how the rows change with the point, and B the directions in which the
force may change to first order: all three inside the cone, along and around its boundary on it. The point moves by x,
at most `longest_m`, halved until chi^2 with its own best force decreases, and is brought back onto the surface.
Steps that would end under another shape of the same robot are cut as well: nothing can touch there.

Source: seeds/001 "Contact discrimination": "gradient descent (local), which finds all local minima".
"""

import numpy as np
from numba import njit

from contact_mpc.estimation.contact_location.cone_force import BOUNDARY, NONE
from contact_mpc.estimation.contact_location.surfaces import Surfaces, height_over, retract
from contact_mpc.estimation.contact_location.torque_map import (
    Arm,
    fill_motion,
    fit_at,
    from_world,
    tangents,
    to_world,
)
from contact_mpc.geometry.vectors import Vector, axpy, minus, rotate, row, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

DAMPING = 1e-6
HALVINGS = 4
SETTLED_M = 5e-5
SETTLED_CHI2 = 1e-3
COVER_M = 1e-3  # deeper under another shape nothing can touch


@njit(**COMPILED)
def is_covered(arm: Arm, surfaces: Surfaces, s: int, p: Vector) -> bool:
    """Whether another shape of the robot covers the point p of surface s, in the world."""
    for other in range(surfaces.body.shape[0]):
        if other != s:
            seen = from_world(arm, other, minus(p, row(arm.p_WG, other)))
            if height_over(surfaces, other, seen) < -COVER_M:
                return True
    return False


@njit(**INNER)
def _solve_step(H: FloatArray, g: FloatArray, n: int) -> None:
    """Overwrite g (n,) by H^-1 g for a positive definite H (n, n), by Cholesky in place."""
    for i in range(n):
        for j in range(i + 1):
            total = H[i, j]
            for k in range(j):
                total -= H[i, k] * H[j, k]
            H[i, j] = np.sqrt(max(total, 1e-300)) if i == j else total / H[j, j]
    for i in range(n):
        for k in range(i):
            g[i] -= H[i, k] * g[k]
        g[i] /= H[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            g[i] -= H[k, i] * g[k]
        g[i] /= H[i, i]


@njit(**COMPILED)
def _columns(f: Vector, place: int) -> tuple[int, Vector, Vector, Vector]:
    """Return how many directions the force may take and these, in (f_n, f_1, f_2)."""
    if place == BOUNDARY:
        return 2, f, (0.0, -f[2], f[1]), (0.0, 0.0, 0.0)
    return 3, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@njit(**COMPILED)
def _step(arm: Arm, m: int, f: Vector, place: int, buffer: FloatArray) -> tuple[float, float]:
    """Return the step x, m, from the rows A, S, b of the arm."""
    H, g, row_k = buffer[:5], buffer[5], buffer[6]
    count, d_0, d_1, d_2 = _columns(f, place)
    n = 2 + count
    H[:, :], g[:] = 0.0, 0.0
    for k in range(m):
        a = (arm.A[k, 0], arm.A[k, 1], arm.A[k, 2])
        residual = arm.b[k] - (a[0] * f[0] + a[1] * f[1] + a[2] * f[2])
        row_k[0], row_k[1] = arm.S[k, 0], arm.S[k, 1]
        row_k[2] = a[0] * d_0[0] + a[1] * d_0[1] + a[2] * d_0[2]
        row_k[3] = a[0] * d_1[0] + a[1] * d_1[1] + a[2] * d_1[2]
        row_k[4] = a[0] * d_2[0] + a[1] * d_2[1] + a[2] * d_2[2]
        for i in range(n):
            g[i] += row_k[i] * residual
            for j in range(i + 1):
                H[i, j] += row_k[i] * row_k[j]
    damping = DAMPING * (H[0, 0] + H[1, 1]) + 1e-12
    H[0, 0], H[1, 1] = H[0, 0] + damping, H[1, 1] + damping
    for i in range(2, n):
        H[i, i] *= 1.0 + 1e-9
        H[i, i] += 1e-12
    _solve_step(H, g, n)
    return g[0], g[1]


@njit(**COMPILED)
def descend(
    arm: Arm,
    surfaces: Surfaces,
    s: int,
    start: Vector,
    mu: float,
    longest_m: float,
    steps: int,
    hopeless: float,
    buffer: FloatArray,
) -> tuple[Vector, Vector, float, Vector]:
    """Return the point x and normal n in the surface's frame, chi^2 and the force (f_n, f_1, f_2), N, at a minimum.

    Gives up, with what it has, where two steps leave chi^2 above `hopeless` and more than half of what it was.
    buffer (7, 5) holds the linear system.
    """
    body = surfaces.body[s]
    x, n = retract(surfaces, s, start)
    p, n_W = to_world(arm, s, x), rotate(arm.R_WG, s, n)
    chi2, f, place = fit_at(arm, body, p, n_W, mu)
    first = chi2
    for iteration in range(steps):
        if place == NONE or chi2 - arm.rest[body] < SETTLED_CHI2:
            break
        if iteration == 2 and chi2 > hopeless and chi2 > 0.5 * first:
            break
        fill_motion(arm, surfaces, s, x, p, n_W, f)
        x_1, x_2 = _step(arm, arm.chain_count[body], f, place, buffer)
        t_1, t_2 = tangents(n_W)
        step = axpy(x_1, t_1, scaled(x_2, t_2))
        length = np.sqrt(x_1**2 + x_2**2)
        if not length > SETTLED_M:
            break
        scale, is_better, before = min(1.0, longest_m / length), False, chi2
        for _ in range(HALVINGS):
            x_new, n_new = retract(surfaces, s, axpy(scale, from_world(arm, s, step), x))
            p_new, n_W_new = to_world(arm, s, x_new), rotate(arm.R_WG, s, n_new)
            if not is_covered(arm, surfaces, s, p_new):
                found = fit_at(arm, body, p_new, n_W_new, mu)
                if found[0] < chi2:
                    x, n, p, n_W, is_better = x_new, n_new, p_new, n_W_new, True
                    chi2, f, place = found
                    break
            scale *= 0.5
        if not is_better or before - chi2 < SETTLED_CHI2 * before:
            break
    return x, n, chi2, f
