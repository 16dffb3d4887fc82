"""The smoothed step where it is stiffest: forces of hundreds of newtons at slacks of 1e-8 m balance to round-off."""

from collections.abc import Callable

import numpy as np

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.audit import Audit, draw_state, judge_step
from contact_mpc.dynamics.batch import step_batch

KAPPA_PER_J = 1e5
STATES = 25
ROUND_OFF = 1e-9  # of the largest force; the last Newton direction, not applied, is worth 1e-7
# allegro_plate between finger and floor, drawn by an audit: the plate turns by 0.9 rad in a step, with 8500 N
STIFF_Q = [
    *(0.07241025748902882, 0.8475248755214788, -0.18071134911942677, -0.49376284619451793, 0.004819444891887282),
    *(0.043336472785776126, 0.20370808559937856, -0.026272512388998352, 0.021658320643389815, 0.019882547047723804),
    *(-0.005568963619453575, -0.00453287457078832, 0.027426400313030928, -0.05874772408113315, 0.44630144565315777),
    *(0.03714127890955462, 0.021017481275001616, -0.08825579264206097, 0.5935367687261093, -0.017839150887186166),
    *(-0.010774316758708295, -0.07288133365463964, 0.21454152103024227, -0.022755375714247506, -0.046768536785594644),
    -0.010969199027711436,
]
STIFF_U = [
    *(0.004488727563647342, 0.02334107661707332, -0.03074051289297212, -0.005568963619453575, -0.00453287457078832),
    *(0.027426400313030928, -0.05874772408113315, 0.025071280648316797, 0.038485763887692606, 0.021749228167428136),
    *(-0.0879603723274886, -0.008035440709532621, -0.017839150887186166, -0.010774316758708295, -0.07288133365463964),
    *(0.21665769629840426, -0.022755375714247506, -0.046768536785594644, -0.010969199027711436),
]


def test_forces_that_round_off_keeps_from_balance_are_no_solution(named_system: Callable) -> None:
    dynamics = ContactDynamics(named_system("allegro_plate"), regularization="quasidynamic")
    q, u = np.array(STIFF_Q), np.array(STIFF_U)
    alone, together = dynamics.step(q, u), step_batch(dynamics, q[None], u[None])
    assert (alone.status == "converged") == (together.status[0] == "converged")
    assert not alone.is_converged or judge_step(dynamics, q, u, alone, Audit())


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
