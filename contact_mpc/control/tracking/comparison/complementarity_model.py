"""Linear complementarity system about a state: the contact model with contacts that open and close, linear otherwise.

With x the displacement from the present q, in tangent space, u the commands and lam the forces along the rays of
pyramids inscribed in the friction cones,

    x+ = A x + B u + D lam + d
    0 <= lam  _|_  eta = E x + F lam + H u + c >= 0

from the quasi-dynamic step Q dq + b = C' lam of `contact_mpc.dynamics.exact.step_problem`, x+ = x + dq, with
b = -[tau_u; K (u - q_a - x_a)], and the gaps of Anitescu's law over rays t_j (`contact_mpc.dynamics.exact.qp`)

    eta_ij = phi_i + n_i . J_i x + (n_i + mu_i t_ij) . J_i dq

All of Q, J, n are those of the present state. Of each finger only the closest pair is a contact: at most 4 * ray_count
rays for a hand.

Source: A. Aydinoglu, A. Wei, W.-C. Huang, M. Posa, "Consensus complementarity control for multi-contact MPC", IEEE
Transactions on Robotics 40, 2024, eq. (1)-(2); there for second-order dynamics.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.exact.qp import spread_rays
from contact_mpc.dynamics.exact.step_problem import ProblemBuilder, StepProblem
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.fingers import closest_pair_per_finger, finger_of_pairs
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class ComplementaritySystem:
    """The matrices of the module's equations; n_v, n_a and r rays.

    A (n_v, n_v), B (n_v, n_a), D (n_v, r), d (n_v,);  E (r, n_v), F (r, r), H (r, n_a), c (r,), all m per rad or N
    """

    A: FloatArray
    B: FloatArray
    D: FloatArray
    d: FloatArray
    E: FloatArray
    F: FloatArray
    H: FloatArray
    c: FloatArray


class Lineariser:
    """Builds the linear complementarity system of a model at a state.

    Parameters
    ----------
    system, model
        What moves, with the model's step h and friction.
    ray_count : int
        Rays per contact in space; planar contacts have two.
    reach_m : float
        Pairs with a larger gap are left out, m.
    closed_m : float
        Smaller gaps, and penetrations, are taken as closed, m: noise of the pose must not open a contact.
    """

    def __init__(self, system: System, model: Model, ray_count: int, reach_m: float, closed_m: float) -> None:
        self._system, self._ray_count = system, ray_count
        self._reach_m, self._closed_m = reach_m, closed_m
        self._builder = ProblemBuilder(model, system.q_default)
        self._fingers = finger_of_pairs(system)
        self._no_offset = np.zeros(len(model.mu))

    def linearise(self, q: FloatArray) -> ComplementaritySystem:
        """Return the system about q (n_q,)."""
        u = q[self._system.n_q_u :].copy()
        problem = self._builder.build(q, u, self._no_offset)
        gaps = np.full(len(self._no_offset), np.inf)
        gaps[problem.pair] = problem.phi
        chosen = np.isin(problem.pair, closest_pair_per_finger(self._fingers, gaps, self._reach_m))
        return self._assemble(problem, np.flatnonzero(chosen), u)

    def _assemble(self, problem: StepProblem, contacts: NDArray[np.intp], u: FloatArray) -> ComplementaritySystem:
        n_v, n_a = len(problem.b), self._system.n_a
        normal, ray, phi = self._rays(problem, contacts)
        stiffness = np.zeros((n_v, n_a))
        stiffness[n_v - n_a :] = problem.Q[n_v - n_a :, n_v - n_a :]  # diag(K): robots have no mass in the model
        right = np.column_stack([stiffness, ray.T, -problem.b])
        solved = np.asarray(np.linalg.solve(problem.Q, right), dtype=np.float64)
        B, D, free = solved[:, :n_a], solved[:, n_a:-1], solved[:, -1]
        A = np.eye(n_v)
        A[:, n_v - n_a :] -= B
        d = free - B @ u
        return ComplementaritySystem(A, B, D, d, ray @ (A - np.eye(n_v)) + normal, ray @ D, ray @ B, phi + ray @ d)

    def _rays(self, problem: StepProblem, contacts: NDArray[np.intp]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return n . J, (n + mu t) . J, each (r, n_v), and the gaps (r,) of every ray."""
        normal, rays, gaps = [np.zeros((0, len(problem.b)))], [np.zeros((0, len(problem.b)))], [np.zeros(0)]
        for i in contacts:
            spread = spread_rays(problem, int(i), self._ray_count)
            along = spread if len(spread) else np.zeros((1, 2))
            directions = problem.n[i] + problem.mu[i] * along @ problem.tangents[i]
            rays.append(directions @ problem.J[i])
            normal.append(np.tile(problem.n[i] @ problem.J[i], (len(along), 1)))
            gap = float(problem.phi[i])
            gaps.append(np.full(len(along), 0.0 if gap < self._closed_m else gap))
        return np.vstack(normal), np.vstack(rays), np.concatenate(gaps)
