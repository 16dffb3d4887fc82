"""A task's push as an instance: another direction turns block and start alike."""

import numpy as np
import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.task import build_instance
from contact_mpc.task.task import TaskConfig


def test_direction_turns_block_and_start_alike(task: TaskConfig, planner: ContactImplicitPlanner) -> None:
    turned = build_instance(task, planner, 0.4, -60.0)
    assert turned.x_0[7] == pytest.approx(np.deg2rad(-60.0))
    gap, _ = planner.geometry.gap(turned.x_0[:5], turned.x_0[5:8], turned.heading_rad)
    straight = build_instance(task, planner, 0.4, None)
    expected, _ = planner.geometry.gap(straight.x_0[:5], straight.x_0[5:8], straight.heading_rad)
    assert gap == pytest.approx(expected, abs=1e-3)
