"""A solver heeds its options in every solve."""

import numpy as np

from contact_mpc.planning.push import solver as solver_module
from contact_mpc.planning.push.planner import POLISH, SEARCH, ContactImplicitPlanner
from contact_mpc.planning.push.program.bounds import BoundsBuilder, Modes
from contact_mpc.planning.push.program.guess import guess
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.modes import sliding_steps
from contact_mpc.planning.push.solver import StagedSolver


def test_options_are_heeded_after_other_bounds_and_after_a_new_solver(
    planner: ContactImplicitPlanner, instance: Instance
) -> None:
    model, program, step = planner.model, planner.program, planner.contact_steps()[0]
    z, parameters = guess(model, program, planner.geometry, instance, step), instance.parameters(model)
    contact = np.arange(program.steps) == step
    modes = Modes(contact, sliding_steps(model, instance, contact.astype(np.float64)))
    other = BoundsBuilder(model, program).polish(
        instance, modes
    )  # another pattern: casadi builds fatrop's problem anew
    bounds = planner.search_bounds(instance, 1e-2, step)
    solver = StagedSolver(program, planner.library.problem, model.settings.iterations)
    first, count = solver.solve(SEARCH, z, parameters, bounds)
    for _ in range(2):
        solver.solve(SEARCH, z, parameters, other)
        again, again_count = solver.solve(SEARCH, z, parameters, bounds)
        assert again_count == count and np.array_equal(again, first)
    assert solver.solve(POLISH, z, parameters, other)[1] <= model.settings.iterations


def test_memories_of_a_solver_are_few(planner: ContactImplicitPlanner, instance: Instance) -> None:
    program, step = planner.program, planner.contact_steps()[0]
    z = guess(planner.model, program, planner.geometry, instance, step)
    bounds = planner.search_bounds(instance, 1e-2, step)
    solver = StagedSolver(program, planner.library.problem, iterations=1)
    kept = []
    for _ in range(2 * solver_module.MOST_MEMORIES + 1):
        solver.solve({}, z, instance.parameters(planner.model), bounds)
        kept.append(solver.memories)
    assert max(kept) <= solver_module.MOST_MEMORIES and kept[-1] == 1
