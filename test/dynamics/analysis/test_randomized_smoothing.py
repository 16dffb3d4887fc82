"""Randomized smoothing against the closed form of one contact in one dimension, and of one order against the other."""

from collections.abc import Callable
from math import erf

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.randomized_smoothing import smooth
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.task.task import load_task

SIGMA = 0.01
SAMPLES = 500  # pairs


@pytest.mark.parametrize("order", ["first", "zeroth"])
@pytest.mark.parametrize("formulation", ["socp", "qp"])
def test_mean_push_of_a_block_follows_the_normal_distribution(
    order: str, formulation: str, named_system: Callable
) -> None:
    """d(block)/du is its share where the command reaches the block, else 0: on average share * Phi(reach / sigma)."""
    system = named_system("pusher_1d")
    dynamics, q = ContactDynamics(system, formulation=formulation), np.array([0.0, -1.0])
    q[1] += dynamics.step(q, q[1:]).gaps[0] - 0.002
    reach = 0.003
    share = system.kp[0] / (system.kp[0] + system.tree.mass[0] / dynamics.h_s**2)
    result = smooth(dynamics, q, q[1:] + 0.002 + reach, SIGMA, np.random.default_rng(0), samples=SAMPLES, order=order)
    expected = share * 0.5 * (1.0 + erf(reach / SIGMA / np.sqrt(2.0)))
    deviation = share * 0.5 / np.sqrt(2 * SAMPLES)  # of the first order; pairs make it less
    assert result.B[0, 0] == pytest.approx(expected, abs=4.0 * deviation)
    assert result.used == 2 * SAMPLES and result.dropped == 0


def test_both_orders_agree_for_the_hand(planar: System) -> None:
    task, dynamics = load_task("planar_hand_ball"), ContactDynamics(planar)
    first, zeroth = (
        smooth(dynamics, task.start_q, task.start_u, 1e-3, np.random.default_rng(1), 1e-4, samples=100, order=order)
        for order in ("first", "zeroth")
    )
    np.testing.assert_allclose(first.B, zeroth.B, atol=0.01)
    np.testing.assert_allclose(first.A, zeroth.A, atol=0.05)
    np.testing.assert_allclose(first.q_mean, zeroth.q_mean, atol=1e-12)


def test_little_noise_leaves_the_derivative_of_the_step(allegro: System) -> None:
    """Also with rotations of the object, whose charts at the samples differ."""
    task, dynamics = load_task("allegro_ball"), ContactDynamics(allegro)
    exact = dynamics.linearize(task.start_q, task.start_u)
    result = smooth(dynamics, task.start_q, task.start_u, 1e-6, np.random.default_rng(2), 1e-6, samples=10)
    np.testing.assert_allclose(result.A, exact.A, atol=1e-4)
    np.testing.assert_allclose(result.B, exact.B, atol=1e-4)
    np.testing.assert_allclose(result.c, exact.c, atol=1e-7)


def test_the_seed_determines_every_bit(planar: System) -> None:
    task, dynamics = load_task("planar_hand_ball"), ContactDynamics(planar)
    A, B, other = (
        smooth(dynamics, task.start_q, task.start_u, SIGMA, np.random.default_rng(seed), samples=10).B
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(A, B)
    assert np.any(other != A)


def test_lcp_has_derivatives_of_order_zero_and_nothing_is_said_of_what_was_not_varied(planar: System) -> None:
    task = load_task("planar_hand_ball")
    dynamics = ContactDynamics(planar, formulation="lcp", regularization="quasidynamic")
    result = smooth(dynamics, task.start_q, task.start_u, 1e-3, np.random.default_rng(5), samples=30, order="zeroth")
    assert np.all(np.isfinite(result.B)) and np.all(np.isnan(result.A))


@pytest.mark.parametrize(
    "change, words",
    [
        ({"sigma_u": 0.0}, "sigma_u = 0.0"),
        ({"sigma_q": -1.0}, "sigma_q = -1.0"),
        ({"order": "second"}, "order 'second'; allowed: first, zeroth"),
        ({"order": "zeroth", "samples": 3}, "samples = 3; order 'zeroth' needs at least 11"),
    ],
)
def test_settings_of_smoothing_out_of_range_are_refused(change: dict, words: str, planar: System) -> None:
    arguments = {"sigma_u": 0.01, "rng": np.random.default_rng(0), **change}
    with pytest.raises(InputError, match=words):
        smooth(ContactDynamics(planar), planar.q_default, np.zeros(planar.n_a), **arguments)
