"""Smoothed quasi-dynamic step: Newton's method with continuation on the log-barrier problem, compiled.

    min over dq   1/2 dq' Q dq + b' dq - (1 / kappa) sum_i log D_i(J_i dq)          (seeds/003, "Smoothing")

From a start inside all cones Newton runs at the final kappa; where that takes too long, or the start had to be shifted,
kappa is raised by a factor of 5 from 100 1/J, each stage solved roughly, the last to the tolerance on
kappa * decrement^2 (the Newton decrement of the self-concordant problem scaled by kappa). The line search is exact:
along a direction every D_i is a quadratic in the step length. A start with gaps phi < 0 is handled by a shift of the
gaps that is driven to zero while dq stays inside all cones, so that the result is that of the unshifted problem.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.barrier import barrier_terms, cone_value, largest_step
from contact_mpc.dynamics.cholesky import factorise, solve_in_place
from contact_mpc.dynamics.flags import COMPILED
from contact_mpc.dynamics.quadratic import Model, assemble_quadratic
from contact_mpc.geometry.contacts import (
    Contacts,
    Kinematics,
    make_contacts,
    make_kinematics,
    update_contacts,
    update_kinematics,
)
from contact_mpc.geometry.vectors import dot, row

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CONVERGED, ITERATION_LIMIT, NOT_DEFINITE, INFEASIBLE = 0, 1, 2, 3
FIRST_KAPPA = 100.0
KAPPA_FACTOR = 5.0
ROUGH_DECREMENT2 = 0.05  # a stage before the last need only lie near the central path
MAX_ITERATIONS = 200
DIRECT_ITERATIONS = 25  # at the final kappa from a start inside all cones, before continuation takes over
LEAST_SLACK_M = 1e-7  # a start nearer to the boundary of a cone is shifted
MIN_START_GAP_M = 1e-4  # to this slack
SHIFT_FRACTION = 0.9  # of the way to the boundary that the shift is withdrawn per stage
SLOW_SHIFT = 0.5  # share left after a stage above which the barrier's weight is raised for the next
SMALLEST_KAPPA = 1e-4
MAX_SHIFT_STAGES = 60
LINE_SEARCH_STEPS = 20
LINE_SEARCH_ACCURACY = 0.01  # relative, of the step length
FULL_STEP_DECREMENT2 = 0.06  # below it the full Newton step of a self-concordant function converges quadratically


class Newton(NamedTuple):
    """Workspace of one step; arrays over n_v, and over contacts i for those that are active.

    phi : (n_c,) gaps with offset and shift;  shift : (n_c,);  d, delta, w : (n_c, 3);  W : (n_c, 3, 3)
    slip : (n_c, 3) displacement that a contact has before the step, part of d = slip + J dq, m
    active : (n_c,) of which the first n_active[0] are indices of pairs within the activation distance
    """

    kin: Kinematics
    con: Contacts
    Q: FloatArray
    b: FloatArray
    H: FloatArray
    L: FloatArray
    gradient: FloatArray
    direction: FloatArray
    dq: FloatArray
    phi: FloatArray
    shift: FloatArray
    slip: FloatArray
    d: FloatArray
    delta: FloatArray
    w: FloatArray
    W: FloatArray
    WJ: FloatArray
    active: IntArray
    n_active: IntArray


def make_newton(model: Model, has_external: bool = False) -> Newton:
    """Allocate the workspace; has_external as in `make_contacts`."""
    n_v = model.tree.dof_body.shape[0]
    n_c, m = model.pairs.dofs.shape
    return Newton(
        make_kinematics(model.tree), make_contacts(model.pairs, has_external), np.zeros((n_v, n_v)), np.zeros(n_v),
        np.zeros((n_v, n_v)), np.zeros((n_v, n_v)), np.zeros(n_v), np.zeros(n_v), np.zeros(n_v), np.zeros(n_c),
        np.zeros(n_c), np.zeros((n_c, 3)), np.zeros((n_c, 3)), np.zeros((n_c, 3)), np.zeros((n_c, 3)),
        np.zeros((n_c, 3, 3)),
        np.zeros((m, 3)), np.zeros(n_c, dtype=np.int64), np.zeros(1, dtype=np.int64),
    )


@njit(**COMPILED)
def _relative_displacements(model: Model, ws: Newton, x: FloatArray, out: FloatArray) -> None:
    """Write J_i x for every active contact."""
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        out[c] = 0.0
        for k in range(model.pairs.dof_count[c]):
            value = x[model.pairs.dofs[c, k]]
            for i in range(3):
                out[c, i] += ws.con.J[c, k, i] * value


@njit(**COMPILED)
def _update_displacements(model: Model, ws: Newton) -> None:
    """Write d = slip + J dq for every active contact."""
    _relative_displacements(model, ws, ws.dq, ws.d)
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        for i in range(3):
            ws.d[c, i] += ws.slip[c, i]


@njit(**COMPILED)
def _is_inside(model: Model, ws: Newton) -> bool:
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        if not cone_value(ws.phi[c], model.mu[c], ws.con.n[c], ws.d[c]) > 0.0:
            return False
    return True


@njit(**COMPILED)
def assemble_newton(model: Model, ws: Newton, kappa: float) -> None:
    """Write the gradient and the lower triangle of the Hessian at ws.dq (ws.d must belong to it)."""
    n_v = ws.dq.shape[0]
    for i in range(n_v):
        value = ws.b[i]
        for j in range(n_v):
            ws.H[i, j] = ws.Q[i, j]
            value += ws.Q[i, j] * ws.dq[j]
        ws.gradient[i] = value
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        barrier_terms(ws.phi[c], model.mu[c], ws.con.n[c], ws.d[c], kappa, ws.w[c], ws.W[c])
        J, W, w, WJ = ws.con.J[c], ws.W[c], ws.w[c], ws.WJ
        for k in range(model.pairs.dof_count[c]):
            d = model.pairs.dofs[c, k]
            ws.gradient[d] += J[k, 0] * w[0] + J[k, 1] * w[1] + J[k, 2] * w[2]
            for i in range(3):
                WJ[k, i] = W[i, 0] * J[k, 0] + W[i, 1] * J[k, 1] + W[i, 2] * J[k, 2]
            for m in range(k + 1):
                e = model.pairs.dofs[c, m]
                value = J[m, 0] * WJ[k, 0] + J[m, 1] * WJ[k, 1] + J[m, 2] * WJ[k, 2]
                if d >= e:
                    ws.H[d, e] += value
                else:
                    ws.H[e, d] += value


@njit(**COMPILED)
def _slope(model: Model, ws: Newton, kappa: float, linear: float, quadratic: float, t: float) -> tuple[float, float]:
    """First and second derivative along the direction of the whole objective at step length t."""
    first, second = linear + quadratic * t, quadratic
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        n, d, delta, m2 = ws.con.n[c], ws.d[c], ws.delta[c], model.mu[c] ** 2
        nu, dnu, dd, cross, norm = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(3):
            nu += n[i] * d[i]
            dnu += n[i] * delta[i]
            dd += delta[i] * delta[i]
            cross += d[i] * delta[i]
            norm += d[i] * d[i]
        psi = ws.phi[c] + nu
        c0 = psi * psi - m2 * (norm - nu * nu)
        c1 = 2.0 * (psi * dnu - m2 * (cross - nu * dnu))
        c2 = dnu * dnu - m2 * (dd - dnu * dnu)
        D, dD = c0 + t * (c1 + t * c2), c1 + 2.0 * t * c2
        ratio = dD / D
        first -= ratio / kappa
        second += (ratio * ratio - 2.0 * c2 / D) / kappa
    return first, second


@njit(**COMPILED)
def _line_search(model: Model, ws: Newton, kappa: float) -> float:
    """Return the step length that minimises the objective along ws.direction (safeguarded Newton in one variable)."""
    linear, quadratic = 0.0, 0.0
    n_v = ws.dq.shape[0]
    for i in range(n_v):
        Qx, Qd = ws.b[i], 0.0
        for j in range(n_v):
            Qx += ws.Q[i, j] * ws.dq[j]
            Qd += ws.Q[i, j] * ws.direction[j]
        linear += Qx * ws.direction[i]
        quadratic += Qd * ws.direction[i]
    high = 1e3
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        high = largest_step(ws.phi[c], model.mu[c], ws.con.n[c], ws.d[c], ws.delta[c], high)
    low, t = 0.0, min(1.0, 0.95 * high)
    for _ in range(LINE_SEARCH_STEPS):
        first, second = _slope(model, ws, kappa, linear, quadratic, t)
        if first > 0.0:
            high = t
        else:
            low = t
        following = t - first / second
        if not (low < following < high):
            following = 0.5 * (low + high)
        if abs(following - t) < LINE_SEARCH_ACCURACY * t:
            return following
        t = following
    return low if low > 0.0 else t


@njit(**COMPILED)
def _minimise(model: Model, ws: Newton, kappa: float, tolerance: float, budget: int) -> tuple[int, int, float]:
    """Newton at one kappa from a dq inside all cones; return (status, iterations, kappa * decrement^2)."""
    n_v = ws.dq.shape[0]
    decrement2 = np.inf
    for iteration in range(budget):
        assemble_newton(model, ws, kappa)
        if not factorise(ws.H, ws.L):
            return NOT_DEFINITE, iteration, decrement2
        for i in range(n_v):
            ws.direction[i] = -ws.gradient[i]
        solve_in_place(ws.L, ws.direction)
        decrement2 = 0.0
        for i in range(n_v):
            decrement2 -= kappa * ws.gradient[i] * ws.direction[i]
        if decrement2 <= tolerance:
            return CONVERGED, iteration, decrement2
        _relative_displacements(model, ws, ws.direction, ws.delta)
        t = _line_search(model, ws, kappa) if decrement2 > FULL_STEP_DECREMENT2 else 1.0
        for i in range(n_v):
            ws.dq[i] += t * ws.direction[i]
        _update_displacements(model, ws)
    return ITERATION_LIMIT, budget, decrement2


@njit(**COMPILED)
def _slack(model: Model, ws: Newton, c: int) -> float:
    """Return psi - mu |d_t|, the distance of d from the boundary of the cone along the normal, m."""
    n, d = row(ws.con.n, c), row(ws.d, c)
    nu = dot(n, d)
    return ws.phi[c] + nu - model.mu[c] * np.sqrt(max(dot(d, d) - nu * nu, 0.0))


@njit(**COMPILED)
def _withdraw_shift(model: Model, ws: Newton) -> float:
    """Reduce the shift as far as dq stays inside all cones; return the share of it that is left."""
    keep = 0.0
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        if ws.shift[c] > 0.0:
            keep = max(keep, 1.0 - SHIFT_FRACTION * _slack(model, ws, c) / ws.shift[c])
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        ws.phi[c] -= (1.0 - keep) * ws.shift[c]
        ws.shift[c] *= keep
    return keep


@njit(**COMPILED)
def _remove_shift(model: Model, ws: Newton, kappa: float) -> tuple[int, int]:
    """Alternate withdrawing the shift and re-centring until dq is strictly inside the true cones."""
    iterations = 0
    for _ in range(MAX_SHIFT_STAGES):
        keep = _withdraw_shift(model, ws)
        if keep == 0.0:
            return CONVERGED, iterations
        if keep > SLOW_SHIFT:
            kappa = max(kappa / KAPPA_FACTOR, SMALLEST_KAPPA)  # the cost holds dq back: let the barrier weigh more
        status, used, _decrement = _minimise(model, ws, kappa, ROUGH_DECREMENT2, MAX_ITERATIONS)
        iterations += used
        if status == NOT_DEFINITE:  # the cones have shrunk to a point
            return INFEASIBLE, iterations
    return INFEASIBLE, iterations


@njit(**COMPILED)
def measure_gaps(model: Model, ws: Newton, q: FloatArray) -> FloatArray:
    """Return the signed distances (n_c,), m, of all pairs at q (n_q,)."""
    update_kinematics(model.tree, q, ws.kin)
    update_contacts(model.tree, model.pairs, ws.kin, ws.con)
    return ws.con.phi


@njit(**COMPILED)
def prepare_step(model: Model, ws: Newton, q: FloatArray, u: FloatArray, offset: FloatArray) -> None:
    """Refresh kinematics, contacts, Q, b and the list of active contacts for (q, u)."""
    update_kinematics(model.tree, q, ws.kin)
    update_contacts(model.tree, model.pairs, ws.kin, ws.con)
    assemble_quadratic(model, ws.kin, q, u, ws.Q, ws.b)
    count = 0
    for c in range(model.mu.shape[0]):
        ws.phi[c] = ws.con.phi[c] + offset[c]
        ws.shift[c] = 0.0
        ws.w[c] = 0.0
        if ws.phi[c] < model.activation:
            ws.active[count] = c
            count += 1
    ws.n_active[0] = count


@njit(**COMPILED)
def _start_shifted(model: Model, ws: Newton) -> bool:
    """Start from dq = 0, gaps without slack shifted to MIN_START_GAP_M; return whether any shift was needed."""
    shifted = False
    ws.dq[:] = 0.0
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        ws.d[c] = ws.slip[c]
        slack = _slack(model, ws, c)
        if slack < LEAST_SLACK_M:
            lacking = MIN_START_GAP_M - slack
            ws.shift[c] = lacking
            ws.phi[c] += lacking
            shifted = True
    return shifted


@njit(**COMPILED)
def solve_step(
    model: Model, ws: Newton, q: FloatArray, u: FloatArray, offset: FloatArray, kappa: float, tolerance: float,
    warm: bool,
) -> tuple[int, int, float]:
    """Solve one step into ws.dq; return (status, Newton iterations, kappa * decrement^2).

    offset (n_c,) is added to the gaps, ws.slip to the displacements. With `warm`, ws.dq is tried as the start at the
    final kappa.
    """
    prepare_step(model, ws, q, u, offset)
    iterations, stage = 0, min(kappa, FIRST_KAPPA)
    if warm:
        _update_displacements(model, ws)
        if _is_inside(model, ws):
            status, used, decrement2 = _minimise(model, ws, kappa, tolerance, DIRECT_ITERATIONS)
            iterations += used
            if status == CONVERGED:
                return status, iterations, decrement2
    if _start_shifted(model, ws):
        status, used = _remove_shift(model, ws, stage)
        iterations += used
        if status != CONVERGED:
            return status, iterations, np.inf
    else:
        status, used, decrement2 = _minimise(model, ws, kappa, tolerance, DIRECT_ITERATIONS)
        iterations += used
        if status == CONVERGED:
            return status, iterations, decrement2
        _start_shifted(model, ws)
    while stage < kappa:
        status, used, decrement2 = _minimise(model, ws, stage, ROUGH_DECREMENT2, MAX_ITERATIONS)
        iterations += used
        stage = min(kappa, KAPPA_FACTOR * stage)
    status, used, decrement2 = _minimise(model, ws, kappa, tolerance, MAX_ITERATIONS)
    return status, iterations + used, decrement2
