"""Pusher and block over epsilon."""

from contact_mpc.examples.claims.regularization import regularization
from contact_mpc.examples.result import Settings


def test_block_lags_by_its_inertia_over_the_spring() -> None:
    result = regularization(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
