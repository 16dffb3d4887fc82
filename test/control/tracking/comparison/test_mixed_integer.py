"""The mixed-integer optimum: against every mode by enumeration, against a step of the model, and what it refuses."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from contact_mpc import ContactDynamics
from contact_mpc.control.tracking.comparison.complementarity_model import ComplementaritySystem, Lineariser
from contact_mpc.control.tracking.comparison.mixed_integer import MixedIntegerProblem, solve_mixed_integer
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.errors import InputError

Q = np.array([0.0, -0.12])  # block, pusher: 2 cm apart
WANTED_M = 0.03


def system_of(named_system: Callable) -> ComplementaritySystem:
    system = named_system("pusher_1d")
    return Lineariser(system, build_model(system), 4, 1.0, 0.0).linearise(Q)


def problem_of(T: int, u_max: float) -> MixedIntegerProblem:
    error = np.full((T, 1), -WANTED_M)
    return MixedIntegerProblem(error, np.ones(1), np.array([-0.3]), np.array([u_max]), 100.0, 1.0)


def best_by_enumeration(lcs: ComplementaritySystem, problem: MixedIntegerProblem) -> float:
    """One linear program in (u_k, lam_k) per choice of modes, states eliminated step by step."""
    T, best = len(problem.error), np.inf
    for modes in product((0, 1), repeat=T):
        n = 2 * T
        X, x, rows, right, equal, equal_right, cost = np.zeros((2, n)), np.zeros(2), [], [], [], [], []
        for k, closed in enumerate(modes):
            U, L = np.eye(n)[2 * k], np.eye(n)[2 * k + 1]
            gap, offset = lcs.E @ X + np.outer(lcs.F[:, 0], L) + np.outer(lcs.H[:, 0], U), lcs.E @ x + lcs.c
            if closed:
                equal.append(gap[0])
                equal_right.append(-offset[0])
            else:
                equal.append(L)
                equal_right.append(0.0)
            rows.append(-gap[0])
            right.append(offset[0])
            X, x = lcs.A @ X + np.outer(lcs.B[:, 0], U) + np.outer(lcs.D[:, 0], L), lcs.A @ x + lcs.d
            cost.append((X[0], x[0] + problem.error[k, 0]))
        # min sum t_k, t_k >= +-(a y + b)
        A = [np.concatenate([row, np.zeros(T)]) for row in rows]
        b = list(right)
        for k, (a, offset) in enumerate(cost):
            for sign in (1.0, -1.0):
                A.append(np.concatenate([sign * a, -np.eye(T)[k]]))
                b.append(-sign * offset)
        bounds = [(-0.3, problem.u_max[0]), (0.0, 100.0)] * T + [(0.0, None)] * T
        E = np.hstack([np.array(equal), np.zeros((T, T))])
        found = linprog(np.concatenate([np.zeros(n), np.ones(T)]), np.array(A), b, E, equal_right, bounds)
        best = min(best, found.fun if found.status == 0 else np.inf)
    return best


@pytest.mark.parametrize("u_max", [0.0, -0.08])
def test_optimum_is_that_of_all_modes_one_by_one(u_max: float, named_system: Callable) -> None:
    lcs, problem = system_of(named_system), problem_of(3, u_max)
    found = solve_mixed_integer(lcs, problem)
    assert found.is_optimal and not found.is_cut
    assert found.cost == pytest.approx(best_by_enumeration(lcs, problem), abs=1e-8)
    assert np.abs(found.lam * found.eta).max() < 1e-7 and found.eta.min() > -1e-7
    assert np.array_equal(found.closed, found.lam > 1e-9)


def test_first_step_of_the_plan_is_that_of_the_contact_model(named_system: Callable) -> None:
    """On a rail gaps are linear in q, so that the program is the model itself, step by step."""
    system = named_system("pusher_1d")
    found = solve_mixed_integer(system_of(named_system), problem_of(3, 0.0))
    dynamics, q = ContactDynamics(system, "qp"), Q
    for u, x in zip(found.u, found.x, strict=True):
        q = dynamics.step(q, u).q_next
        np.testing.assert_allclose(q - Q, x, atol=1e-7)
    assert q[0] == pytest.approx(WANTED_M, abs=1e-6)


def test_limits_that_leave_nothing_are_refused(named_system: Callable) -> None:
    problem = problem_of(2, 1.0)
    with pytest.raises(InputError, match="no plan within u_min..u_max, lam_max 1e-06 N"):
        solve_mixed_integer(
            system_of(named_system),
            MixedIntegerProblem(problem.error, problem.weight, np.array([0.5]), problem.u_max, 1e-6, 1.0),
        )
