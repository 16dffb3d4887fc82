"""The joint impedance law against its equation, and gravity against the potential energy."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.control.joint_impedance import joint_impedance_torque
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.kinematics import forward_kinematics


def _law(**changes: float) -> float:
    values = {"kp": 10.0, "kd": 0.5, "u": 0.0, "du": 0.0, "q": 0.0, "dq": 0.0, "tau_ff": 0.0, "gravity": 0.0} | changes
    out = np.full(1, np.nan)
    joint_impedance_torque(*(np.array([value]) for value in values.values()), out)
    return float(out[0])


@pytest.mark.parametrize(
    ("changes", "tau"),
    [
        ({}, 0.0),
        ({"u": 0.1}, 1.0),
        ({"q": 0.1}, -1.0),
        ({"du": 2.0}, 1.0),
        ({"dq": 2.0}, -1.0),
        ({"tau_ff": 0.3}, 0.3),
        ({"gravity": -0.2}, -0.2),
        ({"u": 0.1, "q": 0.3, "du": 1.0, "dq": 2.0, "tau_ff": 0.3, "gravity": 0.1}, -2.1),
    ],
)
def test_each_term_of_the_law_acts_with_its_sign(changes: dict[str, float], tau: float) -> None:
    assert _law(**changes) == pytest.approx(tau, abs=1e-12)


def _potential_energy(system, q) -> float:
    """Independent of Pinocchio: our own kinematics and the masses of the URDFs."""
    R, p = forward_kinematics(system.tree, q)
    gravity, energy = np.array(system.config.gravity_m_s2), 0.0
    for robot in system.config.robots:
        urdf = system.urdfs[robot.name]
        for (owner, link), (body, X_BL) in system.links.items():
            if owner == robot.name and body >= 0:
                p_com = R[body] @ (X_BL.R @ urdf.links[link].p_LC + X_BL.p) + p[body]
                energy -= urdf.links[link].mass * gravity @ p_com
    return energy


def test_gravity_torque_is_the_gradient_of_the_potential_energy() -> None:
    system = load_system("allegro_ball")
    q = system.q_default.copy()
    q[system.n_q_u :] = np.clip(0.1 + 0.05 * np.arange(system.n_a), system.q_min, system.q_max)
    g = np.full(system.n_a, np.nan)
    GravityTorque(system).compute(q[system.n_q_u :], g)
    epsilon = 1e-5
    for i in range(system.n_a):
        step = np.zeros(system.n_v)
        step[system.n_v_u + i] = epsilon
        above, below = (_potential_energy(system, system.integrate(q, sign * step)) for sign in (1.0, -1.0))
        assert g[i] == pytest.approx((above - below) / (2.0 * epsilon), abs=1e-7)  # differences of about 0.1 J
    assert np.abs(g).max() > 0.01


def test_without_gravity_the_gravity_torque_is_zero() -> None:
    system = load_system("planar_hand_ball")
    g = np.full(system.n_a, np.nan)
    GravityTorque(system).compute(system.q_default[system.n_q_u :], g)
    np.testing.assert_array_equal(g, 0.0)
