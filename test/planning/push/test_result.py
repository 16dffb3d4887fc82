"""What a solve comes to: a solution, or a status that says why there is none."""

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.result import NOT_CONVERGED, SOLVED, ContactImplicitResult
from contact_mpc.task.task import TaskConfig

TOLERANCE = 1e-8  # of complementarity and dynamics after the polish


def test_solver_that_stops_early_gives_a_status_with_residuals_and_no_plan(
    task: TaskConfig, instance: Instance
) -> None:
    hurried = ContactImplicitPlanner(
        task.system, ContactImplicitPlanner(task.system).model.settings.model_copy(update={"iterations": 2})
    )
    outcome = hurried.plan(instance)
    assert outcome.status == NOT_CONVERGED and outcome.solution is None
    assert outcome.residuals is not None and outcome.residuals.largest > TOLERANCE
    assert "no start converged" in outcome.message and f"at stage {outcome.residuals.stage}" in outcome.message
    assert 0 <= outcome.residuals.stage < hurried.program.steps


def test_a_solved_push_says_so_and_has_the_least_of_its_costs(result: ContactImplicitResult) -> None:
    assert result.is_solved and result.status == SOLVED and result.solution is not None
    assert result.solution.cost == min(result.costs) and result.iterations > 0
