"""Joints that lack torque: what is reported, when, and what is not."""

import numpy as np
import pytest

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.drive_watch import DriveWatch
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.task.task import TaskConfig

FILTER_S = 0.3
TICK_NS, SHARE = 50_000_000, 0.2


def reported(task: TaskConfig, scale: np.ndarray, ticks: int = 40, share: float = SHARE) -> list[list[str]]:
    """Hold the start with drives that give `scale` (n_a,) of the springs' torque."""
    system = task.system
    q_a, weight = task.start_q[system.n_q_u :], np.zeros(system.n_a)
    GravityTorque(system).compute(q_a, weight)
    u = q_a + 0.5 * system.tau_max_nm / system.kp
    tau = scale * (u - q_a) * system.kp + weight
    watch = DriveWatch(system, share, FILTER_S)
    return [watch.update(k * TICK_NS, q_a, u, tau) for k in range(ticks)]


def test_drives_that_give_what_is_asked_are_not_reported(each_task: TaskConfig) -> None:
    assert not any(reported(each_task, np.ones(each_task.system.n_a)))


@pytest.mark.parametrize("given", [0.0, 0.3, 1.7])
def test_joint_that_gives_another_torque_is_named_after_the_filter_settles(given: float, each_task: TaskConfig) -> None:
    system, scale = each_task.system, np.ones(each_task.system.n_a)
    scale[1] = given
    found = reported(each_task, scale)
    assert found[0] == [] and found[-1] == [system.joint_names[1]]
    first = next(k for k, names in enumerate(found) if names)
    expected = -FILTER_S * np.log(1.0 - SHARE / (0.5 * abs(1.0 - given)))  # of a first-order lag
    assert abs(1e-9 * TICK_NS * first - expected) <= 1e-9 * TICK_NS


def test_shortfall_within_the_share_is_not_reported(each_task: TaskConfig) -> None:
    assert not any(reported(each_task, np.full(each_task.system.n_a, 0.7)))


def test_nothing_is_said_without_torques_or_when_switched_off(each_task: TaskConfig) -> None:
    none = np.zeros(each_task.system.n_a)
    assert not any(reported(each_task, none, share=0.0))
    assert not any(reported(each_task, np.full_like(none, np.nan)))


def test_tracker_reports_by_default() -> None:
    assert TrackerConfig().torque_shortfall == SHARE
