"""Parts that were corrected: slowed to the joints' speed limits, and from the plan that a task names."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contact_mpc.errors import ConfigError
from contact_mpc.loop.parts.corrected_parts import slowed
from contact_mpc.task.plan import Plan


def plan_of(u: np.ndarray) -> Plan:
    return Plan(0.1 * np.arange(len(u)), np.zeros((len(u), 3)), u, np.zeros_like(u), np.zeros((len(u), 0, 3)))


@given(arrays(float, (5, 2), elements=st.floats(-3.0, 3.0)))
def test_a_slowed_plan_keeps_its_commands_and_the_limits(u: np.ndarray) -> None:
    v_max = np.array([1.0, 0.5])
    plan = plan_of(u)
    found = slowed(plan, v_max)
    speed = np.abs(np.diff(found.u, axis=0)) / np.diff(found.times_s)[:, None]
    assert np.all(speed <= v_max * (1.0 + 1e-9)) and np.array_equal(found.u, u)
    assert found.times_s[-1] >= plan.times_s[-1]


def test_a_plan_within_the_limits_stays_as_it_is() -> None:
    plan = plan_of(np.array([[0.0, 0.0], [0.05, -0.04]]))
    assert slowed(plan, np.array([1.0, 0.5])) is plan


def test_a_task_without_a_trees_plan_is_refused_with_what_makes_one(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    from contact_mpc.loop.parts.corrected_parts import load_parts

    with pytest.raises(ConfigError, match="run --method rrt"):
        load_parts("planar_hand_ball_180")
