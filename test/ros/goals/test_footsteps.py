"""Where references led since the start: a way to and fro leaves nothing, and what is not known is not made up."""

import numpy as np
import pytest

from contact_mpc.ros.goals.footsteps import NEAR_RAD, Footsteps
from contact_mpc.ros.goals.running import Running
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

TASK = load_task("planar_hand_ball")
SYSTEM = TASK.system
S = 1_000_000_000


def straight(first: float, last: float) -> Plan:
    """A plan of 2 s whose commands go from start + first to start + last, rad, with the object at rest."""
    q = np.array([TASK.start_q, TASK.start_q])
    u = TASK.start_u + np.array([np.full(SYSTEM.n_a, first), np.full(SYSTEM.n_a, last)])
    return Plan(np.array([0.0, 2.0]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)))


@pytest.fixture
def steps() -> Footsteps:
    steps = Footsteps(TASK)
    steps.begin(TASK.start_q)
    return steps


def offsets(steps: Footsteps, running: Running, until_s: float | None = None) -> np.ndarray:
    trail = steps.trail(running, until_s)
    assert trail is not None and len(trail.q) == len(trail.u)
    return (trail.u - TASK.start_u)[:, 0]


def test_a_trail_begins_at_the_start_and_nowhere_else() -> None:
    steps, running = Footsteps(TASK), Running(SYSTEM)
    elsewhere = TASK.start_q.copy()
    elsewhere[SYSTEM.n_q_u :] += 0.1
    steps.begin(elsewhere)
    running.follow(straight(0.0, 0.2), 0)
    steps.follow(running, S)
    assert steps.trail(running) is None
    steps.begin(TASK.start_q)
    assert len(offsets(steps, running)) == 1


def test_what_was_followed_is_the_trail_until_now_and_until_a_switch(steps: Footsteps) -> None:
    running = Running(SYSTEM)
    running.follow(straight(0.0, 0.2), 0)
    steps.follow(running, S)
    assert offsets(steps, running)[-1] == pytest.approx(0.1, abs=NEAR_RAD)
    assert offsets(steps, running, 1.5)[-1] == pytest.approx(0.15, abs=NEAR_RAD)
    assert offsets(steps, running)[-1] == pytest.approx(0.1, abs=NEAR_RAD)  # a look ahead is no step
    steps.follow(running, 5 * S)
    assert offsets(steps, running)[-1] == pytest.approx(0.2, abs=NEAR_RAD)
    assert np.all(np.diff(offsets(steps, running)) >= NEAR_RAD - 1e-9)


def test_a_way_to_and_fro_leaves_nothing(steps: Footsteps) -> None:
    running = Running(SYSTEM)
    running.follow(straight(0.0, 0.2), 0)
    steps.follow(running, 3 * S)
    running.follow(straight(0.2, 0.0), 3 * S)
    steps.follow(running, 6 * S)
    assert offsets(steps, running).tolist() == [0.0]


def test_a_trail_that_was_forgotten_begins_again_at_the_start(steps: Footsteps) -> None:
    running = Running(SYSTEM)
    running.follow(straight(0.0, 0.2), 0)
    steps.follow(running, 2 * S)
    steps.forget()
    steps.follow(running, 3 * S)
    assert steps.trail(running) is None
    steps.begin(TASK.start_q)
    assert offsets(steps, running).tolist() == [0.0]
