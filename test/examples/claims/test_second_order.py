"""The ball that slides out stops where mu g says."""

import pytest

from contact_mpc.examples.claims.second_order import STOP_M, second_order
from contact_mpc.examples.result import Settings


def test_ball_slides_out_as_mu_g_says() -> None:
    result = second_order(Settings(h_s=0.02))
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    assert result.figures["way_m"][-1] == pytest.approx(STOP_M, rel=0.03)
    assert 0.0 < result.figures["pushed_difference_m"] < 0.01
