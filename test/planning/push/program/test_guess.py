"""The first guess: from the start to a hit at the given step, after which the object coasts to its goal."""

import numpy as np
import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.guess import guess
from contact_mpc.planning.push.program.instance import Instance, direction

TOUCHES_M = 5e-3  # the posture is resolved in a few steps


@pytest.mark.parametrize("contact_step", [8, 14])
def test_it_starts_at_the_state_touches_when_told_and_ends_at_the_goal(
    planner: ContactImplicitPlanner, instance: Instance, contact_step: int
) -> None:
    model, n, o = planner.model, planner.model.n_r, planner.model.n_o
    x, u = planner.program.unpack(guess(model, planner.program, planner.geometry, instance, contact_step))
    np.testing.assert_array_equal(x[0], instance.x_0)
    gaps = [planner.geometry.gap(row[:n], row[n : n + o], instance.heading_rad)[0] for row in x]
    assert abs(gaps[contact_step]) < TOUCHES_M < min(gaps[: contact_step - 1])
    d = direction(model, instance.heading_rad)
    assert float(d @ x[-1, n : n + o]) == pytest.approx(instance.goal, abs=1e-9)
    assert int(np.argmax(u[:, n])) == contact_step and np.all(u[:, n] >= model.settings.small_force_n)
