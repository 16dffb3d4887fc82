"""The rejected paper: linear steady states are off by the square of the command, and the tank bounds what is drawn."""

from contact_mpc.examples.claims.steady_state import steady_state
from contact_mpc.examples.result import Settings


def test_steady_state_is_linear_to_second_order_and_the_tank_bounds_what_is_drawn() -> None:
    result = steady_state(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    assert result.figures["drawn_j"] > 10.0 * result.figures["drawn_with_tank_j"]
