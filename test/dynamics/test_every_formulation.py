"""What holds for a step in every formulation: Newton and Euler for a body that is no sphere, and no frame counts."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.random_states import draw_states
from contact_mpc.dynamics.contact_dynamics import DEFAULT_RAY_COUNT, FORMULATIONS
from contact_mpc.dynamics.exact.lcp import solve_step_lcp
from contact_mpc.dynamics.exact.qp import solve_qp
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.dynamics.smoothed.newton import make_newton, prepare_step
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System

APART_M, NEAR_M = (2e-4, 4e-3), (2e-5, 5e-4)
NEWTON_TOLERANCE = 1e-24  # the smoothed step, too, is solved to round-off
BALANCE_TOLERANCE = 1e-6  # N and N m; measured: 1e-9 and less, of forces of about 1 N
BASIS_TOLERANCE = 1e-9  # m or rad
PRESSED_N = 1e-6  # less is the round-off of pivoting


def states_of(system: System, count: int, gap_m: tuple[float, float]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return states (q, u) without penetrations, which an lcp may not have a solution for."""
    rng = np.random.default_rng(8)
    return draw_states(ContactDynamics(system), system.q_default, 0.05, count, gap_m, rng, deepest_m=0.0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", ["allegro_cube", "dumbbell"])
def test_forces_and_weight_move_and_turn_a_body(name: str, formulation: str, named_system: Callable) -> None:
    """Sum of forces = m a, and of moments about the centre of mass = I dw / h^2, from rest."""
    system = named_system(name)
    dynamics = ContactDynamics(
        system, formulation=formulation, regularization="quasidynamic", tolerance=NEWTON_TOLERANCE
    )
    h, ws, turned = dynamics.h_s, make_newton(dynamics.model), 0.0
    for q, u in states_of(system, 4, APART_M):
        result = dynamics.step(q, u)
        prepare_step(dynamics.model, ws, q, u, np.zeros(len(dynamics.model.mu)))
        R, p = (poses[0] for poses in forward_kinematics(system.tree, q))
        arm, dq = R @ system.tree.p_BC[0], system.difference(q, result.q_next)
        force, mass = result.impulses / h, system.tree.mass[0]
        inertia = R @ system.tree.inertia_BC[0] @ R.T
        moved = mass * ((dq[3:6] + np.cross(dq[:3], arm)) / h**2 - np.array(system.config.gravity_m_s2))
        moment = np.cross(ws.con.p - p - arm, force).sum(axis=0)
        np.testing.assert_allclose(force.sum(axis=0), moved, atol=BALANCE_TOLERANCE)
        np.testing.assert_allclose(moment, inertia @ dq[:3] / h**2, atol=BALANCE_TOLERANCE)
        turned = max(turned, float(np.linalg.norm(moment)))
    assert turned > 1e3 * BALANCE_TOLERANCE  # contacts do turn it


def turn_tangents(problem: StepProblem, angle: float) -> StepProblem:
    """Return the same problem with the tangents of every contact turned about its normal."""
    fields = {key: value for key, value in vars(problem).items() if key != "tangents"}
    t1, t2 = problem.tangents[:, 0], problem.tangents[:, 1]
    return StepProblem(**{**fields, "reference": np.cos(angle) * t2 + np.sin(angle) * t1})


@pytest.mark.parametrize("solve", [solve_qp, solve_step_lcp])
@pytest.mark.parametrize("name", ["planar_hand_ball", "allegro_cube", "door"])
def test_polyhedral_cones_depend_on_their_rays_only_not_on_the_tangent_counted_first(
    name: str, solve: Callable, named_system: Callable
) -> None:
    """Tangents turned by one ray's angle give the same rays in another order; in the plane, by half a turn.

    In one of the planar states clarabel stalls, and the laws of its last iterate lead to the solution.
    """
    system = named_system(name)
    formulation = "qp" if solve is solve_qp else "lcp"
    dynamics = ContactDynamics(system, formulation=formulation, regularization="quasidynamic")
    pressed = 0
    for q, u in states_of(system, 6, NEAR_M):
        problem = dynamics.assemble(q, u)
        angle = np.pi if np.any(problem.is_planar) else 2.0 * np.pi / DEFAULT_RAY_COUNT
        first, second = (solve(item, DEFAULT_RAY_COUNT) for item in (problem, turn_tangents(problem, angle)))
        assert first.status == second.status == "converged"
        np.testing.assert_allclose(first.dq, second.dq, rtol=0.0, atol=BASIS_TOLERANCE)
        pressed += int(np.abs(first.force).max() > PRESSED_N)
    assert pressed >= 2


@pytest.mark.parametrize("formulation", ["qp", "socp"])
@pytest.mark.parametrize("size", [1e-7, 1e-2])
def test_steps_near_a_state_are_the_steps(formulation: str, size: float, named_system: Callable) -> None:
    """Whether the laws of the state still hold (small moves) or not (large ones)."""
    system = named_system("allegro_cube")
    dynamics = ContactDynamics(system, formulation)
    rng = np.random.default_rng(0)
    for q, u in states_of(system, 3, NEAR_M):
        moves = size * rng.normal(size=(6, system.n_v + system.n_a))
        q_next, is_converged = dynamics.steps_near(q, u, moves)
        for move, found, converged in zip(moves, q_next, is_converged, strict=True):
            step = dynamics.step(system.integrate(q, move[: system.n_v]), u + move[system.n_v :])
            assert step.is_converged == converged
            if converged:
                np.testing.assert_allclose(found, step.q_next, rtol=0.0, atol=BASIS_TOLERANCE)


@pytest.mark.parametrize("formulation", ["log_barrier", "qp", "socp", "lcp"])
def test_a_step_that_follows_another_is_the_step(formulation: str, named_system: Callable) -> None:
    """Whether the laws of the one before still hold (small changes of the command) or not (large ones)."""
    system = named_system("planar_hand_ball")
    following, alone = ContactDynamics(system, formulation), ContactDynamics(system, formulation)
    rng = np.random.default_rng(0)
    for size, (q, u) in product((1e-4, 0.1), states_of(system, 3, NEAR_M)):
        for change in size * rng.normal(size=(8, system.n_a)):
            found, step = following.step_next(q, u + change), alone.step(q, u + change)
            assert found.is_converged == step.is_converged
            if not step.is_converged:
                break
            np.testing.assert_allclose(found.q_next, step.q_next, rtol=0.0, atol=BASIS_TOLERANCE)
            q, u = step.q_next, u + change


def test_a_step_that_follows_another_asks_no_solver_while_the_laws_hold(named_system: Callable) -> None:
    system = named_system("planar_hand_ball")
    dynamics = ContactDynamics(system, "socp")
    q, u = states_of(system, 1, NEAR_M)[0]
    assert dynamics.step_next(q, u).iterations > 0
    assert dynamics.step_next(q, u).iterations == 0
