"""Fingers told to go into a ball."""

from contact_mpc.examples.claims.commanded_positions import commanded_positions
from contact_mpc.examples.result import Settings


def test_springs_keep_fingers_out_where_positions_do_not() -> None:
    result = commanded_positions(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
