"""The audit in short: no converged step is wrong in any formulation, and the audit sees one that is."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.audit import Audit, audit_states, draw_state, judge_step
from contact_mpc.dynamics.analysis.turned_world import is_turnable, turn_state, turn_system
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS, Linearization
from contact_mpc.model.rotations import rotation_exp

STATES = 12
ROUND_OFF_M = 1e-12


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", ["allegro_cube", "allegro_plate", "iiwa_bimanual_box"])
def test_no_converged_step_is_wrong(name: str, formulation: str, named_system: Callable) -> None:
    system = named_system(name)
    found = audit_states(system, formulation, system.q_default, STATES, seed=3)
    assert found.wrong_steps == 0, found
    assert found.states == STATES and found.converged >= STATES // 2
    assert found.worst["balance"] <= 1e-5
    if FORMULATIONS.load(formulation).is_differentiable:
        assert found.differentiable >= STATES // 3


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_audit_sees_forces_that_do_not_balance_leave_their_cone_or_pull(
    formulation: str, named_system: Callable
) -> None:
    system = named_system("allegro_cube")
    dynamics = ContactDynamics(system, formulation, regularization="quasidynamic")
    drawing, rng, spoiled = ContactDynamics(system, "socp"), np.random.default_rng(0), 0
    for _ in range(15):
        q, u = draw_state(drawing, system.q_default, rng)
        result = dynamics.step(q, u)
        if not result.is_converged or np.abs(result.impulses).max() < 1e-3:
            continue
        assert judge_step(dynamics, q, u, result, Audit())
        apart = system.integrate(result.q_next, np.full(system.n_v, 1e-3))
        for wrong in ({"impulses": 1.001 * result.impulses}, {"impulses": -result.impulses}, {"q_next": apart}):
            assert not judge_step(dynamics, q, u, replace(result, **wrong), Audit())
        spoiled += 1
    assert spoiled >= 2


def test_turned_world_holds_the_same_gaps(named_system: Callable) -> None:
    system, R, t = (
        named_system("iiwa_bimanual_box"),
        rotation_exp(np.array([0.3, 2.0, -0.5])),
        np.array([1.0, 2.0, 3.0]),
    )
    assert is_turnable(system) and not is_turnable(named_system("allegro_plate"))
    turned = turn_system(system, R, t)
    q, T = turn_state(system, system.q_default, R, t)
    np.testing.assert_allclose(T @ T.T, np.eye(system.n_v), atol=ROUND_OFF_M)
    here = ContactDynamics(system, "socp").assemble(system.q_default, system.q_default[system.n_q_u :])
    there = ContactDynamics(turned, "socp").assemble(q, system.q_default[system.n_q_u :])
    np.testing.assert_allclose(there.phi, here.phi, atol=ROUND_OFF_M)
    np.testing.assert_allclose(there.n, here.n @ R.T, atol=ROUND_OFF_M)


def test_a_figure_that_is_no_number_is_worse_than_any() -> None:
    found = Audit()
    for value in (1.0, np.nan, 2.0):
        found.note("derivative_error", value)
    assert np.isnan(found.worst["derivative_error"])


def test_a_converged_step_without_numbers_in_its_derivatives_is_wrong(
    named_system: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, linearize = named_system("allegro_cube"), ContactDynamics.linearize

    def without_numbers(self: ContactDynamics, q: np.ndarray, u: np.ndarray) -> Linearization:
        found = linearize(self, q, u)
        return replace(found, A=np.full_like(found.A, np.nan))

    monkeypatch.setattr(ContactDynamics, "linearize", without_numbers)
    found = audit_states(system, "log_barrier", system.q_default, 3, seed=3)
    assert found.wrong_steps == found.converged >= 1 and found.differentiable == 0
