"""The cone of one contact: Nesterov-Todd scaling, step lengths, and the central path that the barrier asks for."""

import numpy as np
import pytest

from contact_mpc.dynamics.smoothed.barrier import barrier_terms
from contact_mpc.dynamics.smoothed.second_order_cone import (
    determinant,
    inverse,
    largest_step,
    margin,
    scale_slack,
    scaling,
    weigh,
)

SEEDS = range(20)
ROUND_OFF = 1e-10  # relative, near a boundary where determinants cancel


def random_normal(rng: np.random.Generator) -> np.ndarray:
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


def random_inside(rng: np.random.Generator, n: np.ndarray) -> np.ndarray:
    """A vector inside the cone about n, at times near its boundary."""
    x = rng.normal(size=3)
    x_t = x - (n @ x) * n
    return x_t + np.linalg.norm(x_t) * (1.0 + rng.choice([1e-2, 1.0])) * n


@pytest.mark.parametrize("seed", SEEDS)
def test_scaling_maps_slack_to_multiplier(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = random_normal(rng)
    s, z = (tuple(random_inside(rng, n)) for _ in range(2))
    v, ratio = scaling(tuple(n), s, z)
    np.testing.assert_allclose(scale_slack(tuple(n), v, ratio, s), z, rtol=1e-8)
    S = np.array([scale_slack(tuple(n), v, ratio, tuple(e)) for e in np.eye(3)])
    assert np.linalg.eigvalsh(S).min() > 0.0
    np.testing.assert_allclose(S, S.T, rtol=ROUND_OFF, atol=ROUND_OFF)


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_has_the_jordan_product_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = random_normal(rng)
    s = random_inside(rng, n)
    x = np.array(inverse(tuple(n), tuple(s), 1.0))
    assert s @ x == pytest.approx(1.0, rel=ROUND_OFF)
    across = (n @ s) * (x - (n @ x) * n) + (n @ x) * (s - (n @ s) * n)
    np.testing.assert_allclose(across, 0.0, atol=1e-9 * np.linalg.norm(s) * np.linalg.norm(x))


@pytest.mark.parametrize("seed", SEEDS)
def test_multiplier_on_the_central_path_is_the_force_of_the_barrier(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, mu, kappa, phi = random_normal(rng), rng.uniform(0.1, 1.5), 1e3, 1e-3
    d = 1e-4 * rng.normal(size=3)
    s = phi * n + np.array(weigh(mu, tuple(n), tuple(d)))
    force = weigh(mu, tuple(n), inverse(tuple(n), tuple(s), 2.0 / kappa))
    w = barrier_terms(phi, mu, tuple(n), tuple(d), kappa, 0, np.empty((1, 3, 3)))
    np.testing.assert_allclose(force, -np.array(w), rtol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_largest_step_ends_at_the_edge_of_the_cone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = random_normal(rng)
    x, dx = random_inside(rng, n), rng.normal(size=3)
    t = largest_step(tuple(n), tuple(x), tuple(dx), 10.0)
    inside = [margin(tuple(n), tuple(x + f * t * dx)) > 0.0 for f in np.linspace(0.0, 0.999, 50)]
    assert all(inside)
    assert t == 10.0 or margin(tuple(n), tuple(x + 1.001 * t * dx)) <= 0.0
    assert determinant(tuple(n), tuple(x)) > 0.0
