"""The size of the program is the paper's, counted as the paper does."""

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.bounds import BoundsBuilder
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.model import build_model
from contact_mpc.planning.push.program.program import Program
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.planning.push.program.size import PAPER, count_size
from contact_mpc.planning.push.program.stage import build_stage
from contact_mpc.task.task import TaskConfig


def test_program_with_the_friction_as_printed_has_the_equalities_of_the_paper(
    task: TaskConfig, planner: ContactImplicitPlanner, instance: Instance
) -> None:
    model = build_model(task.system, ContactImplicitSettings(friction_form="printed"))
    program = Program(build_stage(model), model.settings.stages)
    size = count_size(program, BoundsBuilder(model, program).search(instance, 1e-2, 10))
    assert size.equalities == PAPER["equalities"]
    # the paper counts 7 inputs of the last stage that act on nothing, and fixes x, y, theta where we fix the travel
    assert size.variables == PAPER["variables"] - 7 + 2
    smaller = count_size(planner.program, planner.search_bounds(instance, 1e-2, 10))
    assert smaller.equalities == PAPER["equalities"] - planner.program.steps
