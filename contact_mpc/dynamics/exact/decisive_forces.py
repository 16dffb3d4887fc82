"""The laws and forces that derivatives of a step over second-order cones depend on, where several solve the step.

At the corners of a box on a plane p = (phi + nu, d_t) is affine, so p_1 + p_4 = p_2 + p_3. Where 1 sticks and the
others slide, p_4 = p_2 + p_3 with all three on the cone's boundary: they are parallel, the gradients of their laws
repeat each other, and force may be shifted among the corners. The motion is unique, but the curvature against the
motion v in which p_2 and p_3 turn apart,

    v' H(m) v,   H(m) = Q - sum over SLIDE of m_i J_i' (de/dd) J_i

depends on the share m that each takes, and with it A and B. By the second-order conditions of a convex program with
more than one multiplier (min over v of the max over m), neighbouring steps take the forces of the largest curvature:
an end of the set, where a corner that seems to stick has its force on the cone's edge and creeps with the square of v,
or one that seems to slide has no force. What creeps moves by less than steps resolve, so laws of a step may say STICK,
or SLIDE in a direction of round-off; here it is CREEP.
"""

from dataclasses import replace

import numpy as np

from contact_mpc.dynamics.exact.active_set import (
    CREEP,
    SLIDE,
    STICK,
    ActivePoint,
    Law,
    assemble_kkt,
    contact_forces,
    creep_direction,
    law_direction,
    polish,
    scale_kkt,
    slide_curvature,
)
from contact_mpc.dynamics.exact.residuals import residuals_of_cones
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

CREEPING_M = 1e-7  # of slack: less of a slide has too few digits for its direction
STUCK_M = 1e-12  # the equations of contacts that stick hold to round-off, unless they do not stick
NEARLY_SINGULAR = 1e-7  # of singular values of the scaled equations: below it forces may be shifted
LEAST_GROWTH = 1e-8  # of the curvature, when forces as large as the largest are shifted: else derivatives do not differ


def decide_forces(problem: StepProblem, point: ActivePoint) -> ActivePoint | None:
    """Return the point, of those with the same motion, whose laws neighbouring steps obey; None where none is found."""
    point = _let_creep(problem, point)
    for _ in range(2 * len(point.laws) + 1):
        if any(law.kind == CREEP and point.m[w][3] < 0.0 for law, w in zip(point.laws, point.slices(), strict=True)):
            point = _let_stick(problem, point)
        if not residuals_of_cones(problem, point.dq, contact_forces(problem, point)).is_solution:
            return None
        shift = _shift_of_growing_curvature(problem, point)
        if shift is None:
            return point
        moved = _go_to_end(problem, point, shift)
        if moved is None:
            return None
        point = polish(problem, moved)
    return None


def _let_creep(problem: StepProblem, point: ActivePoint) -> ActivePoint:
    """Return the point with contacts that creep if they slide by less than CREEPING_M, or move where they stick."""
    force, d = contact_forces(problem, point), problem.displacements(point.dq)
    laws, parts = [], []
    for law, where in zip(point.laws, point.slices(), strict=True):
        i, f_n = law.contact, problem.n[law.contact] @ force[law.contact]
        slack = problem.phi[i] + problem.n[i] @ d[i]
        creeps = f_n > 0.0 and (slack < CREEPING_M if law.kind == SLIDE else law.kind == STICK and slack > STUCK_M)
        laws.append(replace(law, kind=CREEP) if creeps else law)
        parts.append(np.append(force[i], slack / (problem.compliance[i] * f_n)) if creeps else point.m[where])
    moved = ActivePoint(tuple(laws), point.dq, np.concatenate(parts))
    return point if moved.laws == point.laws else polish(problem, moved)


def _let_stick(problem: StepProblem, point: ActivePoint) -> ActivePoint:
    """Return the point with contacts that creep along their force, not against it, stuck."""
    laws, parts = [], []
    for law, where in zip(point.laws, point.slices(), strict=True):
        m = point.m[where]
        sticks = law.kind == CREEP and m[3] < 0.0
        laws.append(replace(law, kind=STICK) if sticks else law)
        parts.append(m[:3] if sticks else m)
    return polish(problem, ActivePoint(tuple(laws), point.dq, np.concatenate(parts)))


def _shift_of_growing_curvature(problem: StepProblem, point: ActivePoint) -> FloatArray | None:
    """Return the change of the multipliers (w,) that no balance feels and by which curvature grows most, or None."""
    n_v, d = len(point.dq), problem.displacements(point.dq)
    _F, K = assemble_kkt(problem, point)
    scaled, scale = scale_kkt(K, n_v)
    _U, values, rows = np.linalg.svd(scaled)
    unfelt = rows[values < NEARLY_SINGULAR * values[0], n_v:]
    _U, values, rows = np.linalg.svd(scaled[n_v:, :n_v])
    rank = int(np.sum(values > np.sqrt(NEARLY_SINGULAR) * values[0]))
    V = scale[:n_v, None] * rows[rank:].T
    growth = np.zeros((len(point.m), V.shape[1], V.shape[1]))
    for law, where in zip(point.laws, point.slices(), strict=True):
        if law.kind == SLIDE:
            JV = problem.J[law.contact] @ V
            growth[where] = -JV.T @ slide_curvature(problem, law.contact) @ JV
    along = np.trace(growth, axis1=1, axis2=2) * scale[n_v:]
    shift = scale[n_v:] * (unfelt.T @ (unfelt @ along))
    force = contact_forces(problem, point)
    change = np.zeros_like(force)
    for law, where in zip(point.laws, point.slices(), strict=True):
        change[law.contact] += law_direction(problem, law, d[law.contact]) @ shift[where]
    shift *= np.abs(force).max() / max(np.abs(change).max(), 1e-300)
    grown = np.abs(np.tensordot(shift, growth, axes=1)).max(initial=0.0)
    return shift if grown > LEAST_GROWTH * np.abs(V.T @ K[:n_v, :n_v] @ V).max(initial=0.0) else None


def _go_to_end(problem: StepProblem, point: ActivePoint, shift: FloatArray) -> ActivePoint | None:
    """Return the point with multipliers moved along `shift` until a force vanishes or meets its cone's edge."""
    slices = point.slices()
    ends = [_end(problem, law, point.m[w], shift[w]) for law, w in zip(point.laws, slices, strict=True)]
    first = int(np.argmin(ends))
    if not np.isfinite(ends[first]):
        return None
    laws, parts = list(point.laws), [point.m[w] + ends[first] * shift[w] for w in slices]
    if laws[first].kind == SLIDE:
        del laws[first], parts[first]
    else:
        laws[first], parts[first] = replace(laws[first], kind=CREEP), np.append(parts[first], 0.0)
    return ActivePoint(tuple(laws), point.dq, np.concatenate(parts))


def _end(problem: StepProblem, law: Law, m: FloatArray, change: FloatArray) -> float:
    """Return the largest s for which the force of m + s change is in its cone."""
    if law.kind == SLIDE:
        return float(max(-m[0] / change[0], 0.0)) if change[0] < 0.0 else np.inf
    if law.kind != STICK:
        return np.inf
    T = creep_direction(problem, law.contact)
    roots = np.roots(np.array([change @ T @ change, 2.0 * m @ T @ change, max(float(m @ T @ m), 0.0)]))
    ahead = roots[np.isreal(roots)].real
    return float(ahead[ahead >= 0.0].min(initial=np.inf))
