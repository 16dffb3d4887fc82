"""Anitescu's step with the second-order friction cone, solved by clarabel (tolerance in `contact_mpc.dynamics.conic`).

    min over dq   1/2 dq' Q dq + b' dq    s.t.   phi_i + n_i . d_i >= mu_i |d_t_i|   (seeds/003, "What about friction?")

Forces on A: f = z_0 n + mu (z_1 t1 + z_2 t2) with the multiplier z, so |f_t| <= mu f_n. Contacts without friction are
a single inequality. The limit of the log barrier as kappa grows. Where it is wrong: a sliding contact lifts by
mu |d_t| per step ("hydroplaning"), which vanishes with h.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.active_set import RAY, SLIDE, STICK, ActivePoint, Law, contact_forces, law_direction
from contact_mpc.dynamics.cone_solution import StepSolution, complete_solution
from contact_mpc.dynamics.conic import LENGTH_M, ConicSolution, solve_conic
from contact_mpc.dynamics.step_problem import StepProblem

FloatArray = NDArray[np.float64]


def solve_socp(problem: StepProblem) -> StepSolution:
    """Solve the step over second-order cones."""
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
    found = solve_conic(problem.Q, problem.b, G, g, widths)
    return _complete(problem, found, widths)


def _complete(problem: StepProblem, found: ConicSolution, widths: list[int]) -> StepSolution:
    force, margin, laws, multipliers = np.zeros_like(problem.n), np.inf, [], []
    ends = np.cumsum([0, *widths])
    for i, width in enumerate(widths):
        s, z = (values[ends[i] : ends[i + 1]] for values in (found.slack, found.multiplier))
        force[i] = z[0] * problem.n[i]
        if width == 3:
            force[i] += problem.mu[i] * z[1:] @ problem.tangents[i]
        kind, clearness = classify_cone(s / LENGTH_M, z)
        margin = min(margin, clearness)
        if kind is not None:
            laws.append(Law(i, kind))
            d = problem.J[i] @ found.x
            P = law_direction(problem, laws[-1], d)
            multipliers.append(P.T @ force[i] / np.sum(P * P, axis=0))
    m = np.concatenate(multipliers) if multipliers else np.zeros(0)
    point = ActivePoint(tuple(laws), found.x, m)
    return complete_solution(problem, found, force, point, margin, lambda polished: _violation(problem, polished))


def _violation(problem: StepProblem, point: ActivePoint) -> float:
    """How far displacements lie outside the dual friction cones, m, or forces outside the friction cones, N."""
    d, force = problem.displacements(point.dq), contact_forces(problem, point)
    nu, f_n = np.sum(problem.n * d, axis=1), np.sum(problem.n * force, axis=1)
    d_t = np.linalg.norm(d - nu[:, None] * problem.n, axis=1)
    f_t = np.linalg.norm(force - f_n[:, None] * problem.n, axis=1)
    distances = problem.phi + nu - problem.mu * d_t, problem.mu * f_n - f_t, f_n
    return -float(min(values.min(initial=0.0) for values in distances))


def classify_cone(s: FloatArray, z: FloatArray) -> tuple[str | None, float]:
    """Return the active law (None: apart) for slack s, mm, and multiplier z, N, and how clear that is.

    In the cone's spectral decomposition s_0 - |s_t| meets z_0 + |z_t|, and s_0 + |s_t| meets z_0 - |z_t|: of each
    couple one vanishes. Clear is the larger one, of the couple where it is less.
    """
    s_t, z_t = np.linalg.norm(s[1:]), np.linalg.norm(z[1:])
    low, high = (s[0] - s_t, z[0] + z_t), (s[0] + s_t, z[0] - z_t)
    if low[0] > low[1]:
        return None, float(low[0])
    if len(s) == 1:
        return RAY, float(z[0])
    kind = STICK if high[1] > high[0] else SLIDE
    return kind, float(min(max(low), max(high)))
