"""The global optimum over all contact modes: MPC on a linear complementarity system as a mixed-integer program.

    min over u, lam, x, z   sum_k w . |e_k + S x_k|_1                    x_0 = 0, x_k from the present q
    s.t.   x_{k+1} = A x_k + B u_k + D lam_k + d
           eta_k = E x_k + F lam_k + H u_k + c >= 0,  lam_k >= 0
           lam_k <= lam_max z_k,  eta_k <= eta_max (1 - z_k),  z_k in {0, 1}^r      either force or gap, ray by ray
           u_min <= u_k <= u_max

with the system of `complementarity_model`: one piece per choice of z, 2^(r T) pieces for r rays and T steps (seeds/003,
"Global PWA formulation": "already too slow for control"). Solved to optimality by HiGHS through scipy.optimize.milp;
errors count by their absolute value, since HiGHS has no quadratic integer programs. A reference for small systems, to
judge local methods by; where lam_max or eta_max is met the result says so, since it then cuts off solutions.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, lil_array

from contact_mpc.control.tracking.comparison.complementarity_model import ComplementaritySystem
from contact_mpc.errors import InputError
from contact_mpc.settings.arrays import FloatArray

OPTIMAL = 0  # status of milp
AT_BOUND = 0.999


@dataclass(frozen=True)
class MixedIntegerPlan:
    """What the program found.

    Attributes
    ----------
    u : (T, n_a), x : (T, n_v), lam, eta : (T, r) array
        Commands, displacements after each step, forces N and gaps m of the rays.
    closed : (T, r) array of bool
        The mode: z.
    cost : float
        Of the program; NaN where there is none.
    is_optimal : bool
        Whether HiGHS proved it.
    is_cut : bool
        Whether a force or gap is at its largest value allowed.
    nodes : int
        Of branch and bound.
    """

    u: FloatArray
    x: FloatArray
    lam: FloatArray
    eta: FloatArray
    closed: FloatArray
    cost: float
    is_optimal: bool
    is_cut: bool
    nodes: int


@dataclass(frozen=True)
class MixedIntegerProblem:
    """Target, limits and weights.

    Attributes
    ----------
    error : (T, n_e) array
        Of the first n_e entries of x to the reference of each step, before anything moves.
    weight : (n_e,) array
    u_min, u_max : (n_a,) array
    lam_max, eta_max : float
        Largest force, N, and gap, m.
    """

    error: FloatArray
    weight: FloatArray
    u_min: FloatArray
    u_max: FloatArray
    lam_max: float
    eta_max: float


def solve_mixed_integer(
    lcs: ComplementaritySystem, problem: MixedIntegerProblem, time_limit_s: float = 60.0
) -> MixedIntegerPlan:
    """Return the best plan over all modes.

    Raises
    ------
    InputError
        There is none within the limits.
    """
    layout = _Layout(lcs, *problem.error.shape)
    A, low, high = _rows(lcs, problem, layout)
    lower, upper = _bounds(problem, layout)
    cost = np.zeros(layout.size)
    cost[layout.error] = np.tile(problem.weight, layout.T)
    integrality = np.zeros(layout.size)
    integrality[layout.z] = 1
    found = milp(
        cost,
        constraints=LinearConstraint(csr_array(A), low, high),
        integrality=integrality,
        bounds=Bounds(lower, upper),
        options={"time_limit": time_limit_s, "mip_rel_gap": 1e-9},
    )
    if found.x is None:
        raise InputError(f"no plan within u_min..u_max, lam_max {problem.lam_max:g} N: {found.message}")
    u, lam, x, z = (found.x[part].reshape(layout.T, -1) for part in (layout.u, layout.lam, layout.x, layout.z))
    before = np.vstack([np.zeros_like(x[:1]), x[:-1]])
    eta = before @ lcs.E.T + lam @ lcs.F.T + u @ lcs.H.T + lcs.c
    is_cut = bool(np.any(lam >= AT_BOUND * problem.lam_max) or np.any(eta >= AT_BOUND * problem.eta_max))
    nodes = int(found.mip_node_count or 0)
    return MixedIntegerPlan(u, x, lam, eta, z > 0.5, float(found.fun), found.status == OPTIMAL, is_cut, nodes)


class _Layout:
    """Where u, lam, x, z and the errors stand among all variables."""

    def __init__(self, lcs: ComplementaritySystem, T: int, n_e: int) -> None:
        (n_v, n_a), r = lcs.B.shape, lcs.D.shape[1]
        self.T, self.n_v, self.n_a, self.r, self.n_e = T, n_v, n_a, r, n_e
        ends = np.cumsum([0, T * n_a, T * r, T * n_v, T * r, T * n_e])
        self.u, self.lam, self.x, self.z, self.error = (
            slice(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)
        )
        self.size = int(ends[-1])

    def at(self, part: slice, k: int, width: int) -> slice:
        """Return the columns of one step."""
        return slice(part.start + k * width, part.start + (k + 1) * width)


def _rows(
    lcs: ComplementaritySystem, problem: MixedIntegerProblem, layout: _Layout
) -> tuple[lil_array, FloatArray, FloatArray]:
    """Return the linear constraints: motion, gaps, either force or gap, absolute errors."""
    T, n_v, r, n_e = layout.T, layout.n_v, layout.r, layout.n_e
    per_step = n_v + 3 * r + 2 * n_e
    A = lil_array((T * per_step, layout.size))
    low, high = np.full(T * per_step, -np.inf), np.full(T * per_step, np.inf)
    for k in range(T):
        u, lam, x = layout.at(layout.u, k, layout.n_a), layout.at(layout.lam, k, r), layout.at(layout.x, k, n_v)
        z, error = layout.at(layout.z, k, r), layout.at(layout.error, k, n_e)
        before = layout.at(layout.x, k - 1, n_v) if k else None
        top = k * per_step
        motion, gap = slice(top, top + n_v), slice(top + n_v, top + n_v + r)
        force, shut = slice(gap.stop, gap.stop + r), slice(gap.stop + r, gap.stop + 2 * r)
        above, below = slice(shut.stop, shut.stop + n_e), slice(shut.stop + n_e, shut.stop + 2 * n_e)
        A[motion, x], A[motion, u], A[motion, lam] = np.eye(n_v), -lcs.B, -lcs.D
        low[motion] = high[motion] = lcs.d
        for rows in (gap, shut):
            A[rows, lam], A[rows, u] = lcs.F, lcs.H
            if before is not None:
                A[rows, before] = lcs.E
        if before is not None:
            A[motion, before] = -lcs.A
        low[gap] = -lcs.c
        A[shut, z], high[shut] = problem.eta_max * np.eye(r), problem.eta_max - lcs.c
        A[force, lam], A[force, z], high[force] = np.eye(r), -problem.lam_max * np.eye(r), 0.0
        first = slice(x.start, x.start + n_e)
        for rows, sign in ((above, 1.0), (below, -1.0)):
            A[rows, error], A[rows, first], low[rows] = np.eye(n_e), -sign * np.eye(n_e), sign * problem.error[k]
    return A, low, high


def _bounds(problem: MixedIntegerProblem, layout: _Layout) -> tuple[FloatArray, FloatArray]:
    lower, upper = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    lower[layout.u], upper[layout.u] = np.tile(problem.u_min, layout.T), np.tile(problem.u_max, layout.T)
    lower[layout.lam], upper[layout.lam] = 0.0, problem.lam_max
    lower[layout.z], upper[layout.z] = 0.0, 1.0
    lower[layout.error] = 0.0
    return lower, upper
