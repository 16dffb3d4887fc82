"""A and B of the exact steps against differences, away from changes of mode, and what is said at one."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.exact.cone_solution import MODE_TOLERANCE_M
from contact_mpc.model.system import System
from contact_mpc.task.task import load_task

SYSTEMS = ("allegro_ball", "planar_hand_ball", "dumbbell", "nunchaku", "door")
RELATIVE_TOLERANCE = 1e-6  # measured: 2e-10; steps are solved to round-off
DIFFERENCE_STEP = 2e-6
CLEAR_M = 2e-5  # a law must be that clearly active or inactive for differences not to cross a change of mode


@pytest.mark.parametrize("gap_m", [(-3e-3, -5e-4), (5e-4, 5e-3)], ids=["penetrating", "apart"])
@pytest.mark.parametrize("formulation", ["socp", "qp"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_exact_linearisation_agrees_with_differences_of_the_step(
    name: str,
    formulation: str,
    gap_m: tuple[float, float],
    named_system: Callable,
    random_states: Callable,
    check_jacobian: Callable,
) -> None:
    dynamics = ContactDynamics(named_system(name), formulation=formulation)
    system, errors = dynamics.system, []
    for q, u in random_states(dynamics, 2 if name == "allegro_ball" else 5, gap_m, seed=7):
        if dynamics.margin(q, u) < CLEAR_M:
            continue
        result = dynamics.linearize(q, u)
        assert result.is_differentiable

        def next_state(x: np.ndarray, q: np.ndarray = q, u: np.ndarray = u, q_next=result.step.q_next) -> np.ndarray:
            moved = dynamics.step(system.integrate(q, x[: system.n_v]), u + x[system.n_v :])
            return system.difference(q_next, moved.q_next)

        errors.append(check_jacobian(np.hstack([result.A, result.B]), next_state, RELATIVE_TOLERANCE, DIFFERENCE_STEP))
    assert errors
    print(f"{name} {formulation} {gap_m}: largest relative error {max(errors):.1e} of {len(errors)} states")


@pytest.mark.parametrize("name", ["planar_hand_ball", "allegro_ball"])
def test_smoothed_derivatives_tend_to_the_exact_ones(name: str) -> None:
    """The error falls as 1 / kappa, in the grasps that the tasks start from."""
    task = load_task(name)
    exact = ContactDynamics(task.system, formulation="socp").linearize(task.start_q, task.start_u)
    errors = []
    for kappa in (1e6, 1e7):
        smooth = ContactDynamics(task.system, kappa=kappa).linearize(task.start_q, task.start_u)
        errors.append(max(np.abs(smooth.A - exact.A).max(), np.abs(smooth.B - exact.B).max()))
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("formulation", ["socp", "qp"])
def test_step_that_just_touches_is_not_differentiable(formulation: str, named_system: Callable) -> None:
    """The command ends where the block begins: no gap is left, and no force."""
    system = named_system("pusher_1d")
    dynamics = ContactDynamics(system, formulation=formulation)
    q = touching(system, dynamics)
    result = dynamics.linearize(q, q[system.n_q_u :])
    assert result.step.is_converged
    assert dynamics.margin(q, q[system.n_q_u :]) < MODE_TOLERANCE_M
    assert not result.is_differentiable and np.all(np.isnan(result.A)) and np.all(np.isnan(result.B))


@pytest.mark.parametrize("formulation", ["socp", "qp"])
def test_pusher_and_block_share_a_push_by_stiffness_and_inertia(formulation: str, named_system: Callable) -> None:
    """In touch both move by K du / (K + m / h^2); apart the block stays."""
    system = named_system("pusher_1d")
    dynamics = ContactDynamics(system, formulation=formulation)
    q = touching(system, dynamics)
    inertia = system.tree.mass[0] / dynamics.h_s**2
    share = system.kp[0] / (system.kp[0] + inertia)
    pushed = dynamics.linearize(q, q[1:] + 0.01)
    np.testing.assert_allclose(pushed.B, [[share], [share]], rtol=1e-9)
    apart = dynamics.linearize(q, q[1:] - 0.01)
    np.testing.assert_allclose(apart.B, [[0.0], [1.0]], atol=1e-12)


def touching(system: System, dynamics: ContactDynamics) -> np.ndarray:
    """Return q with the pusher's surface at the block's, on the side of -x."""
    q = np.array([0.0, -1.0])
    q[1] += dynamics.step(q, q[1:]).gaps[0]
    return q
