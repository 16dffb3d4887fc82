"""How fingers come to touch: each by its own joints, until its tip is at the gap; what cannot reach stays open."""

import numpy as np
import pytest

from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.grasp.touch import Finger, Touching, find_fingers
from contact_mpc.task.task import load_task

CONFIG = GraspSearchConfig()
TASK = load_task("allegro_ball")
FINGERS = find_fingers(TASK.system, make_scene(TASK.system))


@pytest.fixture
def touching() -> Touching:
    return Touching(TASK.system, CONFIG, np.random.default_rng(2))


def tip_distance(system: System, q: np.ndarray, finger: Finger) -> float:
    R, origin = forward_kinematics(system.tree, q)
    tip = R[finger.body] @ finger.p_BT + origin[finger.body]
    return float(np.linalg.norm(tip - system.object_pose(q)[1]))


def test_a_hand_has_one_finger_per_branch_and_each_joint_belongs_to_one() -> None:
    assert [finger.name.split("_")[0] for finger in FINGERS] == ["index", "middle", "ring", "thumb"]
    assert sorted(np.concatenate([finger.joints for finger in FINGERS])) == list(range(TASK.system.n_a))
    assert not any(finger.pressing for finger in FINGERS)


def test_every_fingertip_comes_nearer_by_its_closing_direction(touching: Touching) -> None:
    q, first = TASK.start_q, TASK.system.n_q_u
    for finger in FINGERS:
        moved = q.copy()
        moved[first + finger.joints] += 1e-3 * touching.closing(q, finger)
        assert tip_distance(TASK.system, moved, finger) < tip_distance(TASK.system, q, finger)


def test_a_finger_that_closes_is_at_the_gap_with_its_tip_and_within_its_limits(touching: Touching) -> None:
    system, closed = TASK.system, 0
    for finger in 5 * FINGERS:
        q = TASK.start_q.copy()
        own = system.n_q_u + finger.joints
        if touching.close(q, finger):
            closed += 1
            gaps = finger.scene.gaps(q)
            assert finger.is_tip[np.argmin(gaps)]
            assert 0.0 <= gaps.min() < 2.0 * CONFIG.contact_gap_m
            room = np.minimum(q[own] - system.q_min[finger.joints], system.q_max[finger.joints] - q[own])
            assert room.min() > CONFIG.limit_room_rad
        np.testing.assert_array_equal(np.delete(q, own), np.delete(TASK.start_q, own))
    assert closed > 5


def test_a_finger_without_reach_stays_open(touching: Touching) -> None:
    q = TASK.start_q.copy()
    q[4] += 1.0
    for finger in FINGERS:
        assert not touching.close(q, finger)
        assert finger.gap(q) > 0.1


def test_an_opened_finger_is_farther_than_most_random_postures(touching: Touching) -> None:
    finger, rng = FINGERS[0], np.random.default_rng(0)
    q, own = TASK.start_q.copy(), TASK.system.n_q_u + FINGERS[0].joints
    touching.open(q, finger)
    opened, nearer = finger.gap(q), 0
    for _ in range(50):
        q[own] = rng.uniform(TASK.system.q_min[finger.joints], TASK.system.q_max[finger.joints])
        nearer += finger.gap(q) < opened
    assert nearer > 25
