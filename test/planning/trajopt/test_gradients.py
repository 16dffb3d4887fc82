"""Roll-outs of the unsmoothed model: with its own derivatives, and with means of them over perturbed commands."""

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics, build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.model.system_builder import load_system
from contact_mpc.optimisation.horizon import Horizon, make_horizon
from contact_mpc.planning.trajopt.gradients import exact_roll_out, randomized_roll_out

STEPS, NEAR_M = 3, 5e-4
FREE = 1e-7  # without contact all samples have the same derivatives
KAPPA = 1e6  # of no roll-out here


@pytest.fixture(scope="module")
def dynamics() -> ContactDynamics:
    return ContactDynamics(load_system("planar_pushing"), "socp")


def horizon(dynamics: ContactDynamics, gap_m: float) -> Horizon:
    """Return a horizon of commands that hold a pusher so far from the box, m."""
    system, model = dynamics.system, build_model(dynamics.system)
    hz, q = make_horizon(model, system.n_q, STEPS), system.q_default.copy()
    q[system.n_q_u + 1] += float(np.min(measure_gaps(model, make_newton(model), q))) - gap_m
    hz.q[0], hz.q_ref[:], hz.u[:] = q, q, q[system.n_q_u :]
    return hz


def test_exact_roll_out_is_the_model_step_by_step(dynamics: ContactDynamics) -> None:
    hz, n_v_u = horizon(dynamics, NEAR_M), dynamics.system.n_v_u
    hz.u[:, 1] += [0.01, 0.02, 0.03]  # through contact
    assert exact_roll_out(dynamics)(hz, KAPPA, True)
    for k in range(STEPS):
        found = dynamics.linearize(hz.q[k], hz.u[k])
        assert np.array_equal(hz.q[k + 1], found.step.q_next) and np.array_equal(hz.B[k], found.B)
        error = dynamics.system.difference(hz.q_ref[k + 1], hz.q[k + 1])[:n_v_u]
        np.testing.assert_allclose(hz.error[k], error, atol=1e-12)
    assert np.abs(hz.B[-1, :n_v_u]).max() > 0.1  # the box goes where the pusher does


def test_only_means_over_commands_see_a_contact_that_is_near(dynamics: ContactDynamics) -> None:
    """Where nothing touches B is zero, which is why planning needs smoothing."""
    hz, n_v_u = horizon(dynamics, NEAR_M), dynamics.system.n_v_u
    assert exact_roll_out(dynamics)(hz, KAPPA, True)
    assert np.abs(hz.B[:, :n_v_u]).max() < FREE
    assert randomized_roll_out(dynamics, 10.0 * NEAR_M, 10, np.random.default_rng(0))(hz, KAPPA, True)
    assert np.abs(hz.B[0, :n_v_u]).max() > 0.1


def test_means_far_from_contact_are_the_exact_derivatives(dynamics: ContactDynamics) -> None:
    ours, exact = horizon(dynamics, 0.02), horizon(dynamics, 0.02)
    assert exact_roll_out(dynamics)(exact, KAPPA, True)
    assert randomized_roll_out(dynamics, 1e-4, 3, np.random.default_rng(0))(ours, KAPPA, True)
    np.testing.assert_allclose(ours.B, exact.B, atol=FREE)
    np.testing.assert_allclose(ours.A, exact.A, atol=FREE)


def test_without_derivatives_the_last_ones_stay(dynamics: ContactDynamics) -> None:
    hz = horizon(dynamics, NEAR_M)
    hz.B[:] = 7.0
    assert exact_roll_out(dynamics)(hz, KAPPA, False)
    assert np.all(hz.B == 7.0) and np.all(np.isfinite(hz.q))
