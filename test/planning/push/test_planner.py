"""Plans satisfy the paper's equations to 1e-8, judged by pinocchio, and keep the balance of momentum and energy."""

import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.result import ContactImplicitResult
from contact_mpc.planning.push.task import build_instance, read_settings
from contact_mpc.task.task import TaskConfig, load_task

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


@pytest.mark.parametrize("starts", ["one_hit", "relaxed"])
def test_both_kinds_of_starts_solve_the_same_equations(task: TaskConfig, instance: Instance, starts: str) -> None:
    planner = ContactImplicitPlanner(task.system, read_settings(task, {"starts": starts}))
    found = planner.plan(instance)
    assert found.residuals is not None and found.residuals.largest <= TOLERANCE
    assert len(found.costs) == len(planner.contact_steps())


def test_where_one_hit_has_no_solution_the_relaxed_program_names_the_modes() -> None:
    ball = load_task("anypulator_ball")
    planner = ContactImplicitPlanner(ball.system, read_settings(ball))
    relaxed = ContactImplicitPlanner(ball.system, read_settings(ball, {"starts": "relaxed"}))
    push = build_instance(ball, planner, 0.4, None)
    found, searched = planner.plan(push), relaxed.plan(push)
    assert found.solution is not None and searched.solution is not None
    assert found.solution.cost <= searched.solution.cost * (1.0 + ROUND_OFF)
