"""The smoothed step where it is stiffest: forces of hundreds of newtons at slacks of 1e-8 m balance to round-off."""

from collections.abc import Callable

import numpy as np

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.audit import Audit, draw_state, judge_step

KAPPA_PER_J = 1e5
STATES = 25
ROUND_OFF = 1e-9  # of the largest force; the last Newton direction, not applied, is worth 1e-7


def test_the_last_newton_direction_is_applied(named_system: Callable) -> None:
    system = named_system("parallel_gripper")
    drawing = ContactDynamics(system, "socp", regularization="quasidynamic")
    loose, close = (
        ContactDynamics(system, kappa=KAPPA_PER_J, regularization="quasidynamic", tolerance=tolerance)
        for tolerance in (1e-8, 1e-18)
    )
    rng, judged = np.random.default_rng(77), 0
    for _ in range(STATES):
        q, u = draw_state(drawing, system.q_default, rng)
        for dynamics, bound in ((loose, 1e-7), (close, ROUND_OFF)):
            result, found = dynamics.step(q, u), Audit()
            judge_step(dynamics, q, u, result, found)
            largest = np.abs(result.impulses).max() / dynamics.h_s
            if result.is_converged and largest > 1.0:
                assert found.worst["balance"] <= bound * largest
                judged += 1
    assert judged >= STATES


def test_derivatives_hold_what_the_tolerance_promises(named_system: Callable) -> None:
    system = named_system("parallel_gripper")
    drawing = ContactDynamics(system, "socp", regularization="quasidynamic")
    usual, closest = (
        ContactDynamics(system, kappa=KAPPA_PER_J, regularization="quasidynamic", **more)
        for more in ({}, {"tolerance": 1e-24})
    )
    rng = np.random.default_rng(78)
    for _ in range(STATES):
        q, u = draw_state(drawing, system.q_default, rng)
        if usual.step(q, u).is_converged and closest.step(q, u).is_converged:
            here, there = usual.linearize(q, u), closest.linearize(q, u)
            np.testing.assert_allclose(here.A, there.A, atol=1e-7 * np.abs(there.A).max())
            np.testing.assert_allclose(here.B, there.B, atol=1e-7 * np.abs(there.B).max())
