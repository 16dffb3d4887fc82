"""Smoothed quasi-dynamic step: a primal-dual interior-point method that stops on the central path, compiled.

    min over dq   1/2 dq' Q dq + b' dq - (1 / kappa) sum_i log D_i(J_i dq)          (seeds/003, "Smoothing")

is the point of the central path of the step over second-order cones at which s_i o z_i = 2 / kappa (notation of
`contact_mpc.dynamics.smoothed.second_order_cone`):

    Q dq + b = sum J_i' M_i z_i        s_i = M_i (slip_i + J_i dq) + phi_i n_i        z_i = (2 / kappa) s_i^-1

Slacks need not belong to dq before the end, so a start with gaps phi < 0 is one like any other. Every iteration is
one Newton step in (dq, s, z) towards a target that falls to 2 / kappa, cut short of the cones' boundaries. Near the
solution full Newton steps on the barrier itself take over, down to the tolerance on kappa * decrement^2 (the Newton
decrement of the self-concordant problem scaled by kappa): H is then the Hessian that the derivatives need.
"""

import numpy as np
from numba import njit, types

from contact_mpc.dynamics.smoothed.barrier import barrier_terms, cone_value
from contact_mpc.dynamics.smoothed.newton import (
    Newton,
    assemble_newton,
    prepare_step,
    relative_displacement,
    solve_newton,
    update_displacements,
)
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.dynamics.smoothed.second_order_cone import (
    inverse,
    largest_step,
    margin,
    scale_slack,
    scaling,
    weigh,
)
from contact_mpc.geometry.vectors import Vector, axpy, dot, minus, row, scaled
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER, UNCOUNTED, UNCOUNTED_INNER
from contact_mpc.settings.code.separate_code import SeparateCode

CONVERGED, ITERATION_LIMIT, NOT_DEFINITE, INFEASIBLE = 0, 1, 2, 3
MAX_ITERATIONS = 100
FIRST_TARGET_J = 2e-3  # s o z of a start from nothing, unless 2 / kappa is larger
LEAST_START_SLACK_M = 1e-3
BOUNDARY_FRACTION = 0.99  # of the way to a cone's boundary
LONG_STEP, SHORT_STEP = 0.7, 0.2  # step lengths above which the target falls fast, below which it hardly falls
FAST, MEDIUM, SLOW = 0.05, 0.25, 0.5  # next target as a share of the mean of s . z
CENTRED = 0.3  # largest deviation of s . z from 2 / kappa, relative, at which the barrier itself is tried
FULL_STEP_DECREMENT2 = 0.25  # below it full Newton steps on a self-concordant function stay inside and converge
ROUND_OFF_DECREMENT2 = 1e-10  # accepted where it falls no more: slacks of 1e-7 m and less are known to few digits only
LARGEST_DISPLACEMENT = 10.0  # m or rad: cones that cannot be reached within it are taken as empty


@njit(inline="always", **COMPILED)
def _slack_at(model: Model, ws: Newton, c: int) -> Vector:
    """Return M d + phi n, the slack that belongs to d."""
    n = row(ws.con.n, c)
    return axpy(ws.phi[c], n, weigh(model.mu[c], n, row(ws.d, c)))


@njit(inline="always", **COMPILED)
def _write(out: FloatArray, c: int, x: Vector) -> None:
    out[c, 0], out[c, 1], out[c, 2] = x


@njit(**UNCOUNTED)
def _start(model: Model, ws: Newton, target: float, warm: bool) -> None:
    """Write dq, s and z of the start: those of the last solution (dq and w) where `warm`, inside all cones."""
    if not warm:
        ws.dq[:] = 0.0
    update_displacements(model, ws)
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        n, mu, force = row(ws.con.n, c), model.mu[c], scaled(-1.0, row(ws.w, c))
        f_n = dot(n, force)
        z = axpy(f_n, n, scaled(1.0 / mu if mu > 0.0 else 0.0, axpy(-f_n, n, force)))
        if warm and margin(n, z) > 0.0:
            s = inverse(n, z, target)
        else:
            s = _slack_at(model, ws, c)
            s = axpy(max(LEAST_START_SLACK_M - margin(n, s), 0.0), n, s)
            z = inverse(n, s, target)
        _write(ws.s, c, s)
        _write(ws.z, c, z)


@njit(**UNCOUNTED_INNER)
def _linearise_primal_dual(model: Model, ws: Newton, target: float) -> None:
    """Write w and W of the Newton system in dq that is left when ds and dz are eliminated.

    ds = M J direction + r with r = M d + phi n - s, so W = M S M and -w = M (target s^-1 - S r).
    """
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        n, mu, s = row(ws.con.n, c), model.mu[c], row(ws.s, c)
        v, ratio = scaling(n, s, row(ws.z, c))
        r = minus(_slack_at(model, ws, c), s)
        _write(ws.w, c, weigh(mu, n, minus(scale_slack(n, v, ratio, r), inverse(n, s, target))))
        Mv, m2 = weigh(mu, n, v), mu * mu
        for i in range(3):
            for j in range(3):
                ws.W[c, i, j] = ratio * (2.0 * Mv[i] * Mv[j] - (1.0 + m2) * n[i] * n[j])
            ws.W[c, i, i] += ratio * m2
        _write(ws.v, c, v)
        ws.ratio[c] = ratio


@njit(**UNCOUNTED_INNER)
def _primal_dual_directions(model: Model, ws: Newton, target: float) -> float:
    """Write J direction, ds and dz; return the step length towards the boundaries, at most 1."""
    length = 1.0 / BOUNDARY_FRACTION
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        n, mu, s, z = row(ws.con.n, c), model.mu[c], row(ws.s, c), row(ws.z, c)
        delta = relative_displacement(model, ws, c, ws.direction)
        ds = axpy(1.0, weigh(mu, n, delta), minus(_slack_at(model, ws, c), s))
        change = scale_slack(n, row(ws.v, c), ws.ratio[c], ds)
        dz = minus(minus(inverse(n, s, target), z), change)
        length = largest_step(n, z, dz, largest_step(n, s, ds, length))
        _write(ws.delta, c, delta)
        _write(ws.ds, c, ds)
        _write(ws.dz, c, dz)
    return BOUNDARY_FRACTION * length


@njit(**UNCOUNTED)
def _advance(ws: Newton, length: float) -> tuple[float, float, float]:
    """Move (dq, s, z); return mean, least and largest s . z over the active contacts (0 without any)."""
    for i in range(ws.dq.shape[0]):
        ws.dq[i] += length * ws.direction[i]
    total, least, largest = 0.0, np.inf, 0.0
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        product = 0.0
        for i in range(3):
            ws.d[c, i] += length * ws.delta[c, i]
            ws.s[c, i] += length * ws.ds[c, i]
            ws.z[c, i] += length * ws.dz[c, i]
            product += ws.s[c, i] * ws.z[c, i]
        total += product
        least, largest = min(least, product), max(largest, product)
    return total / max(ws.n_active[0], 1), least, largest


@njit(**UNCOUNTED_INNER)
def _linearise_barrier(model: Model, ws: Newton, kappa: float) -> bool:
    """Write w and W of the barrier at d; False where a d lies outside its cone."""
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        if not cone_value(ws.phi[c], model.mu[c], row(ws.con.n, c), row(ws.d, c)) > 0.0:
            return False
        _write(ws.w, c, barrier_terms(ws.phi[c], model.mu[c], row(ws.con.n, c), row(ws.d, c), kappa, c, ws.W))
    return True


@njit(**UNCOUNTED)
def _finish(model: Model, ws: Newton, kappa: float, tolerance: float, budget: int) -> tuple[bool, int, float]:
    """Take full Newton steps on the barrier; return (converged, factorisations, kappa * decrement^2).

    The last direction is applied, too: forces w and W are those of a point whose decrement is about the square of the
    one returned, and the factor of H is that of the point before. Gives up, having moved dq and d only, where these
    are not near enough.
    """
    before, used = FULL_STEP_DECREMENT2, 0
    while used < budget and _linearise_barrier(model, ws, kappa):
        assemble_newton(model, ws)
        is_definite, decrease = solve_newton(ws)
        used += 1
        decrement2 = kappa * decrease
        if not is_definite or not decrement2 < before:
            return is_definite and decrement2 <= max(tolerance, ROUND_OFF_DECREMENT2), used, decrement2
        before = decrement2
        for i in range(ws.dq.shape[0]):
            ws.dq[i] += ws.direction[i]
        update_displacements(model, ws)
        if decrement2 <= tolerance:
            return _linearise_barrier(model, ws, kappa), used, decrement2
    return False, used, np.inf


@njit(**INNER)
def _is_infeasible(model: Model, ws: Newton) -> bool:
    """Whether z proves that no displacement below `LARGEST_DISPLACEMENT` lies inside all cones.

    Inside them 0 <= sum z . (M (slip + J dq) + phi n) = sum z . (M slip + phi n) + (sum J' M z) . dq.
    """
    ws.gradient[:] = 0.0
    lacking = 0.0
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        n, z = row(ws.con.n, c), row(ws.z, c)
        force = weigh(model.mu[c], n, z)
        lacking -= ws.phi[c] * dot(n, z) + dot(force, row(ws.slip, c))
        for k in range(model.pairs.dof_count[c]):
            ws.gradient[model.pairs.dofs[c, k]] += dot(row(ws.con.J[c], k), force)
    return lacking > LARGEST_DISPLACEMENT * np.sqrt(np.sum(ws.gradient * ws.gradient))


@njit(**UNCOUNTED)
def solve_step(
    model: Model,
    ws: Newton,
    q: FloatArray,
    u: FloatArray,
    offset: FloatArray,
    kappa: float,
    tolerance: float,
    warm: bool,
) -> tuple[int, int, float]:
    """Solve one step into ws.dq; return (status, Newton iterations, kappa * decrement^2).

    offset (n_c,) is added to the gaps, ws.slip to the displacements. With `warm` the start is ws.dq with the forces
    -ws.w of an earlier solution; contacts without force start from their gaps.
    """
    prepare_step(model, ws, q, u, offset)
    warm = warm and bool(np.any(ws.w))
    final = 2.0 / kappa
    target = final if warm else max(final, FIRST_TARGET_J)
    _start(model, ws, target, warm)
    iterations, length, mean, decrement2 = 0, 1.0, target, np.inf
    while iterations < MAX_ITERATIONS:
        share = FAST if length > LONG_STEP else (MEDIUM if length > SHORT_STEP else SLOW)
        target = max(final, share * mean)
        _linearise_primal_dual(model, ws, target)
        assemble_newton(model, ws)
        is_definite, _decrease = solve_newton(ws)
        iterations += 1
        if not is_definite:
            return INFEASIBLE if _is_infeasible(model, ws) else NOT_DEFINITE, iterations, decrement2
        length = _primal_dual_directions(model, ws, target)
        mean, least, largest = _advance(ws, length)
        if largest < (1.0 + CENTRED) * final and least > (1.0 - CENTRED) * final:
            is_solved, used, decrement2 = _finish(model, ws, kappa, tolerance, MAX_ITERATIONS - iterations)
            iterations += used
            if is_solved:
                return CONVERGED, iterations, decrement2
            update_displacements(model, ws)
        if length < SHORT_STEP and _is_infeasible(model, ws):
            return INFEASIBLE, iterations, decrement2
    return INFEASIBLE if _is_infeasible(model, ws) else ITERATION_LIMIT, iterations, decrement2


STEP = SeparateCode(solve_step, types.Tuple((types.int64, types.int64, types.float64)))
take_step = STEP.call
