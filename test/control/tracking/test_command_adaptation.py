"""Integral action of the tracker: offset-free in what moves the object, nothing in what holds it."""

import numpy as np
import pytest

from contact_mpc.control.tracking.command_adaptation import CommandAdaptation
from contact_mpc.model.system_builder import load_system

WEAKEST = 0.1
ROUND_OFF = 1e-12
SOLVES = 400  # at gain 0.1 the slowest direction, at twice the weakest share, keeps 0.92^400 of its error


@pytest.fixture(scope="module")
def system():
    return load_system("allegro_ball")


def _response(system, seed: int):
    """A random B (n_v, n_a) whose singular values in the object's rows lie within a factor of four."""
    rng = np.random.default_rng(seed)
    n_u, n_a = system.n_v_u, system.n_a
    left, _ = np.linalg.qr(rng.standard_normal((n_u, n_u)))
    right, _ = np.linalg.qr(rng.standard_normal((n_a, n_u)))
    B_u = left @ np.diag(np.geomspace(1.0, 0.25, n_u)) @ right.T
    B_u[:3] /= 0.05  # the adaptation takes rotations times its arm
    return np.vstack([B_u, rng.standard_normal((system.n_v - n_u, n_a))])


@pytest.mark.parametrize("seed", range(3))
def test_projection_is_symmetric_and_a_contraction_onto_the_rows_of_B(system, seed):
    B = _response(system, seed)
    P = CommandAdaptation(system, 0.1, WEAKEST).project(B)
    values = np.linalg.eigvalsh(P)
    assert np.abs(P - P.T).max() < ROUND_OFF
    assert values.min() > -ROUND_OFF and values.max() < 1.0
    assert np.sum(values > 0.5) == system.n_v_u
    _, _, Vt = np.linalg.svd(B[: system.n_v_u])
    assert np.abs(P @ Vt[system.n_v_u :].T).max() < ROUND_OFF


def _settle(system, gain: float, model_error: float):
    """Minimise |B u + d|^2_Q + |u - c|^2_R again and again against a plant with another B; return error and u."""
    B, rng = _response(system, 7), np.random.default_rng(8)
    n_u, n_a = system.n_v_u, system.n_a
    plant = B[:n_u] * (1.0 + model_error * rng.uniform(-1.0, 1.0, (n_u, 1)))
    d, Q, R = 0.05 * rng.standard_normal(n_u), np.diag(np.where(np.arange(n_u) < 3, 1.0, 400.0)), 0.5
    adaptation, u = CommandAdaptation(system, gain, WEAKEST), np.zeros(n_a)
    for _ in range(SOLVES):
        e = plant @ u + d
        H = B[:n_u].T @ Q @ B[:n_u] + R * np.eye(n_a)
        u = u - np.linalg.solve(H, B[:n_u].T @ Q @ e + R * (u - adaptation.offset))
        adaptation.update(B, u)
    _, _, Vt = np.linalg.svd(B[:n_u])
    return np.linalg.norm(plant @ u + d), np.linalg.norm(Vt[n_u:] @ u), np.linalg.norm(d)


@pytest.mark.parametrize("model_error", [0.0, 0.3])
def test_constant_disturbance_leaves_no_error_and_the_grip_as_planned(system, model_error):
    with_it, grip, _ = _settle(system, 0.1, model_error)
    without, _, size = _settle(system, 0.0, model_error)
    assert without > 0.02 * size
    assert with_it < 0.1 * without
    assert grip < ROUND_OFF


def test_without_response_or_gain_nothing_is_adapted(system):
    adaptation, nothing = CommandAdaptation(system, 0.1, WEAKEST), CommandAdaptation(system, 0.0, WEAKEST)
    adaptation.update(np.zeros((system.n_v, system.n_a)), np.ones(system.n_a))
    nothing.update(_response(system, 0), np.ones(system.n_a))
    assert not adaptation.offset.any() and not nothing.offset.any()
