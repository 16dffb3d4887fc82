"""Lemke's complementary pivoting for linear complementarity problems, with lexicographic ratios, compiled.

    find z >= 0   with   w = M z + q >= 0,   z' w = 0

Source: R. Cottle, J.-S. Pang, R. Stone, "The Linear Complementarity Problem", 1992, algorithms 4.4.5 and 4.9.3. The
lexicographic rule excludes cycling on the ties of resting contacts. A ray means that pivoting found no solution; for
copositive M, as in contact problems, that there is none (theorem 4.4.12), unless the artificial variable is at zero by
then and stays in the basis by a tie: that is a solution. The tableau is updated in place, so the last
digits suffer: solve the final basis again from the data where they matter.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import RAISING

IntArray = NDArray[np.int64]
SOLVED, RAY_TERMINATION, PIVOT_LIMIT = 0, 1, 2
PIVOT_TOLERANCE = 1e-11  # on entries of a tableau whose data are of the order of one
TIE_TOLERANCE = 1e-12  # on ratios
LEAST_ARTIFICIAL = 1e-12  # of z0, beside data of the order of one: a ray that starts where it is gone is a solution


class LcpSolution(NamedTuple):
    """z (n,); outcome SOLVED, RAY_TERMINATION or PIVOT_LIMIT (z is then meaningless); number of pivots."""

    z: FloatArray
    outcome: int
    pivots: int


def solve_lcp(M: FloatArray, q: FloatArray, max_pivots: int | None = None) -> LcpSolution:
    """Solve the problem with M (n, n), q (n,), by default within 50 (n + 1) pivots."""
    n = len(q)
    limit = 50 * (n + 1) if max_pivots is None else max_pivots
    return LcpSolution(*_pivot(np.ascontiguousarray(M, dtype=np.float64), np.asarray(q, dtype=np.float64), limit))


@njit(**RAISING)
def _leaving_row(T: FloatArray, column: int, n: int) -> int:
    """Return the row of the lexicographically smallest (rhs, initial basis) / entry, or -1 for a ray."""
    best = -1
    for r in range(n):
        if T[r, column] <= PIVOT_TOLERANCE:
            continue
        if best < 0:
            best = r
            continue
        for k in range(n + 1):  # the right-hand side first, then the columns of w
            j = 2 * n + 1 if k == 0 else k - 1
            a, b = T[r, j] / T[r, column], T[best, j] / T[best, column]
            if abs(a - b) > TIE_TOLERANCE * (1.0 + abs(a) + abs(b)):
                if a < b:
                    best = r
                break
    return best


@njit(**RAISING)
def _exchange(T: FloatArray, r: int, column: int) -> None:
    pivot = T[r, column]
    for j in range(T.shape[1]):
        T[r, j] /= pivot
    for i in range(T.shape[0]):
        factor = T[i, column]
        if i != r and factor != 0.0:
            for j in range(T.shape[1]):
                T[i, j] -= factor * T[r, j]


@njit(**RAISING)
def _read_solution(T: FloatArray, basis: IntArray) -> FloatArray:
    n = basis.shape[0]
    z = np.zeros(n)
    for i in range(n):
        if n <= basis[i] < 2 * n:
            z[basis[i] - n] = max(T[i, 2 * n + 1], 0.0)
    return z


@njit(**RAISING)
def _pivot(M: FloatArray, q: FloatArray, limit: int) -> tuple[FloatArray, int, int]:
    """Columns of the tableau: w (n), z (n), the artificial z0, the right-hand side; I w - M z - 1 z0 = q."""
    n = q.shape[0]
    if n == 0 or np.min(q) >= 0.0:
        return np.zeros(n), SOLVED, 0
    T = np.zeros((n, 2 * n + 2))
    for i in range(n):
        T[i, i], T[i, 2 * n], T[i, 2 * n + 1] = 1.0, -1.0, q[i]
        T[i, n : 2 * n] = -M[i]
    basis = np.arange(n)
    r, entering = 0, 2 * n
    for i in range(1, n):  # the most negative q; of equal ones the last, which is the lexicographic choice
        if q[i] <= q[r]:
            r = i
    for pivots in range(1, limit + 1):
        leaving = basis[r]
        _exchange(T, r, entering)
        basis[r] = entering
        if leaving == 2 * n:
            return _read_solution(T, basis), SOLVED, pivots
        entering = leaving + n if leaving < n else leaving - n
        r = _leaving_row(T, entering, n)
        if r < 0:
            z0 = np.max(np.where(basis == 2 * n, T[:, 2 * n + 1], 0.0))
            return _read_solution(T, basis), SOLVED if z0 <= LEAST_ARTIFICIAL else RAY_TERMINATION, pivots
        for i in range(n):  # z0 leaves whenever it may, which ends the search
            if basis[i] == 2 * n and T[i, entering] > PIVOT_TOLERANCE:
                gap = T[i, 2 * n + 1] / T[i, entering] - T[r, 2 * n + 1] / T[r, entering]
                if gap <= TIE_TOLERANCE:
                    r = i
    return np.zeros(n), PIVOT_LIMIT, limit
