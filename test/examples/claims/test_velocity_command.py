"""A pusher told velocities, and fingers."""

from contact_mpc.examples.claims.velocity_command import velocity_command
from contact_mpc.examples.result import Settings


def test_pushes_are_settled_and_grasps_are_not() -> None:
    result = velocity_command(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
