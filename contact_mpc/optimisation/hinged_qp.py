"""Box programs with one-sided costs, which push back only where a bound is crossed, compiled.

    min 1/2 x'(D + M'M) x + f'x + 1/2 sum_i min(0, c_i + r_i'x)^2   subject to   lower <= x <= upper

Semi-smooth Newton: the rows that are crossed at x count as two-sided, which makes a program of `box_qp`; its solution
is the next x, cut back where the true objective, which is convex, would not fall.
Source: R. Mifflin, "Semismooth and semiconvex functions in constrained optimization", SIAM J. Control Optim. 15, 1977;
L. Qi, J. Sun, "A nonsmooth version of Newton's method", Mathematical Programming 58, 1993.
"""

import numpy as np
from numba import njit

from contact_mpc.optimisation.box_qp import (
    BOX_CONVERGED,
    HorizonHessian,
    program_gradient,
    program_objective,
    solve_box_qp,
)
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

HINGES_UNSETTLED = 3
MAX_ROUNDS = 20
SMALLEST_STEP = 1e-6


@njit(**INNER)
def _objective(
    H: HorizonHessian, f: FloatArray, rows: FloatArray, level: FloatArray, x: FloatArray, g: FloatArray
) -> float:
    program_gradient(H, f, x, g)
    value = program_objective(f, x, g)
    for r in range(level.shape[0]):
        crossed = min(0.0, level[r] + _dot(rows[r], x))
        value += 0.5 * crossed * crossed
    return value


@njit(**INNER)
def _dot(a: FloatArray, b: FloatArray) -> float:
    value = 0.0
    for i in range(a.shape[0]):
        value += a[i] * b[i]
    return value


@njit(**COMPILED)
def solve_hinged_qp(
    H: HorizonHessian,
    f: FloatArray,
    rows: FloatArray,
    level: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    x: FloatArray,
) -> tuple[int, int, int]:
    """Solve in place from x (n,), rows (h, n) and level (h,) being r_i and c_i; see the module.

    Returns
    -------
    status : int
        That of `solve_box_qp`, or HINGES_UNSETTLED where the crossed rows still change.
    factorisations, rounds : int
        Of all programs; number of programs.
    """
    n, m, h = x.shape[0], H.M.shape[0], level.shape[0]
    M, g, target, trial, gradient = np.empty((m + h, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    M[:m] = H.M
    counted, factorisations, t = np.zeros(h, dtype=np.bool_), 0, 0.0
    for i in range(n):
        x[i] = min(max(x[i], lower[i]), upper[i])
    for done in range(MAX_ROUNDS):
        count, is_settled = m, t == 1.0
        g[:] = f
        for r in range(h):
            is_crossed = level[r] + _dot(rows[r], x) < 0.0
            is_settled = is_settled and is_crossed == counted[r]
            counted[r] = is_crossed
            if is_crossed:
                M[count] = rows[r]
                count += 1
                for i in range(n):
                    g[i] += level[r] * rows[r, i]
        if is_settled:
            return BOX_CONVERGED, factorisations, done
        target[:] = x
        program = HorizonHessian(H.diagonal, H.coupling, M[:count], H.n_a)
        status, used, _residual = solve_box_qp(program, g, lower, upper, target)
        factorisations += used
        if status != BOX_CONVERGED:
            x[:] = target
            return status, factorisations, done + 1
        value, t = _objective(H, f, rows, level, x, gradient), 1.0
        while True:
            for i in range(n):
                trial[i] = x[i] + t * (target[i] - x[i])
            if _objective(H, f, rows, level, trial, gradient) <= value or t < SMALLEST_STEP:
                break
            t *= 0.5
        x[:] = trial
    return HINGES_UNSETTLED, factorisations, MAX_ROUNDS
