"""Planning files: what contradicts itself, is out of range or misspelt is refused with its key."""

import pytest
from pydantic import ValidationError

from contact_mpc.planning.tree.problem_config import (
    ApproachConfig,
    CloseConfig,
    ContactConfig,
    CoordinateConfig,
    RrtConfig,
    TrajoptCaseConfig,
)

POSTURE = CloseConfig(open_rad={}, close_rad={}, fingers={"left": ("left_1",)})
PUSHER = ApproachConfig(joints=("x", "y"), radius_m=0.2, spread_m=0.05)


def test_a_range_is_from_lower_to_upper() -> None:
    assert CoordinateConfig(start=0.0, goal=1.0, range=(-1.0, 1.0)).range == (-1.0, 1.0)
    with pytest.raises(ValidationError, match="expected lower <= upper"):
        CoordinateConfig(start=0.0, goal=1.0, range=(1.0, -1.0))


@pytest.mark.parametrize("both", [{}, {"approach": PUSHER, "close": (POSTURE,)}])
def test_contacts_come_from_fingers_or_from_a_pusher(both: dict[str, object]) -> None:
    assert ContactConfig(close=(POSTURE,)).approach is None and ContactConfig(approach=PUSHER).close == ()
    with pytest.raises(ValidationError, match="give either `approach` or a list `close`"):
        ContactConfig.model_validate(both)


@pytest.mark.parametrize(
    ("config", "values"),
    [
        (RrtConfig, {"length_m": 0.1, "metric": "nearest"}),
        (RrtConfig, {"length_m": 0.0}),
        (RrtConfig, {"length_m": 0.1, "goal_probability": 1.1}),
        (TrajoptCaseConfig, {"goal": {}, "starts": 0}),
        (TrajoptCaseConfig, {"goal": {}, "stages": 3}),
    ],
)
def test_values_out_of_range_and_unknown_keys_are_refused(config: type, values: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=list(values)[-1]):
        config(**values)
