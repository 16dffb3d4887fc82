"""Energy of a step: nothing is left over in any formulation, contacts and steps only lose, sliding loses mu N v."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.energy_balance import balance_energy
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS

LEFT_OVER = 1e-7  # of the largest energy of the step: forces balance to 1e-6 N
GAINED_J = 1e-9


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", ["planar_hand_ball", "allegro_ball"])
def test_what_commands_and_weight_bring_is_stored_or_lost(
    name: str, formulation: str, named_system: Callable, random_states: Callable
) -> None:
    system = named_system(name)
    dynamics, rng = ContactDynamics(system, formulation, regularization="quasidynamic"), np.random.default_rng(0)
    seen = 0
    for q, u in random_states(dynamics, 6, (0.0, 2e-3), seed=2, deepest=0.0):
        v = 0.1 * rng.normal(size=system.n_v) if dynamics.kind.has_velocity else None
        result = dynamics.step(q, u, velocity=v)
        if not result.is_converged:
            continue
        found = balance_energy(dynamics, q, u, q[system.n_q_u :], result, v)
        size = max(abs(value) for value in vars(found).values())
        assert abs(found.residual) <= LEFT_OVER * size + 1e-12
        assert found.step >= 0.0 and found.dampers >= 0.0
        if formulation != "log_barrier":
            assert found.contacts >= -GAINED_J
        seen += 1
    assert seen >= 3


def test_sliding_gripper_loses_friction_times_speed(named_system: Callable) -> None:
    """Coulomb: 16 N at 0.2 m/s; the command brings as much while springs keep their stretch."""
    from contact_mpc.examples.parallel_gripper import command, start

    system, h = named_system("parallel_gripper"), 0.001
    dynamics, q, u = ContactDynamics(system, "lcp", h_s=h), start(system), start(system)[2:]
    power = []
    for k in range(130):
        before, u = u, command(system, (k + 1) * h)
        result = dynamics.step(q, u)
        found = balance_energy(dynamics, q, u, before, result)
        power.append([found.contacts / h, (found.command - found.stored) / h])
        q = result.q_next
    np.testing.assert_allclose(np.array(power)[100:], 3.2, rtol=0.02)
    assert np.abs(np.array(power)[5:75, 0]).max() < 1e-6  # it sticks


def test_a_smoothed_contact_gains_at_most_two_over_kappa(named_system: Callable) -> None:
    """Force at a distance pushes the block away: f d = 2 / kappa (1 - phi / (phi + d))."""
    system, kappa = named_system("pusher_1d"), 1e3
    dynamics, q = ContactDynamics(system, kappa=kappa), np.array([0.0, -0.12])
    result = dynamics.step(q, q[1:])
    found = balance_energy(dynamics, q, q[1:], q[1:], result)
    gap = result.gaps[0] + (result.q_next - q) @ [1.0, -1.0]
    assert -2.0 / kappa < found.contacts < 0.0
    assert found.contacts == pytest.approx(-2.0 / kappa * (1.0 - result.gaps[0] / gap), rel=1e-6)
