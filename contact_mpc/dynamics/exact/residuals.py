"""How well a displacement and forces solve a step: one judge for socp, qp and lcp, from the problem's data alone.

    balance          |Q dq + b - sum J_i' f_i|                        N, N m     largest entry
    penetration      how far phi_i + c . d_i falls below zero          m          c = n + mu t for every t that counts
    cone             |f_t| - mu f_n, and -f_n                          N
    complementarity  |f_i . d_i + phi_i f_n|  per max(1 N, |f_i|)      m          Anitescu's cones, dual to each other
                     |(phi_i + nu_i) f_n| per max(1 N, |f_i|)          m          Coulomb's law (lcp), nu = n . d, and
                     (mu f_n |d_t| cos(pi / rays) + f_t . d_t), too    m          dissipation that is missing

For socp t runs over the circle, for qp over its rays, for lcp t = 0. A point whose balance, penetration, cone and
complementarity are zero is the solution of the strictly convex programs, however it was found. Forces in N are held
against BALANCE + RELATIVE times the largest force or stiffness term that the balance adds up; what a solver cannot
represent cannot be asked of it.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

BALANCE, RELATIVE = 1e-6, 1e-9  # N and N m; of the largest term of the balance
PENETRATION_M, COMPLEMENTARITY_M = 2e-9, 1e-8


@dataclass(frozen=True)
class Residuals:
    """What is left of each condition; units and formulas at the head of the module. `load` is the largest term, N."""

    balance: float
    penetration: float
    cone: float
    complementarity: float
    load: float

    @property
    def is_solution(self) -> bool:
        """Whether all are within their bounds; False where one is not a number."""
        allowed = BALANCE + RELATIVE * self.load
        return (
            self.balance <= allowed
            and self.cone <= allowed
            and self.penetration <= PENETRATION_M
            and self.complementarity <= COMPLEMENTARITY_M
        )

    @property
    def excess(self) -> float:
        """The largest ratio of a residual to its bound, -."""
        allowed = BALANCE + RELATIVE * self.load
        ratios = (self.balance / allowed, self.cone / allowed, self.penetration / PENETRATION_M)
        return float(max(*ratios, self.complementarity / COMPLEMENTARITY_M))


def residuals_of_cones(
    problem: StepProblem, dq: FloatArray, force: FloatArray, rays: list[FloatArray] | None = None
) -> Residuals:
    """Judge a step of Anitescu's: over rays (r, 2) of tangents per contact, or over the circle where None."""
    d, f_n, f_t = _split(problem, dq, force)
    nu = np.sum(problem.n * d, axis=1)
    psi, d_t = problem.phi + nu, d - nu[:, None] * problem.n
    if rays is None:
        lowest = psi - problem.mu * np.linalg.norm(d_t, axis=1)
    else:
        along = np.einsum("kji,ki->kj", problem.tangents, d_t)
        lowest = psi + problem.mu * np.array([(r @ a).min(initial=0.0) for r, a in zip(rays, along, strict=True)])
    work = np.abs(np.sum(force * d, axis=1) + problem.phi * f_n)
    return _collect(problem, dq, force, lowest, work, f_n, f_t)


def residuals_of_coulomb(problem: StepProblem, dq: FloatArray, force: FloatArray, ray_count: int) -> Residuals:
    """Judge a step of Stewart and Trinkle's with `ray_count` rays."""
    d, f_n, f_t = _split(problem, dq, force)
    nu = np.sum(problem.n * d, axis=1)
    d_t = d - nu[:, None] * problem.n
    least = np.where(problem.is_planar, 1.0, np.cos(np.pi / ray_count))
    missing = problem.mu * f_n * np.linalg.norm(d_t, axis=1) * least + np.sum(f_t * d_t, axis=1)
    work = np.maximum(np.abs((problem.phi + nu) * f_n), missing)
    return _collect(problem, dq, force, problem.phi + nu, work, f_n, f_t)


def _split(problem: StepProblem, dq: FloatArray, force: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    f_n = np.sum(problem.n * force, axis=1)
    return problem.displacements(dq), f_n, force - f_n[:, None] * problem.n


def _collect(
    problem: StepProblem,
    dq: FloatArray,
    force: FloatArray,
    lowest: FloatArray,
    work: FloatArray,
    f_n: FloatArray,
    f_t: FloatArray,
) -> Residuals:
    size = np.maximum(np.linalg.norm(force, axis=1), 1.0)
    outside = np.maximum(np.linalg.norm(f_t, axis=1) - problem.mu * f_n, -f_n)
    terms = np.concatenate([np.abs(problem.Q * dq).ravel(), np.abs(problem.b), np.abs(force).ravel()])
    return Residuals(
        float(np.abs(problem.force_balance(dq, force)).max(initial=0.0)),
        float(max(-lowest.min(initial=0.0), 0.0)),
        float(max(outside.max(initial=0.0), 0.0)),
        float((work / size).max(initial=0.0)),
        float(terms.max(initial=0.0)),
    )
