"""Anitescu's step with the second-order friction cone, solved by clarabel (tolerance in `dynamics.exact.conic`).

    min over dq   1/2 dq' Q dq + b' dq    s.t.   phi_i + n_i . d_i >= mu_i |d_t_i|   (seeds/003, "What about friction?")

Forces on A: f = z_0 n + mu (z_1 t1 + z_2 t2) with the multiplier z, so |f_t| <= mu f_n. Contacts without friction are
a single inequality. The limit of the log barrier as kappa grows. Where it is wrong: a sliding contact lifts by
mu |d_t| per step ("hydroplaning"), which vanishes with h.
"""

from functools import partial

import numpy as np

from contact_mpc.dynamics.exact.active_set import RAY, SLIDE, STICK, ActivePoint, Law, contact_forces, law_direction
from contact_mpc.dynamics.exact.cone_solution import StepSolution, complete_solution, continue_solution
from contact_mpc.dynamics.exact.conic import ConicSolution, solve_conic
from contact_mpc.dynamics.exact.residuals import residuals_of_cones
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

LEAST_SLIDE_M = 1e-13
UNDECIDED = 1e-2  # of a force: so near to its cone's boundary it may belong to a contact that creeps


def solve_socp(problem: StepProblem, start: ActivePoint | None = None) -> StepSolution:
    """Solve the step over second-order cones; first with the laws of a neighbouring step, where given."""
    if start is not None:
        near = continue_solution(problem, start, partial(residuals_of_cones, problem), partial(_reactivate, problem))
        if near is not None:
            return near
    G, g, widths = build_cones(problem)
    return _complete(problem, solve_conic(problem.Q, problem.b, G, g, widths), widths)


def build_cones(problem: StepProblem) -> tuple[FloatArray, FloatArray, list[int]]:
    """Return G, g and the rows of every cone, for `solve_conic`."""
    blocks, gaps, widths = [], [], []
    for i, mu in enumerate(problem.mu):
        normal = problem.n[i] @ problem.J[i]
        slides = mu * problem.tangents[i] @ problem.J[i]
        blocks.append(normal[None] if mu == 0.0 else np.vstack([normal, slides]))
        widths.append(len(blocks[-1]))
        gaps.append(np.eye(widths[-1])[0] * problem.phi[i])
    n_v = len(problem.b)
    G = np.vstack(blocks) if blocks else np.zeros((0, n_v))
    g = np.concatenate(gaps) if gaps else np.zeros(0)
    return G, g, widths


def _complete(problem: StepProblem, found: ConicSolution, widths: list[int]) -> StepSolution:
    force = np.zeros_like(problem.n)
    ends = np.cumsum([0, *widths])
    for i, width in enumerate(widths):
        z = found.multiplier[ends[i] : ends[i + 1]]
        force[i] = z[0] * problem.n[i]
        if width == 3:
            count = 1 if problem.is_planar[i] else 2  # nothing moves along t2 in the plane, and no force is needed
            force[i] += problem.mu[i] * z[1 : 1 + count] @ problem.tangents[i, :count]
    starts = [_activate(problem, found.x, force, sliding)[0] for sliding in (0.0, UNDECIDED)]
    measure, activate = partial(residuals_of_cones, problem), partial(_reactivate, problem)
    return complete_solution(problem, found, force, starts, measure, activate)


def _reactivate(problem: StepProblem, polished: ActivePoint) -> tuple[ActivePoint, float]:
    return _activate(problem, polished.dq, contact_forces(problem, polished))


def _cone_coordinates(problem: StepProblem, dq: FloatArray, force: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slacks s (k, 4) = [phi + nu, mu d_t] and multipliers z (k, 4) = [f_n, f_t / mu] times compliance, m."""
    d = problem.displacements(dq)
    nu, f_n = (np.sum(problem.n * x, axis=1, keepdims=True) for x in (d, force))
    mu = problem.mu[:, None]
    z_t = np.divide(force - f_n * problem.n, mu, out=np.zeros_like(d), where=mu > 0.0)
    s = np.hstack([problem.phi[:, None] + nu, mu * (d - nu * problem.n)])
    return s, np.hstack([f_n, z_t]) * problem.compliance[:, None]


def _activate(
    problem: StepProblem, dq: FloatArray, force: FloatArray, sliding: float = 0.0
) -> tuple[ActivePoint, float]:
    """Return the laws that slacks and forces speak for, with their multipliers, and the margin, m.

    Contacts whose force is as near to the cone's boundary as the share `sliding` of it slide, be it by little.
    """
    margin, laws, multipliers = np.inf, [], []
    d = problem.displacements(dq)
    for i, (s, z) in enumerate(zip(*_cone_coordinates(problem, dq, force), strict=True)):
        kind, clearness = classify_cone(s, z, problem.mu[i])
        margin = min(margin, clearness)
        if kind is not None:
            if kind == SLIDE and s[0] < LEAST_SLIDE_M:  # at the tip of the cone its gradient has no direction
                kind = STICK
            elif kind == STICK and z[0] - np.linalg.norm(z[1:]) < sliding * z[0] and s[0] >= LEAST_SLIDE_M:
                kind = SLIDE
            laws.append(Law(i, kind))
            P = law_direction(problem, laws[-1], d[i])
            multipliers.append(P.T @ force[i] / np.sum(P * P, axis=0))
    m = np.concatenate(multipliers) if multipliers else np.zeros(0)
    return ActivePoint(tuple(laws), dq, m), margin


def classify_cone(s: FloatArray, z: FloatArray, mu: float) -> tuple[str | None, float]:
    """Return the active law (None: apart) for slack s and multiplier z, both in m, and how clear that is, m.

    In the cone's spectral decomposition s_0 - |s_t| meets z_0 + |z_t|, and s_0 + |s_t| meets z_0 - |z_t|: of each
    couple one vanishes. Clear is the larger one, of the couple where it is less.
    """
    s_t, z_t = np.linalg.norm(s[1:]), np.linalg.norm(z[1:])
    low, high = (s[0] - s_t, z[0] + z_t), (s[0] + s_t, z[0] - z_t)
    if low[0] > low[1]:
        return None, float(low[0])
    if mu == 0.0:
        return RAY, float(z[0])
    kind = STICK if high[1] > high[0] else SLIDE
    return kind, float(min(max(low), max(high)))
