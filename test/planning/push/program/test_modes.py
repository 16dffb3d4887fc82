"""How the object slides under given forces, against the sums that they are, and the scale that stops it at the goal."""

import numpy as np
import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.modes import force_to_goal, slide, sliding_steps

ROUND_OFF = 1e-9
TO_GOAL_M = 0.01  # the object stops within a step, whose travel no scale divides


def hit(planner: ContactImplicitPlanner, force_n: float, step: int = 3) -> np.ndarray:
    force = np.zeros(planner.program.steps)
    force[step] = force_n
    return force


def test_an_object_that_nothing_pushes_stays(planner: ContactImplicitPlanner, instance: Instance) -> None:
    assert not np.any(slide(planner.model, instance, hit(planner, 0.0)))


def test_a_hit_gives_its_impulse_and_friction_takes_it_away_step_by_step(
    planner: ContactImplicitPlanner, instance: Instance
) -> None:
    model, force_n = planner.model, 1000.0
    gain, friction = model.dt_s / float(model.thing.inertia[0]), model.thing.breakaway_n
    speeds = slide(model, instance, hit(planner, force_n))
    assert np.all(speeds[:3] == 0.0) and speeds[3] == pytest.approx(gain * (force_n - friction), rel=ROUND_OFF)
    moving = speeds[3:][speeds[3:] > 0.0]
    np.testing.assert_allclose(np.diff(moving), -gain * friction, atol=ROUND_OFF)


def test_scaled_forces_stop_the_object_at_the_goal(planner: ContactImplicitPlanner, instance: Instance) -> None:
    model, force = planner.model, hit(planner, 50.0)
    scaled = force_to_goal(model, instance, force)
    travel = model.dt_s * float(slide(model, instance, scaled).sum())
    assert travel == pytest.approx(instance.goal - instance.start(model), abs=TO_GOAL_M)
    sliding = sliding_steps(model, instance, force)
    first, last = np.flatnonzero(sliding)[[0, -1]]
    assert first == 3 and np.all(sliding[first : last + 1]) and last < len(sliding) - 1
