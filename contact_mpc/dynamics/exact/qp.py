"""Anitescu's step with a polyhedral friction cone, a quadratic program solved by clarabel.

    min over dq   1/2 dq' Q dq + b' dq    s.t.   phi_i + (n_i + mu_i t_ij) . d_i >= 0   for every ray j   (seeds/001)

The rays t_ij are `ray_count` unit tangents, evenly spread from t1 on; forces on A are f = sum_j beta_j (n + mu t_j),
beta_j >= 0, so the friction cone is the pyramid inscribed in Coulomb's. In planar systems the two rays +t1, -t1 are all
of the cone. Where it is wrong: hydroplaning as in `contact_mpc.dynamics.exact.socp`; in space, friction depends on the
direction of sliding by up to a factor cos(pi / ray_count).
"""

from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.exact.active_set import RAY, ActivePoint, Law
from contact_mpc.dynamics.exact.cone_solution import StepSolution, complete_solution, continue_solution
from contact_mpc.dynamics.exact.conic import solve_conic
from contact_mpc.dynamics.exact.residuals import residuals_of_cones
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.settings.arrays import FloatArray

NO_RAYS, NORMAL_ONLY = np.zeros((0, 2)), np.zeros((1, 2))
PLANAR_RAYS = np.array([[1.0, 0.0], [-1.0, 0.0]])


@lru_cache
def _unit_rays(count: int) -> FloatArray:
    """Return unit vectors (count, 2), evenly spread from the first axis on."""
    angle = 2.0 * np.pi * np.arange(count) / count
    rays = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rays.flags.writeable = False
    return rays


def spread_rays(problem: StepProblem, i: int, ray_count: int) -> FloatArray:
    """Return the components (r, 2) of the rays of contact i along t1 and t2; none without friction."""
    if problem.mu[i] == 0.0:
        return NO_RAYS
    return PLANAR_RAYS if problem.is_planar[i] else _unit_rays(ray_count)


def solve_qp(problem: StepProblem, ray_count: int, start: ActivePoint | None = None) -> StepSolution:
    """Solve the step over `ray_count` rays per contact; first with the laws of a neighbouring step, where given."""
    rays = [spread_rays(problem, i, ray_count) if problem.mu[i] > 0.0 else NORMAL_ONLY for i in range(len(problem.mu))]
    contact, along = np.repeat(np.arange(len(rays)), [len(item) for item in rays]), np.concatenate([NO_RAYS, *rays])
    c = problem.n[contact] + problem.mu[contact, None] * np.einsum("rj,rji->ri", along, problem.tangents[contact])
    G, g = np.einsum("ri,riv->rv", c, problem.J[contact]), problem.phi[contact]
    row = {law: _find_row(law, contact, along) for law in start.laws} if start is not None else {}
    compliance = problem.compliance[contact]

    def activate(dq: FloatArray, beta: FloatArray) -> tuple[ActivePoint, float]:
        slack, pressed = G @ dq + g, beta * compliance
        active = np.flatnonzero(pressed > slack)
        margin = float(np.maximum(pressed, slack).min(initial=np.inf))
        laws = {Law(int(contact[r]), RAY, (float(along[r, 0]), float(along[r, 1]))): int(r) for r in active}
        row.update(laws)
        return ActivePoint(tuple(laws), dq, beta[active]), margin

    def reactivate(polished: ActivePoint) -> tuple[ActivePoint, float]:
        beta = np.zeros(len(contact))
        beta[[row[law] for law in polished.laws]] = polished.m
        return activate(polished.dq, beta)

    measure = partial(residuals_of_cones, problem, rays=rays)
    near = continue_solution(problem, start, measure, reactivate) if start is not None else None
    if near is not None:
        return near
    found = solve_conic(problem.Q, problem.b, G, g, [1] * len(contact))
    force = np.zeros_like(problem.n)
    np.add.at(force, contact, found.multiplier[:, None] * c)
    return complete_solution(problem, found, force, [activate(found.x, found.multiplier)[0]], measure, reactivate)


def _find_row(law: Law, contact: NDArray[np.int64], along: FloatArray) -> int:
    """Return the row of a ray."""
    return int(np.flatnonzero((contact == law.contact) & np.all(along == law.along, axis=1))[0])
