"""Random goals: what is drawn, what is counted, and which processes are left behind."""

import subprocess
import sys
import time

import numpy as np
import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

from contact_mpc.ros.faults.wire_monitor import WireLimits, WireMonitor
from contact_mpc.ros.measure.goal_bench import GoalRow, descendants, draw_goals, is_running, summarise


def test_goals_turn_by_the_angle_asked_about_any_axis_and_some_are_interrupted() -> None:
    goals = draw_goals(400, 3, 30.0, None)
    angles = np.rad2deg(np.arccos([0.5 * (np.trace(item.turn) - 1.0) for item in goals]))
    np.testing.assert_allclose(angles, 30.0, atol=1e-6)
    counts = {action: sum(item.action == action for item in goals) for action in ("wait", "replace", "cancel")}
    assert 250 < counts["wait"] < 350 and 30 < counts["replace"] < 95 and 15 < counts["cancel"] < 70
    assert all(np.array_equal(a.turn, b.turn) for a, b in zip(goals, draw_goals(10, 3, 30.0, None), strict=False))


def test_goals_of_a_plane_turn_about_its_axis_alone() -> None:
    axes = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    for item in draw_goals(20, 0, 20.0, axes):
        assert abs(item.turn[2, 2] - 1.0) < 1e-12


def test_any_orientation_is_a_rotation_of_any_angle() -> None:
    turns = [item.turn for item in draw_goals(200, 1, None, None)]
    assert all(np.allclose(R @ R.T, np.eye(3)) and np.linalg.det(R) > 0.0 for R in turns)
    assert np.std([np.trace(R) for R in turns]) > 0.5


def make_monitor() -> WireMonitor:
    one = np.ones(1)
    return WireMonitor(WireLimits(-one, one, one, one, one), "effort")


def test_goals_that_were_interrupted_do_not_count_among_those_waited_for() -> None:
    rows = [GoalRow(end, 2.0, 30.0, 1.0, 1.0, "why") for end in ("reached", "cancelled", "replaced", "refused", "hang")]
    found = summarise(rows, make_monitor(), [], "")
    assert found["reached_share"] == pytest.approx(1 / 3)
    assert (found["goals"], found["hang"], found["drops"], found["violations"]) == (5, 1, 0, 0)
    assert found["reasons"] == {"why": 2}


def test_a_dropped_object_and_a_violation_are_counted() -> None:
    monitor = make_monitor()
    monitor.add_command(0, np.array([2.0]), 0)
    found = summarise([], monitor, [7], "dropped: the object is 80 mm from where it was held")
    assert (found["drops"], found["violations"], found["orphans"]) == (1, 1, 1)


def test_children_of_a_process_are_found_and_known_to_have_ended() -> None:
    child = "import time; time.sleep(3600)"
    code = (
        f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None and parent.stdin is not None
        grandchild = int(parent.stdout.readline())
        assert descendants(parent.pid) == [parent.pid, grandchild]
        parent.stdin.write("\n")
        parent.stdin.flush()
        parent.wait()
        assert not is_running(parent.pid) and is_running(grandchild)
        subprocess.run(["kill", str(grandchild)], check=True)
        deadline = time.monotonic() + HANG_S
        while is_running(grandchild):
            assert time.monotonic() < deadline
            time.sleep(0.02)
