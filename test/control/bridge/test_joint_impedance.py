"""The joint impedance law against its equation, and gravity against the potential energy."""

import numpy as np
import pytest
from pydantic import ValidationError

from contact_mpc import load_system
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.joint_impedance import JointImpedance, joint_impedance_torque
from contact_mpc.errors import ConfigError
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


@pytest.mark.parametrize("name", ["anypulator_block", "anypulator_door", "anypulator_ball"])
def test_the_gain_sets_of_the_anypulator_are_those_of_the_paper(name: str) -> None:
    system = load_system(name)
    simulation, experiment = system.gains("simulation"), system.gains("experiment")
    assert np.array_equal(simulation, [[20, 50, 50, 50, 50], [10, 15, 15, 1, 1]])
    assert np.array_equal(experiment, [[110, 120, 100, 80, 80], [0.2, 0.1, 0.05, 0.15, 0.05]])
    assert np.array_equal(simulation, system.gains()), "the robot's own"


def test_a_gain_set_is_what_the_law_multiplies_with() -> None:
    system, zero, tau = load_system("anypulator_block"), np.zeros(5), np.zeros(5)
    JointImpedance(system, False, "experiment").torque(zero, zero, zero - 0.1, zero - 2.0, zero, tau)
    assert tau == pytest.approx([11.4, 12.2, 10.1, 8.3, 8.1])


def test_a_gain_set_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="gain_set = 'experment'.*simulation, experiment"):
        load_system("anypulator_block").gains("experment")


def test_a_gain_set_needs_the_effort_interface() -> None:
    with pytest.raises(ValidationError, match="gain_set 'experiment' needs command_interface 'effort'"):
        BridgeConfig(command_interface="position", gravity_compensation="robot", gain_set="experiment")


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
