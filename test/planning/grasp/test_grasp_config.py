"""What the search for start postures is tuned with: what is out of range or misspelt is refused."""

import pytest
from pydantic import ValidationError

from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig


@pytest.mark.parametrize(
    "change", [{"contact_gap_m": 0.0}, {"random_share": 1.5}, {"friction_steps": ()}, {"patience": 0}, {"pacience": 9}]
)
def test_what_is_out_of_range_or_misspelt_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        GraspSearchConfig.model_validate(change)
