"""Plans satisfy the paper's equations to 1e-8, judged by pinocchio, and keep the balance of momentum and energy."""

import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.result import ContactImplicitResult

TOLERANCE = 1e-8  # of complementarity and dynamics after the polish
ROUND_OFF = 1e-9


def test_plan_satisfies_dynamics_complementarity_and_limits(result: ContactImplicitResult) -> None:
    assert result.residuals is not None
    assert result.residuals.dynamics <= TOLERANCE
    assert result.residuals.complementarity <= TOLERANCE
    assert result.residuals.inequality == pytest.approx(0.0, abs=ROUND_OFF)
    assert result.residuals.goal <= TOLERANCE


def test_impulse_on_the_block_is_its_momentum_and_what_friction_took(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    model, u = planner.model, result.solution.u
    pushed, rubbed = model.dt_s * u[:, model.n_r].sum(), model.dt_s * u[:, model.n_r + 1].sum()
    assert pushed == pytest.approx(rubbed, rel=ROUND_OFF)  # it starts and ends at rest
    d = direction(model, instance.heading_rad)
    speed = result.solution.x[:, 2 * model.n_r + model.n_o :] @ d
    energy = 0.5 * model.thing.inertia[0] * speed.max() ** 2
    # friction works over 0.6 m; semi-implicit Euler counts half a step of it more
    assert energy == pytest.approx(model.thing.breakaway_n * 0.6, rel=0.06)
