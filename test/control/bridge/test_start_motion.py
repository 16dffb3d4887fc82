"""The slow way to the start: within the stated share of the limits, ended by stop, and refused with reasons."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.control.bridge.bridge import BridgeConfig, BridgeCore, BridgeMode, Cause
from contact_mpc.errors import InputError
from contact_mpc.task.loop_records import CommandPlan

MS = 1_000_000
SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
Q = 0.5 * (SYSTEM.q_min + SYSTEM.q_max)
GOAL = Q + np.linspace(0.15, 0.4, N)
ZERO = np.zeros(N)
FRACTION = 0.2
CONFIG = BridgeConfig(command_interface="position", gravity_compensation="robot", start_motion_fraction=FRACTION)


def make_core() -> BridgeCore:
    core = BridgeCore(SYSTEM, CONFIG, lockstep=True)
    core.activate()
    core.step(MS, Q, ZERO)
    assert core.safety.mode is BridgeMode.HOLD
    return core


def run(core: BridgeCore, first_ms: int, steps: int) -> np.ndarray:
    """Answer states of a robot that follows at once; returns the commands."""
    rows, q = [], Q
    for k in range(steps):
        command = core.step((first_ms + k) * MS, q, ZERO)
        assert command is not None
        q = command.data.copy()
        rows.append(q)
    return np.array(rows)


def test_the_motion_ends_at_the_start_and_holds_there_within_the_stated_share_of_the_limits() -> None:
    core = make_core()
    assert "collisions not checked" in core.go_to(GOAL)
    rows = run(core, 2, 5000)
    assert core.safety.cause is Cause.NO_PLAN
    np.testing.assert_allclose(rows[-1], GOAL, atol=1e-6)
    speed = np.abs(np.diff(rows, axis=0)) / 1e-3
    share = (speed / core.guard.limits.v_max).max()
    assert 0.5 * FRACTION < share < 1.01 * FRACTION  # the furthest joint uses the share, none exceeds it


def test_while_it_moves_it_says_so_and_follows_no_plan() -> None:
    core = make_core()
    core.go_to(GOAL)
    two, times = np.zeros((2, N)), np.array([0.0, 1.0])
    core.update_plan(CommandPlan(0, times, np.stack([Q, Q]), two, two))
    run(core, 2, 100)
    assert core.safety.cause is Cause.GOING_TO_START


def test_a_stop_ends_it() -> None:
    core = make_core()
    core.go_to(GOAL)
    run(core, 2, 50)
    core.stop()
    before = core.guard.u.copy()
    rows = run(core, 52, 300)
    assert core.safety.cause is Cause.STOPPED
    assert np.abs(rows[-1] - before).max() < 0.02
    core.reset()
    np.testing.assert_array_less(np.abs(run(core, 352, 300)[-1] - rows[-1]), 0.02)


@pytest.mark.parametrize(("goal", "words"), [(SYSTEM.q_max + 0.1, "outside of"), (np.full(N, np.nan), "outside of")])
def test_a_start_out_of_the_limits_is_refused(goal: np.ndarray, words: str) -> None:
    core = make_core()
    with pytest.raises(InputError, match=words):
        core.go_to(goal)


def test_it_begins_only_from_a_hold() -> None:
    core = make_core()
    core.stop()
    with pytest.raises(InputError, match="STOPPED"):
        core.go_to(GOAL)


def test_a_plan_from_another_posture_names_the_joint_and_its_distance() -> None:
    core = make_core()
    two, times = np.zeros((2, N)), np.array([0.0, 5.0])
    far = Q.copy()
    far[1] += 0.7
    core.update_plan(CommandPlan(0, times, np.stack([far, far]), two, two))
    run(core, 2, 60)
    assert core.safety.cause is Cause.PLAN_FAR
    assert f"{SYSTEM.joint_names[1]} by 0.700 rad (allowed: 0.2)" in core.safety.describe()
    assert "go_to_start" in core.safety.describe()
