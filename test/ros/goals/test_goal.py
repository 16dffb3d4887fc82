"""When two goals are the same."""

import numpy as np

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.ros.goals.goal import ObjectGoal, is_same


def goal(degrees: float = 0.0, way_m: float = 0.0) -> ObjectGoal:
    return ObjectGoal(1, rotation_exp(np.array([np.deg2rad(degrees), 0.0, 0.0])), np.array([way_m, 0.0, 0.0]))


def test_what_a_float32_leaves_makes_no_other_goal() -> None:
    assert is_same(goal(), goal(0.01, 1e-5))


def test_a_turn_or_a_way_makes_another_goal() -> None:
    assert not is_same(goal(), goal(degrees=0.5)) and not is_same(goal(), goal(way_m=1e-3))
