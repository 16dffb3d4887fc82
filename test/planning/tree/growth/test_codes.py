"""Parts of an iteration are called by addresses of this process, and of no other."""

import pytest

from contact_mpc.planning.tree.growth.arrays import NO_GROWTH_CODES
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import load_problem


@pytest.fixture(scope="module")
def planner() -> TreePlanner:
    return TreePlanner(load_problem("planar_hand_ball"))


def test_each_part_has_an_address_of_its_own(planner: TreePlanner) -> None:
    assert 0 not in planner.growth.codes and len(set(planner.growth.codes)) == len(planner.growth.codes)


def test_growth_without_addresses_is_an_error_of_python(planner: TreePlanner) -> None:
    lost = TreePlanner(planner.problem)
    lost.growth = planner.growth._replace(codes=NO_GROWTH_CODES)
    with pytest.raises(RuntimeError, match="no code at this address"):
        lost.grow(seed=3, nodes=20, stop_at_goal=False)
