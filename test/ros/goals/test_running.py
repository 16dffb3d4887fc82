"""What is followed goes over into something else without a jump."""

import numpy as np
import pytest

from contact_mpc.ros.goals.running import STOP_S, Running
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

TASK = load_task("planar_hand_ball")
SYSTEM = TASK.system
S = 1_000_000_000


def straight(first: float, last: float, duration_s: float = 2.0) -> Plan:
    """A plan whose commands go from first to last, rad, with the object at rest."""
    q = np.array([TASK.start_q, TASK.start_q])
    u = np.array([np.full(SYSTEM.n_a, first), np.full(SYSTEM.n_a, last)])
    return Plan(np.array([0.0, duration_s]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)))


def commands(running: Running, t_ns: int) -> np.ndarray:
    return running.sample(running.time_s(t_ns))[1]


def test_without_a_plan_there_is_nothing_to_wait_for() -> None:
    running = Running(SYSTEM)
    assert running.is_over(S) and running.stop(S) is None and running.end_s == 0.0
    running.follow(straight(0.0, 0.2), S)
    assert not running.is_over(2 * S) and running.is_over(3 * S) and not running.is_over(3 * S, by_s=0.5)
    running.forget()
    assert running.is_over(2 * S)


def test_a_reference_that_stood_still_is_as_far_as_it_has_moved() -> None:
    """Stop and switch begin where the tracker is, not where it would be had the bridge not held."""
    running = Running(SYSTEM)
    running.follow(straight(0.0, 0.2), S)
    running.wait(S, S // 2)
    assert running.time_s(2 * S) == pytest.approx(0.5) and not running.is_over(3 * S)
    expected = commands(running, 2 * S)
    handed = running.stop(2 * S)
    assert handed is not None and handed.plan is not None
    assert handed.start_ns == pytest.approx(2 * S, abs=1) and np.allclose(handed.plan.u[0], expected)
    assert running.time_s(2 * S) == pytest.approx(0.0, abs=1e-8), "the new reference has not waited"
    running.wait(S, S)
    assert running.time_s(2 * S) == pytest.approx(0.0, abs=1e-8), "a status of the one before changes nothing"


def test_a_switch_keeps_the_commands_until_then_and_has_a_stamp_of_its_own() -> None:
    running = Running(SYSTEM)
    before = running.follow(straight(0.0, 0.2), S)
    now = S + S // 2
    expected = commands(running, now + S // 4)
    handed = running.switch(now, 1.0, straight(0.1, -0.1))
    assert handed.start_ns != before.start_ns
    assert commands(running, now + S // 4) == pytest.approx(expected, abs=1e-6)
    assert commands(running, 2 * S) == pytest.approx(np.full(SYSTEM.n_a, 0.1), abs=1e-6)
    assert commands(running, 4 * S) == pytest.approx(np.full(SYSTEM.n_a, -0.1), abs=1e-6)


def test_a_stop_rests_half_of_its_time_further_along_the_plan() -> None:
    running = Running(SYSTEM)
    running.follow(straight(0.0, 0.2), S)
    assert running.stop(S + S // 2) is not None
    rest = 0.1 * (0.5 + 0.5 * STOP_S)  # 0.1 rad/s
    assert commands(running, 3 * S) == pytest.approx(np.full(SYSTEM.n_a, rest), abs=1e-4)
