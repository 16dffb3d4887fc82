"""What the search for start postures is tuned with: ranges, and that its weights make the score."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from contact_mpc.planning.grasp.balance import Grasp
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.search import GraspCandidate

NONE = np.zeros(0)
CANDIDATE = GraspCandidate(
    NONE, Grasp(True, np.zeros(0, dtype=np.int64), NONE, NONE, NONE), (1.0, 1.0, 0.5), 0.09, 0.4, 0.75, 0.5
)


@pytest.mark.parametrize(
    "change", [{"contact_gap_m": 0.0}, {"random_share": 1.5}, {"friction_steps": ()}, {"patience": 0}, {"pacience": 9}]
)
def test_what_is_out_of_range_or_misspelt_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        GraspSearchConfig.model_validate(change)


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
