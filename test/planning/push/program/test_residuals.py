"""Residuals, judged by pinocchio: tiny for a plan, and each grows with the error that it stands for."""

from dataclasses import replace

import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.residuals import ResidualChecker
from contact_mpc.planning.push.result import ContactImplicitResult

TOLERANCE = 1e-8  # of complementarity and dynamics after the polish
ROUND_OFF = 1e-9


def test_each_residual_tells_its_own_error_and_where_it_is(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    checker, model, solution = ResidualChecker(planner.model), planner.model, result.solution
    k, off = 7, 0.01
    tau = solution.tau.copy()
    tau[k, 0] += off
    wrong = checker.evaluate(instance, solution.x, solution.u, tau)
    assert wrong.dynamics > 1e3 * TOLERANCE and wrong.stage == k and wrong.goal <= TOLERANCE
    u = solution.u.copy()
    u[k, model.n_r] = off  # a force across the gap
    assert checker.evaluate(instance, solution.x, u, solution.tau).complementarity > 1e3 * TOLERANCE
    further = replace(instance, goal=instance.goal + off)
    assert checker.evaluate(further, solution.x, solution.u, solution.tau).goal == pytest.approx(off, abs=TOLERANCE)
    tau = solution.tau.copy()
    tau[k, 0] = 1.1 * model.system.tau_max_nm[0]
    assert checker.evaluate(instance, solution.x, solution.u, tau).inequality >= 0.1 - ROUND_OFF
