"""A and B of the smoothed step against differences of the step itself, on systems that hide no term."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics

SYSTEMS = ("allegro_ball", "planar_hand_ball", "dumbbell", "nunchaku", "door")
# Five-point differences with a step of 1e-5 (relative truncation about (step / gap scale)^4) of a step that is solved
# to round-off, about 1e-13 rad: their own error is about 1e-7 of the largest entry; the rest is margin.
RELATIVE_TOLERANCE = 1e-6
DIFFERENCE_STEP = 1e-5
NEWTON_TOLERANCE = 1e-18


@pytest.mark.parametrize("gap_m", [(-3e-3, -5e-4), (5e-4, 5e-3)], ids=["penetrating", "apart"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_linearisation_agrees_with_differences_of_the_step(
    name: str, gap_m: tuple[float, float], named_system: Callable, random_states: Callable, check_jacobian: Callable
) -> None:
    dynamics = ContactDynamics(named_system(name), tolerance=NEWTON_TOLERANCE)
    system = dynamics.system
    errors = []
    for q, u in random_states(dynamics, 15, gap_m, seed=1):
        result = dynamics.linearize(q, u)

        def next_state(x: np.ndarray, q: np.ndarray = q, u: np.ndarray = u, q_next=result.step.q_next) -> np.ndarray:
            moved = dynamics.step(system.integrate(q, x[: system.n_v]), u + x[system.n_v :])
            assert moved.is_converged
            return system.difference(q_next, moved.q_next)

        J = np.hstack([result.A, result.B])
        errors.append(check_jacobian(J, next_state, RELATIVE_TOLERANCE, DIFFERENCE_STEP))
    print(f"{name} {gap_m}: largest relative error {max(errors):.1e}")
