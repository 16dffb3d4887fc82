"""The way to a goal: its error, its progress, and when the object has arrived."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.ros.goals.goal import ObjectGoal
from contact_mpc.ros.goals.way import Way
from contact_mpc.task.task import load_task

TASK = replace(load_task("planar_hand_ball"), tolerance_deg=3.0, tolerance_mm=5.0)
SYSTEM = TASK.system
SETTLE_NS = 300


def at(degrees: float, y_m: float = 0.0, z_m: float = 0.0) -> np.ndarray:
    R, p = SYSTEM.object_pose(TASK.start_q)
    R, p = rotation_exp(TASK.goal.axis_W * np.deg2rad(degrees)) @ R, p + np.array([0.0, y_m, z_m])
    q = TASK.start_q.copy()
    q[: SYSTEM.n_q_u] = SYSTEM.q_from_object_pose(R, p, q)
    return q


@pytest.fixture
def way() -> Way:
    way = Way(TASK, SETTLE_NS)
    way.set_off(ObjectGoal(1, *SYSTEM.object_pose(at(20.0))), at(0.0))
    return way


def test_progress_is_the_share_of_the_way_that_is_done(way: Way) -> None:
    way.measure(1, at(15.0))
    assert way.angle_deg == pytest.approx(5.0) and way.progress == pytest.approx(0.75) and not way.is_within
    way.measure(2, at(-10.0))
    assert way.progress == 0.0


def test_the_object_has_arrived_once_it_stays(way: Way) -> None:
    way.measure(1000, at(18.0))
    way.measure(1200, at(19.0))
    assert way.is_within and not way.has_arrived(1200)
    way.measure(1300, at(19.0))
    assert way.has_arrived(1300)


@pytest.mark.parametrize("how", ["leaves", "is not seen"])
def test_the_time_begins_anew_where_the_object(way: Way, how: str) -> None:
    way.measure(1000, at(19.0))
    if how == "leaves":
        way.measure(1100, at(10.0))
    else:
        way.lose_sight()
    way.measure(1200, at(19.0))
    assert not way.has_arrived(1400) and way.has_arrived(1500)


def test_without_a_goal_there_is_no_error(way: Way) -> None:
    way.forget()
    way.measure(1, at(0.0))
    assert np.isnan(way.angle_deg) and way.goal is None and not way.is_within


def test_what_stays_off_the_straight_way_was_dropped() -> None:
    """Whether it is off is measured from the segment, so a long way may be left by its drop distance anywhere."""
    way = Way(TASK, SETTLE_NS)
    way.set_off(ObjectGoal(1, *SYSTEM.object_pose(at(0.0, y_m=0.2))), at(0.0))
    for t_ns, y_m, z_m, off_m in ((1000, 0.1, -0.04, 0.04), (1100, -0.012, -0.016, 0.02), (1200, 0.224, 0.032, 0.04)):
        way.measure(t_ns, at(0.0, y_m, z_m))
        assert way.off_m == pytest.approx(off_m) and not way.has_dropped(5000)
    way.measure(2000, at(0.0, 0.1, -0.06))
    assert not way.has_dropped(2299) and way.has_dropped(2300)
    way.lose_sight()
    assert not way.has_dropped(2300)
    way.measure(2400, at(0.0, 0.1, -0.06))
    way.measure(2500, at(0.0, 0.1, -0.04))
    assert not way.has_dropped(5000)
