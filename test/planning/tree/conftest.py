"""One tree and one plan of the planar hand for all tests: grown once in each process."""

import pytest

from contact_mpc.planning.tree.plan import GlobalPlan, plan_globally
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal

NODES = 150
TURN_RAD = 1.2  # more than one grasp turns the disc


@pytest.fixture(scope="session")
def problem() -> Problem:
    return load_problem("planar_hand_ball")


@pytest.fixture(scope="session")
def planner(problem: Problem) -> TreePlanner:
    return TreePlanner(problem)


@pytest.fixture(scope="session")
def grown(planner: TreePlanner) -> GrownTree:
    """Return a tree that goes on growing at its goal, seed 3."""
    return planner.grow(seed=3, nodes=NODES, stop_at_goal=False)


@pytest.fixture(scope="session")
def turning(problem: Problem) -> TreePlanner:
    return TreePlanner(with_goal(problem, {"disc_turn_rad": TURN_RAD}))


@pytest.fixture(scope="session")
def found(turning: TreePlanner) -> GlobalPlan:
    return plan_globally(turning, seed=1)
