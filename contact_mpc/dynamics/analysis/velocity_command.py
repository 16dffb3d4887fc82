"""Robots that move as they are told, whatever is in the way: "what it was" before commands had springs (seeds/003).

The displacements of the robots d_a are given; objects lie on a support whose limit surface is an ellipsoid, and move by
the wrench w of the robots' contacts as its normal says, at a rate that the wrench's size says nothing about:

    d_u = W^-1 w,   W = diag(1, 1, c^2) in a plane, c = largest moment over largest force of the support
    0 <= lam_i    _|_   phi_i + n_i . d_i >= 0,   friction by maximal dissipation   d_i = J_u d_u + J_a d_a
                                                                               (rows of `dynamics.exact.lcp`)

One pusher on one object is solved by this (Mason 1986, Hogan and Rodriguez 2020, in seeds/003): the object moves by the
direction of pushing alone, but its force is known up to a factor only: W and 10 W give the same motion and ten times
the force. Squeezed from two sides there is no solution ("ray_termination"), and where fingers move along with an object
between them, every grip is one: forces along `squeezes` leave all laws as they are. A spring between command and joint
settles both (`ContactDynamics`).
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.dynamics.exact.lcp import STATUS, Rows, build_rows
from contact_mpc.dynamics.exact.lemke import SOLVED, solve_lcp
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.errors import InputError
from contact_mpc.settings.arrays import FloatArray

ACTIVE_M = 1e-9  # gaps at the end of a step that count as closed
RANK = 1e-9  # of singular values of contact Jacobians
SQUARE_SUPPORT = 0.3826  # mean distance from the centre of a square of side 1: c of even pressure


@dataclass(frozen=True)
class PushedStep:
    """What commanded displacements do.

    Attributes
    ----------
    d_u : (n_v_u,) array
        Displacement of the objects, m and rad; NaN where there is none.
    force : (k, 3) array
        Contact forces on A of `StepProblem`, up to a common factor.
    status : str
        "converged", or "ray_termination": what robots are told is in each other's way.
    """

    d_u: FloatArray
    force: FloatArray
    status: str


def push_by_velocity(problem: StepProblem, d_a: FloatArray, W: FloatArray, ray_count: int = 8) -> PushedStep:
    """Return the objects' motion under displacements d_a (n_a,) of the robots.

    Parameters
    ----------
    problem : StepProblem
        Its contacts count, not its Q and b.
    d_a : (n_a,) array
        m or rad.
    W : (n_v_u, n_v_u) array
        Positive definite metric of the support.
    """
    n_u = len(problem.b) - len(d_a)
    if W.shape != (n_u, n_u) or np.linalg.eigvalsh(W).min() <= 0.0:
        raise InputError(f"W has shape {W.shape}; expected a positive definite ({n_u}, {n_u}) matrix")
    rows = build_rows(problem, ray_count)
    found = solve_lcp(*_reduce(rows, W, d_a))
    if found.outcome != SOLVED:
        return PushedStep(np.full(n_u, np.nan), np.full_like(problem.n, np.nan), STATUS[found.outcome])
    force = np.zeros_like(problem.n)
    np.add.at(force, rows.contact, found.z[:, None] * rows.direction)
    d_u = np.asarray(np.linalg.solve(W, rows.C[:, :n_u].T @ found.z), dtype=np.float64)
    return PushedStep(d_u, force, "converged")


def _reduce(rows: Rows, W: FloatArray, d_a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return M, q of w = M z + q with the objects' displacement eliminated."""
    n_u = len(W)
    C_u, C_a = rows.C[:, :n_u], rows.C[:, n_u:]
    return C_u @ np.linalg.solve(W, C_u.T) + rows.E, C_a @ d_a + rows.c


def squeezes(problem: StepProblem, step: PushedStep, d_a: FloatArray) -> int:
    """Return how many independent forces of closed contacts leave the objects' motion as it is: the unknown grips."""
    d = problem.displacements(np.concatenate([step.d_u, d_a]))
    closed = problem.phi + np.sum(problem.n * d, axis=1) < ACTIVE_M
    across = np.where(problem.is_planar, 1, 2)
    columns = [
        direction @ problem.J[i][:, : len(step.d_u)]
        for i in np.flatnonzero(closed)
        for direction in (problem.n[i], *problem.tangents[i][: across[i]])
    ]
    if not columns:
        return 0
    G = np.array(columns).T
    return len(columns) - int(np.linalg.matrix_rank(G, tol=RANK))


def motion_cone(mu: float, c: float, x: float, y: float) -> tuple[float, float]:
    """Return the least and largest v_t / v_n of a pusher at (x, y) of the object that sticks, its normal along +x.

    gamma = (+-mu c^2 - x y +- mu x^2) / (c^2 + y^2 -+ mu x y)      (F. Hogan, A. Rodriguez, "Feedback control of the
    pusher-slider system", 2020, in seeds/003)
    """
    top = (mu * c**2 - x * y + mu * x**2) / (c**2 + y**2 - mu * x * y)
    bottom = (-mu * c**2 - x * y - mu * x**2) / (c**2 + y**2 + mu * x * y)
    return bottom, top
