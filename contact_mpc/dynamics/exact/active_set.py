"""Laws that hold with equality in a step, their KKT system, and its solution to round-off.

With the forces f_i on A that the laws allow, and d_i = J_i dq,

    F1 = Q dq + b - sum J_i' f_i = 0        F2 = the laws' equations = 0

    STICK   d + phi n = 0                             f = m (3 multipliers)
    SLIDE   D / 2 = (psi^2 - mu^2 |d_t|^2) / 2 = 0    f = m e, e = (psi + mu^2 nu) n - mu^2 d = half the gradient of D
    CREEP   d + phi n = l T f, f' T f / 2 = 0         f and l (4 multipliers), T = c ((1 + 1/mu^2) n n' - I/mu^2)
    RAY     phi + c . d = 0, c = n + mu t             f = m c (t a unit tangent of the polyhedral cone, or 0)

with nu = n . d, psi = phi + nu (notation of `dynamics.smoothed.barrier`). STICK and SLIDE are the two ways in which
a second-order cone is active, with neither tangents nor rays in them. CREEP is SLIDE in other unknowns, for contacts
that slide so little that e has no digits left: T e = c (d + phi n), so l f stands for e, down to l = 0, where nothing
moves and the force is on the cone's edge; c is the contact's compliance, which makes l a number. Multipliers need not
be unique (two sticking contacts on one rigid link), so systems are solved by least squares of minimal norm after
scaling.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

STICK, SLIDE, CREEP, RAY = "stick", "slide", "creep", "ray"
WIDTH = {STICK: 3, SLIDE: 1, CREEP: 4, RAY: 1}
RANK_TOLERANCE = 1e-11  # on singular values of the scaled system
POLISH_STEPS = 10
SETTLED = 1e-15  # m or rad: a Newton step that small ends the polishing
ROUND_OFF = 1e-9  # N and m: a start that close may be left


@dataclass(frozen=True)
class Law:
    """One active law: contact (index in the problem), kind, and for a ray its components along t1 and t2."""

    contact: int
    kind: str
    along: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class ActivePoint:
    """A point dq (n_v,) with multipliers m of the laws in their order."""

    laws: tuple[Law, ...]
    dq: FloatArray
    m: FloatArray

    def slices(self) -> list[slice]:
        """Where the multipliers, and equations, of each law stand."""
        ends = np.cumsum([0] + [WIDTH[law.kind] for law in self.laws])
        return [slice(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def law_direction(problem: StepProblem, law: Law, d: FloatArray) -> FloatArray:
    """Return P (3, w) with f = P m, which is also the gradient along d of the law's equations."""
    i, n = law.contact, problem.n[law.contact]
    if law.kind in (STICK, CREEP):
        return np.eye(3, WIDTH[law.kind])
    if law.kind == RAY:
        return (n + problem.mu[i] * np.array(law.along) @ problem.tangents[i])[:, None]
    mu2, nu = problem.mu[i] ** 2, n @ d
    return ((problem.phi[i] + nu + mu2 * nu) * n - mu2 * d)[:, None]


def law_value(problem: StepProblem, law: Law, d: FloatArray, m: FloatArray) -> FloatArray:
    """Return the left-hand side (w,) of the law's equations; those of CREEP depend on its multipliers m (w,), too."""
    i, n = law.contact, problem.n[law.contact]
    if law.kind == STICK:
        return d + problem.phi[i] * n
    if law.kind == CREEP:
        Tf = creep_direction(problem, i) @ m[:3]
        return np.array([*(d + problem.phi[i] * n - m[3] * Tf), -0.5 * m[:3] @ Tf])
    if law.kind == RAY:
        return np.array([problem.phi[i] + law_direction(problem, law, d)[:, 0] @ d])
    nu = n @ d
    return np.array([0.5 * ((problem.phi[i] + nu) ** 2 - problem.mu[i] ** 2 * (d @ d - nu * nu))])


def slide_curvature(problem: StepProblem, i: int) -> FloatArray:
    """Return de/dd (3, 3) = (1 + mu^2) n n' - mu^2 I."""
    mu2, n = problem.mu[i] ** 2, problem.n[i]
    return (1.0 + mu2) * np.outer(n, n) - mu2 * np.eye(3)


def creep_direction(problem: StepProblem, i: int) -> FloatArray:
    """Return T (3, 3), m/N: a contact creeps along T f, and f' T f is 0 on the cone's edge, positive within."""
    n, share = problem.n[i], problem.mu[i] ** -2
    return problem.compliance[i] * ((1.0 + share) * np.outer(n, n) - share * np.eye(3))


def contact_forces(problem: StepProblem, point: ActivePoint) -> FloatArray:
    """Return the forces on A (k, 3), N."""
    force, d = np.zeros_like(problem.n), problem.displacements(point.dq)
    for law, where in zip(point.laws, point.slices(), strict=True):
        force[law.contact] += law_direction(problem, law, d[law.contact]) @ point.m[where]
    return force


def assemble_kkt(problem: StepProblem, point: ActivePoint) -> tuple[FloatArray, FloatArray]:
    """Return F (n_v + w,) and its derivative along (dq, -m), a symmetric matrix."""
    n_v, slices = len(point.dq), point.slices()
    size = n_v + len(point.m)
    F, K = np.zeros(size), np.zeros((size, size))
    d = problem.displacements(point.dq)
    F[:n_v] = problem.force_balance(point.dq, contact_forces(problem, point))
    K[:n_v, :n_v] = problem.Q
    for law, where in zip(point.laws, slices, strict=True):
        i, rows = law.contact, slice(n_v + where.start, n_v + where.stop)
        JP = problem.J[i].T @ law_direction(problem, law, d[i])
        F[rows] = law_value(problem, law, d[i], point.m[where])
        K[:n_v, rows], K[rows, :n_v] = JP, JP.T
        if law.kind == SLIDE:
            K[:n_v, :n_v] -= point.m[where][0] * problem.J[i].T @ slide_curvature(problem, i) @ problem.J[i]
        elif law.kind == CREEP:
            T, m = creep_direction(problem, i), point.m[where]
            K[rows, rows] = np.block([[m[3] * T, (T @ m[:3])[:, None]], [T @ m[:3], np.zeros((1, 1))]])
    return F, K


class KktSolution(NamedTuple):
    """x (n,) or (n, k); the relative residual; the least singular value of the scaled system over its largest."""

    x: FloatArray
    residual: float
    least: float


def scale_kkt(K: FloatArray, n_v: int) -> tuple[FloatArray, FloatArray]:
    """Return K with unknowns and equations scaled by `scale` (n,), and that.

    Displacements are scaled by the stiffness on the diagonal, then equations to unit rows.
    """
    scale = np.ones(len(K))
    scale[:n_v] = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(K)[:n_v]), 1e-300))
    norms = np.linalg.norm(K[n_v:, :n_v] * scale[:n_v], axis=1)
    scale[n_v:] = 1.0 / np.where(norms > 1e-12, norms, 1.0)
    return K * scale[:, None] * scale[None, :], scale


def solve_kkt(K: FloatArray, n_v: int, right: FloatArray, rank_tolerance: float = RANK_TOLERANCE) -> KktSolution:
    """Return the solution of K x = right of least squares and minimal norm, after scaling."""
    scaled, scale = scale_kkt(K, n_v)
    b = right * (scale if right.ndim == 1 else scale[:, None])
    x, _residues, _rank, values = np.linalg.lstsq(scaled, b, rcond=rank_tolerance)
    residual = np.abs(scaled @ x - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-300)
    least = float(values[-1] / values[0])
    return KktSolution(x * (scale if right.ndim == 1 else scale[:, None]), float(residual), least)


def polish(problem: StepProblem, point: ActivePoint, rank_tolerance: float = RANK_TOLERANCE) -> ActivePoint:
    """Return the point after Newton steps on F = 0, or the point itself where they do not lead nearer."""
    n_v, first, size = len(point.dq), point, np.inf
    for _ in range(POLISH_STEPS):
        F, K = assemble_kkt(problem, point)
        size = min(size, float(np.abs(F).max(initial=0.0)))
        if not (np.all(np.isfinite(F)) and np.all(np.isfinite(K))):
            return first
        step = solve_kkt(K, n_v, F, rank_tolerance).x
        point = ActivePoint(point.laws, point.dq - step[:n_v], point.m + step[n_v:])
        if np.abs(step[:n_v]).max() <= SETTLED:
            break
    F, _K = assemble_kkt(problem, point)
    return point if np.abs(F).max(initial=0.0) <= max(size, ROUND_OFF) else first
