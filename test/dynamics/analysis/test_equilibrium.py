"""Arms at rest in contact: closed forms in one dimension and in the plane, and a general optimiser."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.equilibrium import linearised_equilibrium, solve_equilibrium
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.task.task import load_task


def test_linearised_arm_moves_along_the_surface_only() -> None:
    """Two links; one constraint: dq = dq_cmd - K^-1 J' f with f = (J K^-1 J')^-1 J dq_cmd on the surface."""
    K, J, dq_cmd = np.array([50.0, 20.0]), np.array([[0.3, 0.8]]), np.array([0.02, -0.03])
    dq, f = linearised_equilibrium(K, J, dq_cmd)
    expected = -(J @ dq_cmd)[0] / (J @ np.diag(1.0 / K) @ J.T)[0, 0]
    assert f[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(dq, dq_cmd + J[0] * expected / K, rtol=1e-12)
    np.testing.assert_allclose(J @ dq, 0.0, atol=1e-15)


def test_linearised_equilibrium_takes_redundant_constraints() -> None:
    K, J, dq_cmd = np.array([50.0, 20.0, 5.0]), np.array([[1.0, 0.0, 1.0], [2.0, 0.0, 2.0]]), np.full(3, 0.01)
    dq, f = linearised_equilibrium(K, J, dq_cmd)
    np.testing.assert_allclose(K * (dq - dq_cmd), J.T @ f, atol=1e-12)
    np.testing.assert_allclose(J @ dq, 0.0, atol=1e-14)


def test_pusher_presses_on_a_held_block_with_its_spring(named_system: Callable) -> None:
    """One dimension: it stops where they touch and presses with K (u - q_a)."""
    system = named_system("pusher_1d")
    q = np.array([0.0, -0.5])
    touch = q[1] + ContactDynamics(system).step(q, q[1:]).gaps[0]
    found = solve_equilibrium(system, q, np.array([touch + 0.02]))
    assert found.status == "converged"
    assert found.q[1] == pytest.approx(touch, abs=1e-12)
    np.testing.assert_allclose(found.forces, [[system.kp[0] * 0.02, 0.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(found.torque, [-system.kp[0] * 0.02], atol=1e-9)
    free = solve_equilibrium(system, q, np.array([touch - 0.1]))
    np.testing.assert_allclose(free.q, [0.0, touch - 0.1], atol=1e-12)
    np.testing.assert_array_equal(free.forces, np.zeros((1, 3)))


def ball_and_pusher(system: System) -> tuple[np.ndarray, float, int]:
    """Return the centre of the held ball, the distance of the centres in touch, and the index of their contact."""
    q, dynamics = system.q_default.copy(), ContactDynamics(system)
    names = [system.geometries[g].link for g in dynamics.model.pairs.geom_b]
    others = [system.geometries[g].link for g in dynamics.model.pairs.geom_a]
    pair = next(i for i, link in enumerate(zip(names, others, strict=True)) if "pusher" in "".join(link))
    model = dynamics.model
    radii = [system.tree.geom_size[g[pair], 0] for g in (model.pairs.geom_a, model.pairs.geom_b)]
    return system.object_pose(q)[1], float(sum(radii)), pair


def test_frictionless_pusher_rests_on_the_ball_nearest_to_its_command(named_system: Callable) -> None:
    """Plane: the spring points at the ball's centre c, so p = c + r (u - c) / |u - c|."""
    system = named_system("sphere_no_rotation")
    centre, reach, pair = ball_and_pusher(system)
    q = system.q_default.copy()
    command = centre + np.array([-0.06, 0.0, 0.08])
    base = system_tip(system, np.zeros(2))
    q[system.n_q_u :] = (centre + np.array([-2.0 * reach, 0.0, 0.0]) - base)[[0, 2]]
    found = solve_equilibrium(system, q, (command - base)[[0, 2]], friction=0.0)
    assert found.status == "converged" and found.residual < 1e-9
    direction = (command - centre) / np.linalg.norm(command - centre)
    expected = centre + reach * direction
    np.testing.assert_allclose(found.q[system.n_q_u :], (expected - base)[[0, 2]], atol=1e-9)
    force = system.kp[0] * (reach - np.linalg.norm(command - centre))
    np.testing.assert_allclose(found.forces[pair], -force * direction, atol=1e-6)


def test_pusher_with_friction_stays_where_its_spring_points_into_the_cone(named_system: Callable) -> None:
    system = named_system("sphere_no_rotation")
    centre, reach, pair = ball_and_pusher(system)
    base, q = system_tip(system, np.zeros(2)), system.q_default.copy()
    start = centre + np.array([-reach, 0.0, 0.0])
    q[system.n_q_u :] = (start - base)[[0, 2]]
    for pull, sticks in ((0.79, True), (0.81, False)):  # the coefficient of friction is 0.8
        command = start + 0.02 * np.array([1.0, 0.0, pull])
        found = solve_equilibrium(system, q, (command - base)[[0, 2]])
        assert found.status == "converged"
        moved = np.linalg.norm(found.q - q)
        assert moved < 1e-9 if sticks else moved > 1e-6
        force = found.forces[pair]
        assert np.hypot(force[1], force[2]) <= 0.8 * force[0] * (1.0 + 0.1 * (not sticks)) + 1e-9


def system_tip(system: System, q_a: np.ndarray) -> np.ndarray:
    """Return the position of the pusher's sphere, m."""
    from contact_mpc.model.kinematics import forward_kinematics

    g = next(i for i, item in enumerate(system.geometries) if item.link == "pusher")
    body = int(system.tree.geom_body[g])
    R, p = forward_kinematics(system.tree, np.concatenate([system.q_default[: system.n_q_u], q_a]))
    return np.asarray(R[body] @ system.tree.p_BG[g] + p[body])


@pytest.mark.parametrize("seed", range(3))
def test_equilibrium_is_the_minimum_of_the_springs_that_a_general_optimiser_finds(seed: int, planar: System) -> None:
    task = load_task("planar_hand_ball")
    u = task.start_u + np.random.default_rng(seed).normal(0.0, 0.1, planar.n_a)
    found, dynamics, n = solve_equilibrium(planar, task.start_q, u, friction=0.0), ContactDynamics(planar), planar.n_q_u
    reference = minimize(
        lambda q_a: 0.5 * planar.kp @ (q_a - u) ** 2,
        found.q[n:] + 0.01,
        jac=lambda q_a: planar.kp * (q_a - u),
        constraints={"type": "ineq", "fun": lambda q_a: dynamics.step(np.concatenate([task.start_q[:n], q_a]), u).gaps},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 200},
    )
    assert found.status == "converged" and found.residual < 1e-9
    np.testing.assert_allclose(found.q[n:], reference.x, atol=1e-6)
    np.testing.assert_allclose(found.torque, planar.kp * (found.q[n:] - u), atol=1e-9)
    assert found.gaps.min() > -1e-10


def test_bad_input_of_equilibria_is_refused(planar: System) -> None:
    with pytest.raises(InputError, match="u has shape"):
        solve_equilibrium(planar, planar.q_default, np.zeros(3))
    with pytest.raises(InputError, match="friction = -1"):
        solve_equilibrium(planar, planar.q_default, np.zeros(4), friction=-1)
    with pytest.raises(InputError, match="every joint needs a positive stiffness"):
        linearised_equilibrium(np.zeros(2), np.ones((1, 2)), np.ones(2))
    with pytest.raises(InputError, match=r"J_f has shape \(1, 3\); expected \(m, 2\)"):
        linearised_equilibrium(np.ones(2), np.ones((1, 3)), np.ones(2))
