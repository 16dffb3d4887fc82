"""Box-constrained quadratic programs of receding horizons by projected Newton steps, compiled.

    min 1/2 x' (D + M' M) x + f' x   subject to   lower <= x <= upper

x holds T steps of n_a commands. D, the cost of commands and of their changes, is tridiagonal in the steps of each
command; M (m, n), the scaled sensitivity of the object, has few rows. At each iterate the variables that sit at a
bound with the gradient pushing outwards are held; the Newton step in the others comes from the m x m system of the
Woodbury identity, (D + M'M)^-1 = D^-1 - D^-1 M' (I + M D^-1 M')^-1 M D^-1, and is projected with a backtracking search.
The active set settles in a few factorisations.
Source: D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", 1982;
Y. Tassa et al., "Control-limited differential dynamic programming", 2014, appendix.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.cholesky import factorise, solve_in_place
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

BOX_CONVERGED, BOX_ITERATION_LIMIT, BOX_NOT_DEFINITE = 0, 1, 2
MAX_ITERATIONS = 50
RELATIVE_TOLERANCE = 1e-9  # on the projected gradient against the largest |f|
ROUND_OFF_TOLERANCE = 1e-6  # the same, where the objective cannot be measured any better
SUFFICIENT_DECREASE = 0.1
SMALLEST_STEP = 1e-8


class HorizonHessian(NamedTuple):
    """D + M'M.

    diagonal : (n,) of D;  coupling : (n,) with D[i, i - n_a] = coupling[i], 0 in the first step
    M : (m, n);  n_a : commands per step
    """

    diagonal: FloatArray
    coupling: FloatArray
    M: FloatArray
    n_a: int


@njit(**INNER)
def program_gradient(H: HorizonHessian, f: FloatArray, x: FloatArray, g: FloatArray) -> None:
    """Write g = H x + f."""
    n, n_a = x.shape[0], H.n_a
    for i in range(n):
        g[i] = f[i] + H.diagonal[i] * x[i]
    for i in range(n_a, n):
        g[i] += H.coupling[i] * x[i - n_a]
        g[i - n_a] += H.coupling[i] * x[i]
    for r in range(H.M.shape[0]):
        value = 0.0
        for i in range(n):
            value += H.M[r, i] * x[i]
        for i in range(n):
            g[i] += value * H.M[r, i]


@njit(**INNER)
def program_objective(f: FloatArray, x: FloatArray, g: FloatArray) -> float:
    """1/2 x' H x + f' x from the gradient g = H x + f."""
    value = 0.0
    for i in range(x.shape[0]):
        value += 0.5 * x[i] * (g[i] + f[i])
    return value


@njit(**INNER)
def _solve_tridiagonal(H: HorizonHessian, free: NDArray[np.bool_], X: FloatArray) -> bool:
    """Replace the free rows of X (n, k) by D_free^-1 X (Thomas' algorithm per command); False if not definite."""
    n, n_a = H.diagonal.shape[0], H.n_a
    pivot = np.empty(n)
    for i in range(n):
        if not free[i]:
            continue
        pivot[i] = H.diagonal[i]
        if i >= n_a and free[i - n_a]:
            factor = H.coupling[i] / pivot[i - n_a]
            pivot[i] -= factor * H.coupling[i]
            for j in range(X.shape[1]):
                X[i, j] -= factor * X[i - n_a, j]
        if not pivot[i] > 0.0:
            return False
    for i in range(n - 1, -1, -1):
        if not free[i]:
            continue
        inverse = 1.0 / pivot[i]
        if i + n_a < n and free[i + n_a]:
            for j in range(X.shape[1]):
                X[i, j] = (X[i, j] - H.coupling[i + n_a] * X[i + n_a, j]) * inverse
        else:
            for j in range(X.shape[1]):
                X[i, j] *= inverse
    return True


@njit(**INNER)
def _newton_direction(H: HorizonHessian, g: FloatArray, free: NDArray[np.bool_], step: FloatArray) -> bool:
    """Write the Newton step of the free variables, 0 for the others; False where their Hessian is not definite."""
    m, n = H.M.shape
    X = np.zeros((n, m + 1))  # D^-1 [M', -g]
    for i in range(n):
        if free[i]:
            for r in range(m):
                X[i, r] = H.M[r, i]
            X[i, m] = -g[i]
    if not _solve_tridiagonal(H, free, X):
        return False
    C, right = np.eye(m), np.zeros(m)
    for i in range(n):
        if free[i]:
            for r in range(m):
                factor = H.M[r, i]
                if factor != 0.0:
                    right[r] += factor * X[i, m]
                    for s in range(r + 1):
                        C[r, s] += factor * X[i, s]
    L = np.zeros((m, m))
    if not factorise(C, L):
        return False
    solve_in_place(L, right)
    for i in range(n):
        value = X[i, m]
        for r in range(m):
            value -= X[i, r] * right[r]
        step[i] = value if free[i] else 0.0
    return True


@njit(**INNER)
def _descent_direction(
    H: HorizonHessian,
    g: FloatArray,
    x: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    free: NDArray[np.bool_],
    step: FloatArray,
) -> bool:
    """Write a step along which the objective falls inside the box at first; False where D is not definite.

    Newton's, in the free variables that it does not push out of a bound at which they are: projected, such a push
    would turn a descent into an ascent. Scaled gradient descent where none would be left.
    """
    n, original = x.shape[0], free.copy()
    left = n
    while left > 0:
        if not _newton_direction(H, g, free, step):
            return False
        left, pushed = 0, False
        for i in range(n):
            if free[i]:
                if (x[i] <= lower[i] and step[i] < 0.0) or (x[i] >= upper[i] and step[i] > 0.0):
                    free[i], pushed = False, True
                else:
                    left += 1
        if not pushed:
            return True
    for i in range(n):
        curvature = H.diagonal[i]
        for r in range(H.M.shape[0]):
            curvature += H.M[r, i] ** 2
        step[i] = -g[i] / curvature if original[i] else 0.0
    return True


@njit(**COMPILED)
def solve_box_qp(
    H: HorizonHessian, f: FloatArray, lower: FloatArray, upper: FloatArray, x: FloatArray
) -> tuple[int, int, float]:
    """Solve in place from x (n,); return (status, factorisations, largest projected gradient)."""
    n = x.shape[0]
    g, trial, trial_g, step = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    free = np.empty(n, dtype=np.bool_)
    scale = 1e-300
    for i in range(n):
        x[i] = min(max(x[i], lower[i]), upper[i])
        scale = max(scale, abs(f[i]))
    program_gradient(H, f, x, g)
    residual = np.inf
    for iteration in range(MAX_ITERATIONS):
        residual = 0.0
        for i in range(n):
            free[i] = not ((x[i] <= lower[i] and g[i] > 0.0) or (x[i] >= upper[i] and g[i] < 0.0))
            if free[i]:
                residual = max(residual, abs(g[i]))
        if residual <= RELATIVE_TOLERANCE * scale:
            return BOX_CONVERGED, iteration, residual
        if not _descent_direction(H, g, x, lower, upper, free, step):
            return BOX_NOT_DEFINITE, iteration, residual
        value, t = program_objective(f, x, g), 1.0
        while True:
            decrease = 0.0
            for i in range(n):
                trial[i] = min(max(x[i] + t * step[i], lower[i]), upper[i])
                decrease += g[i] * (x[i] - trial[i])
            program_gradient(H, f, trial, trial_g)
            if value - program_objective(f, trial, trial_g) >= SUFFICIENT_DECREASE * decrease or t < SMALLEST_STEP:
                break
            t *= 0.5
        x[:] = trial
        g[:] = trial_g
        if t < SMALLEST_STEP:  # no further decrease can be measured: at the solution that is round-off
            is_solved = residual <= ROUND_OFF_TOLERANCE * scale
            return BOX_CONVERGED if is_solved else BOX_ITERATION_LIMIT, iteration + 1, residual
    return BOX_ITERATION_LIMIT, MAX_ITERATIONS, residual
