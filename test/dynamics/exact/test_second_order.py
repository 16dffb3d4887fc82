"""Steps with inertia against closed forms: falling, sliding to a stop, a spring, an impact; energy never grows."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.errors import InputError
from contact_mpc.model.system import System

ROUND_OFF = 1e-9
SOLVED_M = 1e-7  # gaps of sliding contacts settle to 1e-9 m in each of 100 steps


def advance(dynamics: ContactDynamics, q: np.ndarray, v: np.ndarray, u: np.ndarray, steps: int) -> tuple:
    """Return q (steps + 1, n_q) and v (steps + 1, n_v)."""
    path, speeds = [q], [v]
    for _ in range(steps):
        result = dynamics.step(q, u, velocity=v)
        assert result.is_converged, result.status
        v = dynamics.system.difference(q, result.q_next) / dynamics.h_s
        q = result.q_next
        path.append(q)
        speeds.append(v)
    return np.array(path), np.array(speeds)


def test_a_free_body_falls_by_gravity_and_keeps_its_spin_about_a_principal_axis(named_system: Callable) -> None:
    system = named_system("box_pushing")
    dynamics = ContactDynamics(system, "second_order", h_s=0.01)
    q, v = system.q_default.copy(), np.zeros(system.n_v)
    q[6] += 2.0
    v[:6] = [0.0, 0.0, 3.0, 0.4, -0.2, 0.0]
    _, speeds = advance(dynamics, q, v, q[7:], 5)
    expected = np.tile(v, (6, 1))
    expected[:, 5] = -9.81 * 0.01 * np.arange(6)
    np.testing.assert_allclose(speeds, expected, atol=ROUND_OFF)


def sliding(system: System, h_s: float, speed_m_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Push a ball that cannot turn over the ground, away from its pusher; return its way and speed."""
    dynamics = ContactDynamics(system, "second_order", h_s=h_s)
    q, v = system.q_default.copy(), np.zeros(4)
    q[:2], q[2:] = 0.0, (-1.0, 0.5)
    v[0] = speed_m_s
    path, speeds = advance(dynamics, q, v, q[2:], round(0.3 / h_s))
    return path[:, 0], speeds[:, 0]


def test_what_slides_slows_by_mu_g_and_stops_after_v_squared_over_two_mu_g(named_system: Callable) -> None:
    """No gap opens, in contrast to qp; the way is off by half a step's, so of first order."""
    system, mu, speed, errors = named_system("sphere_no_rotation"), 0.8, 1.0, []
    for h_s in (0.01, 0.005, 0.0025):
        way, speeds = sliding(system, h_s, speed)
        expected = np.maximum(speed - mu * 9.81 * h_s * np.arange(len(speeds)), 0.0)
        np.testing.assert_allclose(speeds, expected, atol=SOLVED_M / h_s)
        errors.append(abs(way[-1] - speed**2 / (2.0 * mu * 9.81)))
    assert np.polyfit(np.log([0.01, 0.005, 0.0025]), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.3)


def test_a_joint_moves_as_the_damped_oscillator_that_it_is(named_system: Callable) -> None:
    """M dv = K (u - q) - D v with the implicit Euler's own amplification, and of first order to the exact one."""
    system = named_system("pusher_1d")
    K, D, h = system.kp[0], system.kd[0], 1e-3
    dynamics = ContactDynamics(system, "second_order", h_s=h)
    M = dynamics.assemble(np.array([0.0, -1.0]), np.array([-1.0])).Q[1, 1] - K - D / h
    M *= h**2
    assert M > 0.0
    q, u = np.array([0.0, -1.0]), np.array([-0.9])
    path, _ = advance(dynamics, q, np.zeros(2), u, 50)
    x, v = -0.1, 0.0
    for k in range(1, 51):
        v = (v - h * K / M * x) / (1.0 + h * D / M + h**2 * K / M)
        x += h * v
        assert path[k, 1] + 0.9 == pytest.approx(x, abs=ROUND_OFF)


def test_an_impact_keeps_the_momentum_and_leaves_one_velocity(named_system: Callable) -> None:
    """A pusher of 1 m/s, its spring and damper negligible in 1e-5 s, hits a block at rest."""
    system = named_system("pusher_1d")
    dynamics, q, v = ContactDynamics(system, "second_order", h_s=1e-5), np.array([0.0, -0.1]), np.array([0.0, 1.0])
    Q = dynamics.assemble(q, q[1:]).Q * 1e-10
    masses = np.array([Q[0, 0], Q[1, 1] - 1e-10 * system.kp[0] - 1e-5 * system.kd[0]])
    result = dynamics.step(q, q[1:], velocity=v)
    after = (result.q_next - q) / 1e-5
    assert result.gaps[0] == pytest.approx(0.0, abs=1e-12)
    assert after[0] == pytest.approx(after[1], abs=1e-8)
    assert masses @ after == pytest.approx(masses @ v, rel=1e-3)


def test_energy_of_a_grasp_never_grows(planar: System) -> None:
    from contact_mpc.task.task import load_task

    task = load_task("planar_hand_ball")
    dynamics = ContactDynamics(planar, "second_order", h_s=2e-3)
    v = 0.3 * np.random.default_rng(0).normal(size=planar.n_v)
    path, speeds = advance(dynamics, task.start_q, v, task.start_u, 40)
    weight = -dynamics.assemble(task.start_q, task.start_u).b[: planar.n_v_u]
    energy = []
    for q, v in zip(path, speeds, strict=True):
        Q = dynamics.assemble(q, task.start_u).Q
        M = dynamics.h_s**2 * Q
        robots = np.arange(planar.n_v_u, planar.n_v)
        M[robots, robots] -= dynamics.h_s**2 * planar.kp + dynamics.h_s * planar.kd
        stretch = task.start_u - q[planar.n_q_u :]
        energy.append(0.5 * v @ M @ v + 0.5 * planar.kp @ stretch**2 - weight @ q[: planar.n_v_u])
    assert np.max(np.diff(energy)) < 1e-6 * energy[0]
    assert energy[0] - energy[-1] > 0.01 * energy[0]


def test_second_order_has_mass_and_others_no_velocity(planar: System) -> None:
    with pytest.raises(InputError, match="regularization 'quasistatic' of formulation second_order; allowed: quasidy"):
        ContactDynamics(planar, "second_order", regularization="quasistatic")
    q = planar.q_default
    with pytest.raises(InputError, match="Qp knows no velocity; take the formulation second_order"):
        ContactDynamics(planar, "qp").step(q, q[planar.n_q_u :], velocity=np.zeros(planar.n_v))
    with pytest.raises(InputError, match="velocity"):
        ContactDynamics(planar, "second_order").step(q, q[planar.n_q_u :], velocity=np.zeros(2))
