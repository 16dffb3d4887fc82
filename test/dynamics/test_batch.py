"""Batches are the steps that they stand for, whatever the number of threads."""

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.batch import step_batch
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.task.task import load_task


def samples(system: System, count: int) -> tuple[np.ndarray, np.ndarray]:
    task, rng = load_task(system.name), np.random.default_rng(0)
    q = np.array([system.integrate(task.start_q, rng.normal(0.0, 1e-3, system.n_v)) for _ in range(count)])
    return q, task.start_u + rng.normal(0.0, 0.01, (count, system.n_a))


def test_batch_equals_single_steps_bit_for_bit_on_any_number_of_threads(allegro: System) -> None:
    dynamics, (q, u) = ContactDynamics(allegro), samples(allegro, 7)
    one, three = (step_batch(dynamics, q, u, threads=n) for n in (1, 3))
    for i in range(len(q)):
        single = dynamics.linearize(q[i], u[i])
        np.testing.assert_allclose(one.q_next[i], single.step.q_next, rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(one.A[i], single.A, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(one.B[i], single.B, rtol=0.0, atol=1e-10)
        assert one.status[i] == single.step.status and one.iterations[i] == single.step.iterations
    np.testing.assert_array_equal(one.A, three.A)
    np.testing.assert_array_equal(one.q_next, three.q_next)


def test_batch_without_derivatives_and_without_samples(planar: System) -> None:
    dynamics, (q, u) = ContactDynamics(planar), samples(planar, 4)
    result = step_batch(dynamics, q, u, linearise=False)
    assert result.A.shape == (0, 7, 7) and np.all(result.status == "converged")
    assert step_batch(dynamics, q[:0], u[:0]).q_next.shape == (0, planar.n_q)


def test_bad_batches_are_refused(allegro: System) -> None:
    dynamics, (q, u) = ContactDynamics(allegro), samples(allegro, 3)
    with pytest.raises(InputError, match=r"u has shape \(2, 16\); expected \(N, 16\)"):
        step_batch(dynamics, q, u[:2])
    with pytest.raises(InputError, match=r"q has non-finite values in rows \[1\]"):
        step_batch(dynamics, np.where(np.arange(3)[:, None] == 1, np.nan, q), u)
    with pytest.raises(InputError, match=r"q\[0, 0:4\] is not of unit norm"):
        step_batch(dynamics, q * 1.1, u)
    with pytest.raises(InputError, match="threads = 0"):
        step_batch(dynamics, q, u, threads=0)
    with pytest.raises(InputError, match="batches need 'log_barrier'"):
        step_batch(ContactDynamics(allegro, formulation="socp"), q, u)
