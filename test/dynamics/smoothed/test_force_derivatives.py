"""Derivatives of contact forces along state and command against differences of the step's own impulses."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.derivatives import solve_derivatives
from contact_mpc.dynamics.smoothed.force_derivatives import force_derivatives
from contact_mpc.dynamics.smoothed.log_barrier import CONVERGED, solve_step
from contact_mpc.dynamics.smoothed.newton import make_newton

SYSTEMS = ("allegro_ball", "planar_hand_ball", "dumbbell")
KAPPA, NEWTON_TOLERANCE = 1e4, 1e-18
RELATIVE_TOLERANCE, DIFFERENCE_STEP = 1e-6, 1e-5  # as for A and B in test_step_derivatives


@pytest.mark.parametrize("name", SYSTEMS)
def test_forces_and_normals_change_as_their_derivatives_say(
    name: str, named_system: Callable, random_states: Callable, check_jacobian: Callable
) -> None:
    system = named_system(name)
    model = build_model(system)
    ws, n_v, n_a = make_newton(model), system.n_v, system.n_a
    X, dn, df = np.zeros((n_v, n_v + n_a)), np.zeros((3, n_v)), np.zeros((3, n_v + n_a))
    offset = np.zeros(len(system.contacts))
    ws.slip[:] = 1e-4 * np.random.default_rng(0).normal(size=ws.slip.shape)  # as contact matching leaves it

    def solve(q: np.ndarray, u: np.ndarray) -> None:
        ws.w[:] = 0.0
        assert solve_step(model, ws, q, u, offset, KAPPA, NEWTON_TOLERANCE, False)[0] == CONVERGED

    for q, u in random_states(ContactDynamics(system), 4, (5e-4, 5e-3), seed=2):
        solve(q, u)
        solve_derivatives(model, ws, KAPPA, X)
        c = int(np.argmax(np.linalg.norm(ws.w, axis=1)))
        force_derivatives(model, ws, c, KAPPA, X, dn, df)

        def moved(x: np.ndarray, q: np.ndarray = q, u: np.ndarray = u, c: int = c) -> np.ndarray:
            solve(system.integrate(q, x[:n_v]), u + x[n_v:])
            return np.concatenate([-ws.w[c], ws.con.n[c]])

        J = np.vstack([df, np.hstack([dn, np.zeros((3, n_a))])])
        check_jacobian(J[:3], lambda x, moved=moved: moved(x)[:3], RELATIVE_TOLERANCE, DIFFERENCE_STEP)
        check_jacobian(J[3:], lambda x, moved=moved: moved(x)[3:], RELATIVE_TOLERANCE, DIFFERENCE_STEP, floor=1.0)
