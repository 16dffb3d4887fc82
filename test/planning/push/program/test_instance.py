"""One problem to solve: parameters by name, direction and start as numbers."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.program.stage import SHARED


def test_parameters_stand_where_the_program_looks_for_them(planner: ContactImplicitPlanner, instance: Instance) -> None:
    found = dict(zip(SHARED, replace(instance, goal_weight=3.0).parameters(planner.model), strict=True))
    assert found["goal"] == instance.goal and found["goal_weight"] == 3.0
    assert found["heading_rad"] == instance.heading_rad and found["dt_s"] == planner.model.dt_s
    assert found["breakaway_n"] == planner.model.thing.breakaway_n > 0.0


def test_start_is_the_way_along_the_heading(planner: ContactImplicitPlanner, instance: Instance) -> None:
    model, heading = planner.model, 0.6
    d = direction(model, heading)
    np.testing.assert_allclose(d, [np.cos(heading), np.sin(heading), 0.0])
    moved = instance.x_0.copy()
    moved[model.n_r : model.n_r + model.n_o] += 0.25 * d
    before, after = (replace(instance, x_0=x_0, heading_rad=heading).start(model) for x_0 in (instance.x_0, moved))
    assert after - before == pytest.approx(0.25)


def test_posture_of_a_hit_is_the_start_where_none_is_given(planner: ContactImplicitPlanner, instance: Instance) -> None:
    n = planner.model.n_r
    assert np.array_equal(instance.hit_posture(planner.model), instance.x_0[:n])
    assert np.array_equal(replace(instance, posture=np.ones(n)).hit_posture(planner.model), np.ones(n))
