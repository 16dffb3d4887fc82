"""The barrier of one contact: gradient, Hessian and mixed derivatives against differences, and its friction cone."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.dynamics.smoothed.barrier import barrier_mixed, barrier_terms, cone_value

KAPPA = 1e3
TOLERANCE = 1e-7  # of five-point differences at a step of 1e-3 of the gap


def barrier(phi: float, mu: float, n: np.ndarray, d: np.ndarray) -> float:
    """The formula of seeds/003 with an explicit tangent basis, up to a constant."""
    t1 = np.cross(n, [1.0, 0.0, 0.0] if abs(n[0]) < 0.5 else [0.0, 1.0, 0.0])
    t1 /= np.linalg.norm(t1)
    t2 = np.cross(n, t1)
    return float(-np.log((phi + n @ d) ** 2 - mu**2 * ((t1 @ d) ** 2 + (t2 @ d) ** 2)) / KAPPA)


def terms(phi: float, mu: float, n: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    W = np.empty((1, 3, 3))
    w = barrier_terms(phi, mu, tuple(n), tuple(d), KAPPA, 0, W)
    return np.array(w), W[0]


def random_contact(seed: int) -> tuple[float, float, np.ndarray, np.ndarray]:
    """A contact inside its cone; every third one is frictionless."""
    rng = np.random.default_rng(seed)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    mu = 0.0 if seed % 3 == 0 else rng.uniform(0.1, 1.5)
    while True:
        phi, d = rng.uniform(-2e-3, 1e-2), rng.normal(0.0, 5e-3, 3)
        if cone_value(phi, mu, tuple(n), tuple(d)) > 1e-6 and phi + n @ d > 1e-3:
            return phi, mu, n, d


@pytest.mark.parametrize("seed", range(12))
def test_gradient_and_hessian_are_those_of_the_barrier(seed: int, check_jacobian: Callable) -> None:
    phi, mu, n, d = random_contact(seed)
    w, W = terms(phi, mu, n, d)
    check_jacobian(w[None], lambda x: np.array([barrier(phi, mu, n, d + x)]), TOLERANCE, step=2e-6)
    check_jacobian(W, lambda x: terms(phi, mu, n, d + x)[0], TOLERANCE, step=2e-6)
    np.testing.assert_allclose(W, W.T, rtol=1e-12)
    assert np.linalg.eigvalsh(W).min() > -1e-9 * np.abs(W).max()  # convex


@pytest.mark.parametrize("seed", range(12))
def test_gradient_changes_with_gap_and_normal_as_stated(seed: int, check_jacobian: Callable) -> None:
    phi, mu, n, d = random_contact(seed)
    tangents = np.linalg.svd(n[None])[2][1:]  # n stays of unit length: it moves along these
    columns = [barrier_mixed(phi, mu, tuple(n), tuple(d), KAPPA, 1.0, (0.0, 0.0, 0.0))]
    columns += [barrier_mixed(phi, mu, tuple(n), tuple(d), KAPPA, 0.0, tuple(t)) for t in tangents]

    def gradient(x: np.ndarray) -> np.ndarray:
        tilted = n + x[1] * tangents[0] + x[2] * tangents[1]
        return terms(phi + x[0], mu, tilted / np.linalg.norm(tilted), d)[0]

    check_jacobian(np.array(columns).T, gradient, TOLERANCE, step=2e-6)


@pytest.mark.parametrize("seed", range(12))
def test_force_lies_in_the_friction_cone_and_pushes(seed: int) -> None:
    phi, mu, n, d = random_contact(seed)
    force = -terms(phi, mu, n, d)[0]
    normal = n @ force
    assert normal > 0.0
    assert np.linalg.norm(force - normal * n) <= mu * normal + 1e-12 * normal


def test_force_at_a_distance_is_two_over_kappa_and_gap() -> None:
    w, _ = terms(0.01, 0.7, np.array([0.0, 0.0, 1.0]), np.zeros(3))
    np.testing.assert_allclose(-w, [0.0, 0.0, 2.0 / (KAPPA * 0.01)], rtol=1e-12)
