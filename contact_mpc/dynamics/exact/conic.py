"""The one call of the convex solver: clarabel, an interior-point method for quadratic objectives over cones.

    min over x   1/2 x' Q x + b' x    subject to   G_i x + g_i in K_i

with K_i the non-negative numbers (one row) or the second-order cone s_0 >= |(s_1, s_2)| (three rows). Solved in
millimetres and newtons, where displacements and forces of contact are of the order of one; TOLERANCE is on the
feasibility, mm and N, and the duality gap, mJ.
"""

from itertools import groupby
from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from contact_mpc.settings.arrays import FloatArray

TOLERANCE = 1e-10
MAX_ITERATIONS = 100
LENGTH_M = 1e-3
SOLVED, ALMOST_SOLVED, INFEASIBLE, FAILED = "solved", "almost_solved", "infeasible", "failed"
_OUTCOMES = {
    "Solved": SOLVED,
    "AlmostSolved": ALMOST_SOLVED,
    "PrimalInfeasible": INFEASIBLE,
    "AlmostPrimalInfeasible": INFEASIBLE,
}


class ConicSolution(NamedTuple):
    """x (n,) m or rad; slacks G x + g and multipliers of all rows, m and N; outcome; iterations."""

    x: FloatArray
    slack: FloatArray
    multiplier: FloatArray
    outcome: str
    iterations: int


def solve_conic(Q: FloatArray, b: FloatArray, G: FloatArray, g: FloatArray, widths: list[int]) -> ConicSolution:
    """Solve the program; widths lists the rows of each cone in order: 1 (non-negative) or 3 (second-order)."""
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(Q) * LENGTH_M), b, sparse.csc_matrix(-G), g / LENGTH_M, _cones(widths), _settings()
    )
    found = solver.solve()
    return ConicSolution(
        LENGTH_M * np.array(found.x),
        LENGTH_M * np.array(found.s),
        np.array(found.z),
        _OUTCOMES.get(str(found.status), FAILED),
        int(found.iterations),
    )


def _cones(widths: list[int]) -> list[Any]:
    """Return clarabel's cones; neighbouring inequalities are one."""
    found: list[Any] = []
    for width, group in groupby(widths):
        count = len(list(group))
        found += [clarabel.NonnegativeConeT(count)] if width == 1 else [clarabel.SecondOrderConeT(width)] * count
    return found


def _settings() -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = MAX_ITERATIONS
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    settings.max_threads = 1
    return settings
