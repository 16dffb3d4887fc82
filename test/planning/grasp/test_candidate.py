"""What makes one posture better than another, and when more samples could add little."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.planning.grasp.balance import Grasp
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig

NONE = np.zeros(0)
CANDIDATE = GraspCandidate(
    NONE, Grasp(True, np.zeros(0, dtype=np.int64), NONE, NONE, NONE), (1.0, 1.0, 0.5), 0.09, 0.4, 0.75, 0.5
)


def test_score_is_the_sum_of_its_weighted_parts() -> None:
    config = GraspSearchConfig(
        room_weight=2.0, conditioning_weight=3.0, finger_weight=5.0, held_weight=7.0, useful_room_rad=0.12
    )
    expected = (1.0 + 1.0 + 0.5) + 2.0 * 0.09 / 0.12 + 3.0 * 0.4 + 5.0 * 0.75 + 7.0 * 0.5
    assert replace(CANDIDATE, config=config).score == pytest.approx(expected)


def test_room_beyond_the_useful_one_counts_no_more() -> None:
    most = CANDIDATE.config.useful_room_rad
    assert replace(CANDIDATE, limit_room_rad=most).score == replace(CANDIDATE, limit_room_rad=2.0 * most).score


def test_a_candidate_is_complete_once_it_rolled_with_every_friction() -> None:
    best = replace(CANDIDATE, fractions=(1.0, 1.0), held=1.0, limit_room_rad=1.0)
    assert not best.is_complete
    assert replace(best, config=GraspSearchConfig(friction_steps=(1.0, 0.5))).is_complete
