"""Motion of objects that the robots' contacts carry along: what joint sensors say about objects between two pictures.

A contact c that sticks has no relative displacement, J_u,c dx + J_a,c dq_a = 0 (the no-slip part of seeds/003, "What
about friction?"; rolling is in it, since J is taken at the instant's contact point). Of each finger the closest pair
within reach counts, and for a joint motion dq_a the objects' displacement is the robust least-squares solution

    dx = argmin  sum_c w_c |J_u,c dx + J_a,c dq_a|^2 + DAMPING |L dx|^2,     w_c = 1 / (1 + |r_c|^2 / s^2)

with r_c the slip that dx leaves at c, s a share of the largest motion of a contact on its finger, and L turning
rotations into lengths. What no contact determines stays. So a finger that slips or does not touch loses its say as long
as the others agree. Wrong where most contacts slip, or none touches within reach; the pose filter then corrects it.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.cholesky import factorise, solve_in_place
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.geometry.contacts import Contacts, Pairs
from contact_mpc.geometry.fingers import closest_pair_per_finger, finger_of_pairs
from contact_mpc.model.lengths import tangent_lengths
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

IntArray = NDArray[np.int64]
REWEIGHTINGS = 3
SLIP_SHARE = 0.2  # of the largest motion of a contact: a slip of this size halves the weight
DAMPING = 1e-3  # against the weight 1 of a contact
LEAST_FINGERS = 2  # one alone holds nothing


class ContactCarry:
    """Displacement of all objects of one system for a small motion of its joints.

    Parameters
    ----------
    reach_m : float
        Pairs with a larger gap do not count, m.
    """

    def __init__(self, system: System, reach_m: float) -> None:
        self._system, self._reach_m = system, reach_m
        self._model = build_model(system)
        self._fingers = finger_of_pairs(system)
        self._workspace = make_newton(self._model)
        self._damping = DAMPING * tangent_lengths(system)[: system.n_v_u] ** 2

    def warm_up(self) -> None:
        """Compile, or load what is compiled, as if all contact pairs touched."""
        system = self._system
        measure_gaps(self._model, self._workspace, system.q_default)
        self._solve(np.arange(len(self._fingers)), np.zeros(system.n_a))

    def displacement(self, q: FloatArray, dq_a: FloatArray) -> FloatArray | None:
        """Return dx (n_v_u,) of the objects at q (n_q,) while the joints move by dq_a (n_a,).

        None where fewer than `LEAST_FINGERS` touch.
        """
        gaps = measure_gaps(self._model, self._workspace, q)
        chosen = closest_pair_per_finger(self._fingers, gaps, self._reach_m)
        if len(chosen) < LEAST_FINGERS:
            return None
        return self._solve(chosen, dq_a)

    def _solve(self, chosen: IntArray, dq_a: FloatArray) -> FloatArray:
        dx = np.zeros(self._system.n_v_u)
        _carry_into(self._model.pairs, self._workspace.con, chosen, self._damping, dq_a, dx)
        return dx


@njit(**COMPILED)
def _carry_into(
    pairs: Pairs, con: Contacts, chosen: IntArray, damping: FloatArray, dq_a: FloatArray, dx: FloatArray
) -> None:
    """Write dx (n_v_u,) for the contacts `chosen` (n,)."""
    n, n_u = chosen.shape[0], dx.shape[0]
    J_u, pull, weights = np.zeros((n, 3, n_u)), np.zeros((n, 3)), np.ones(n)
    scale = 1e-300
    for i in range(n):
        c = chosen[i]
        for k in range(pairs.dof_count[c]):
            d = pairs.dofs[c, k]
            for r in range(3):
                if d < n_u:
                    J_u[i, r, d] = con.J[c, k, r]
                else:
                    pull[i, r] += con.J[c, k, r] * dq_a[d - n_u]
        scale = max(scale, SLIP_SHARE**2 * np.sum(pull[i] ** 2))
    H, L = np.zeros((n_u, n_u)), np.zeros((n_u, n_u))
    for _ in range(REWEIGHTINGS):
        H[:, :] = np.diag(damping)
        dx[:] = 0.0
        for i in range(n):
            H += weights[i] * (J_u[i].T @ J_u[i])
            dx -= weights[i] * (J_u[i].T @ pull[i])
        factorise(H, L)  # definite: the damping is
        solve_in_place(L, dx)
        for i in range(n):
            weights[i] = 1.0 / (1.0 + np.sum((J_u[i] @ dx + pull[i]) ** 2) / scale)
