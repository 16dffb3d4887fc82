"""Cholesky factorisation and solves for the small dense systems of one step, compiled and in place."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.flags import COMPILED

FloatArray = NDArray[np.float64]


@njit(**COMPILED)
def factorise(H: FloatArray, L: FloatArray) -> bool:
    """Write the lower factor of the symmetric H (n, n), of which the lower triangle is read; False if not definite."""
    n = H.shape[0]
    for j in range(n):
        diagonal = H[j, j]
        for k in range(j):
            diagonal -= L[j, k] * L[j, k]
        if not diagonal > 0.0:
            return False
        pivot = np.sqrt(diagonal)
        L[j, j] = pivot
        inverse = 1.0 / pivot
        for i in range(j + 1, n):
            value = H[i, j]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = value * inverse
    return True


@njit(**COMPILED)
def solve_in_place(L: FloatArray, x: FloatArray) -> None:
    """Replace x (n,) by the solution of L L' x = x."""
    n = L.shape[0]
    for i in range(n):
        value = x[i]
        for k in range(i):
            value -= L[i, k] * x[k]
        x[i] = value / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        value = x[i]
        for k in range(i):
            x[k] -= L[i, k] * value


@njit(**COMPILED)
def solve_columns_in_place(L: FloatArray, X: FloatArray) -> None:
    """Replace X (n, m) by the solution of L L' X = X; rows are contiguous, so the inner loop runs over columns."""
    n, m = X.shape
    for i in range(n):
        for k in range(i):
            factor = L[i, k]
            if factor != 0.0:
                for j in range(m):
                    X[i, j] -= factor * X[k, j]
        inverse = 1.0 / L[i, i]
        for j in range(m):
            X[i, j] *= inverse
    for i in range(n - 1, -1, -1):
        inverse = 1.0 / L[i, i]
        for j in range(m):
            X[i, j] *= inverse
        for k in range(i):
            factor = L[i, k]
            if factor != 0.0:
                for j in range(m):
                    X[k, j] -= factor * X[i, j]
