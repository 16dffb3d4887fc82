"""Trajectory optimisation from a trivial start: the short turns end at their goals in the unsmoothed model, too."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.optimisation.trajectory import optimise_commands, tracking_cost
from contact_mpc.planning.tree.direct import DirectProblem
from contact_mpc.planning.tree.problem import load_problem

ENDS_DEG, ENDS_MM = 3.0, 3.0
TURN_DEG = 30.0


def cost(problem: DirectProblem) -> float:
    hz = optimise_commands(problem.system, problem.model, problem.tracking, problem.config).horizon
    return tracking_cost(problem.config.weights(problem.system), problem.tracking, hz.error, hz.u, hz.q[1:])


@pytest.fixture(scope="module")
def turn() -> DirectProblem:
    return DirectProblem(load_problem("planar_hand_ball"), seed=100)


def test_a_short_turn_ends_at_its_goal_without_smoothing(turn: DirectProblem) -> None:
    found = turn.solve()
    assert found.replayed_angle_deg <= ENDS_DEG and found.replayed_position_mm <= ENDS_MM
    assert turn.problem.errors(found.q[0])[0] > TURN_DEG - 0.1
    assert len(found.costs) <= 20


def test_the_start_is_the_contact_sample_of_least_cost(turn: DirectProblem) -> None:
    case = turn.problem.file.trajopt
    assert case is not None
    only = turn.problem.file.model_copy(update={"trajopt": case.model_copy(update={"starts": 1})})
    first = DirectProblem(replace(turn.problem, file=only), seed=100)
    assert cost(turn) <= cost(first)
    assert not np.array_equal(turn.tracking.q_start, first.tracking.q_start)


def test_a_problem_with_a_start_begins_there() -> None:
    problem = load_problem("planar_pushing")
    push = DirectProblem(problem, seed=100)
    assert problem.start_a is not None
    assert np.array_equal(push.tracking.q_start, problem.configuration(problem.start_u, problem.start_a))


def test_a_problem_without_a_short_motion_is_refused() -> None:
    with pytest.raises(ConfigError, match="no section trajopt"):
        DirectProblem(load_problem("allegro_door"))
