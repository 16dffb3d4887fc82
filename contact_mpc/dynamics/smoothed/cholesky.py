"""Reverse Cholesky factorisation H = L' L and solves for the small systems of one step, compiled and in place.

The last variable is eliminated first. With robots after objects, and joints after those that carry them, a finger so
couples with its own joints and the objects only, and no elimination fills in more (R. Featherstone, "Rigid Body
Dynamics Algorithms", 2008, section 6.5); zeros of L are skipped.
"""

import numpy as np
from numba import njit

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import INNER


@njit(**INNER)
def factorise(H: FloatArray, L: FloatArray) -> bool:
    """Write the lower L of the symmetric H (n, n), of which the lower triangle is read; False if not definite."""
    n = H.shape[0]
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = H[i, j]
    for k in range(n - 1, -1, -1):
        if not L[k, k] > 0.0:
            return False
        inverse = 1.0 / np.sqrt(L[k, k])
        for j in range(k + 1):
            L[k, j] *= inverse
        for i in range(k):
            factor = L[k, i]
            if factor != 0.0:
                for j in range(i + 1):
                    L[i, j] -= factor * L[k, j]
    return True


@njit(**INNER)
def solve_in_place(L: FloatArray, x: FloatArray) -> None:
    """Replace x (n,) by the solution of L' L x = x."""
    n = L.shape[0]
    for k in range(n - 1, -1, -1):
        x[k] /= L[k, k]
        value = x[k]
        for i in range(k):
            x[i] -= L[k, i] * value
    for k in range(n):
        value = x[k]
        for i in range(k):
            value -= L[k, i] * x[i]
        x[k] = value / L[k, k]


@njit(**INNER)
def solve_columns_in_place(L: FloatArray, X: FloatArray) -> None:
    """Replace X (n, m) by the solution of L' L X = X; rows are contiguous, so the inner loop runs over columns."""
    n, m = X.shape
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / L[k, k]
        for j in range(m):
            X[k, j] *= inverse
        for i in range(k):
            factor = L[k, i]
            if factor != 0.0:
                for j in range(m):
                    X[i, j] -= factor * X[k, j]
    for k in range(n):
        for i in range(k):
            factor = L[k, i]
            if factor != 0.0:
                for j in range(m):
                    X[k, j] -= factor * X[i, j]
        inverse = 1.0 / L[k, k]
        for j in range(m):
            X[k, j] *= inverse
