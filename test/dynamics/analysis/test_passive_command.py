"""The command that pays from a tank: nobody draws more energy from the robot than it had, whatever is commanded."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.passive_command import PassiveCommand
from contact_mpc.errors import InputError


def drawn_energy(named_system: Callable, seed: int, tank_j: float, is_governed: bool) -> float:
    """Let random loads and random commands act on the pusher; return the most that the loads have drawn, J."""
    system, rng, h = named_system("pusher_1d"), np.random.default_rng(seed), 5e-3
    dynamics = ContactDynamics(system, "second_order", h_s=h)
    q, v, u = np.array([0.0, -1.0]), np.zeros(2), np.array([-1.0])
    command = PassiveCommand(system.kp, tank_j, tank_j)
    drawn, most, damped = 0.0, 0.0, 0.0
    for k in range(150):
        wanted = np.array([-1.0 + 0.2 * np.sin(20.0 * k * h)]) + 0.02 * rng.normal(size=1)
        u = command.advance(u, wanted, q[1:], damped) if is_governed else wanted
        load = -20.0 * v[1:] + rng.normal(size=1)
        result = dynamics.step(q, u, tau_a=load, velocity=v)
        v, q = (result.q_next - q) / h, result.q_next
        damped = h * float(system.kd @ v[1:] ** 2)
        drawn -= h * float(load @ v[1:])
        most = max(most, drawn)
    return most


@pytest.mark.parametrize("seed", range(2))
def test_nobody_draws_more_than_the_tank(seed: int, named_system: Callable) -> None:
    assert drawn_energy(named_system, seed, 0.05, True) <= 0.05 + 1e-9
    assert drawn_energy(named_system, seed, 0.05, False) > 0.2


def test_command_goes_all_the_way_where_energy_allows_and_as_far_as_it_allows_elsewhere() -> None:
    K, q = np.array([100.0, 50.0]), np.zeros(2)
    rich = PassiveCommand(K, 10.0, 10.0)
    np.testing.assert_array_equal(rich.advance(q, np.array([0.1, -0.1]), q), [0.1, -0.1])
    assert rich.tank_j == pytest.approx(10.0 - 0.75)
    poor = PassiveCommand(K, 0.1, 0.2)
    u = poor.advance(q, np.array([0.1, -0.1]), q)
    assert 0.5 * K @ u**2 == pytest.approx(0.1) and poor.tank_j == pytest.approx(0.0, abs=1e-12)
    back = poor.advance(u, q, q)  # gives back what was paid
    np.testing.assert_array_equal(back, q)
    assert poor.tank_j == pytest.approx(0.1)


def test_bad_tanks_are_refused() -> None:
    with pytest.raises(InputError, match="tank_j = 2.0 J; expected from 0 to most_j = 1.0 J"):
        PassiveCommand(np.ones(1), 2.0, 1.0)
    with pytest.raises(InputError, match="positive stiffness"):
        PassiveCommand(np.zeros(1), 0.0, 1.0)
