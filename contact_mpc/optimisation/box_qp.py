"""Strictly convex quadratic programs with box bounds by projected Newton steps, compiled.

    min 1/2 x' H x + f' x   subject to   lower <= x <= upper

At each iterate the variables that sit at a bound with the gradient pushing outwards are held, the Newton step is
taken in the others and projected with a backtracking search. The active set settles in a few factorisations.
Source: D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", 1982;
Y. Tassa et al., "Control-limited differential dynamic programming", 2014, appendix.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.flags import COMPILED

FloatArray = NDArray[np.float64]
BOX_CONVERGED, BOX_ITERATION_LIMIT, BOX_NOT_DEFINITE = 0, 1, 2
MAX_ITERATIONS = 50
RELATIVE_TOLERANCE = 1e-9  # on the projected gradient against the largest |f|
SUFFICIENT_DECREASE = 0.1
SMALLEST_STEP = 1e-8


@njit(**COMPILED)
def _gradient(H: FloatArray, f: FloatArray, x: FloatArray, g: FloatArray) -> None:
    for i in range(x.shape[0]):
        value = f[i]
        for j in range(x.shape[0]):
            value += H[i, j] * x[j]
        g[i] = value


@njit(**COMPILED)
def _objective(f: FloatArray, x: FloatArray, g: FloatArray) -> float:
    """1/2 x' H x + f' x from the gradient g = H x + f."""
    value = 0.0
    for i in range(x.shape[0]):
        value += 0.5 * x[i] * (g[i] + f[i])
    return value


@njit(**COMPILED)
def _newton_direction(H: FloatArray, g: FloatArray, free: NDArray[np.int64], count: int, step: FloatArray) -> bool:
    """Write the Newton step of the free variables; False where their Hessian is not definite."""
    reduced = np.empty((count, count))
    for a in range(count):
        for b in range(count):
            reduced[a, b] = H[free[a], free[b]]
    for a in range(count):
        if not reduced[a, a] > 0.0:
            return False
    L = np.linalg.cholesky(reduced)
    x = np.empty(count)
    for a in range(count):
        value = -g[free[a]]
        for b in range(a):
            value -= L[a, b] * x[b]
        x[a] = value / L[a, a]
    for a in range(count - 1, -1, -1):
        x[a] /= L[a, a]
        value = x[a]
        for b in range(a):
            x[b] -= L[a, b] * value
    step[:] = 0.0
    for a in range(count):
        step[free[a]] = x[a]
    return True


@njit(**COMPILED)
def solve_box_qp(
    H: FloatArray, f: FloatArray, lower: FloatArray, upper: FloatArray, x: FloatArray
) -> tuple[int, int, float]:
    """Solve in place from x (n,); return (status, factorisations, largest projected gradient).

    H is (n, n), symmetric and positive definite.
    """
    n = x.shape[0]
    g, trial, trial_g, step = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    free = np.empty(n, dtype=np.int64)
    scale = 1e-300
    for i in range(n):
        x[i] = min(max(x[i], lower[i]), upper[i])
        scale = max(scale, abs(f[i]))
    _gradient(H, f, x, g)
    residual = np.inf
    for iteration in range(MAX_ITERATIONS):
        count, residual = 0, 0.0
        for i in range(n):
            held = (x[i] <= lower[i] and g[i] > 0.0) or (x[i] >= upper[i] and g[i] < 0.0)
            if not held:
                free[count] = i
                count += 1
                residual = max(residual, abs(g[i]))
        if residual <= RELATIVE_TOLERANCE * scale:
            return BOX_CONVERGED, iteration, residual
        if not _newton_direction(H, g, free, count, step):
            return BOX_NOT_DEFINITE, iteration, residual
        value, t = _objective(f, x, g), 1.0
        while True:
            decrease = 0.0
            for i in range(n):
                trial[i] = min(max(x[i] + t * step[i], lower[i]), upper[i])
                decrease += g[i] * (x[i] - trial[i])
            _gradient(H, f, trial, trial_g)
            if value - _objective(f, trial, trial_g) >= SUFFICIENT_DECREASE * decrease or t < SMALLEST_STEP:
                break
            t *= 0.5
        x[:] = trial
        g[:] = trial_g
        if t < SMALLEST_STEP:  # round-off: no further decrease can be measured
            return BOX_CONVERGED, iteration + 1, residual
    return BOX_ITERATION_LIMIT, MAX_ITERATIONS, residual
