"""Betas and velocities of a contact that sticks, slides, sticks."""

from contact_mpc.examples.claims.mode_changes import mode_changes
from contact_mpc.examples.result import Settings


def test_rays_and_velocities_are_complementary() -> None:
    result = mode_changes(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    pictures = result.figures["pictures"]
    assert min(pictures["sticking"]["beta_1"], pictures["sticking"]["beta_2"]) > 0.01
    assert abs(pictures["sticking"]["v_d"]) < 1e-9 and abs(pictures["still sliding"]["v_d"]) > 0.19
    assert pictures["sliding starts"]["v_n"] > 1e-3 > 1e-6 > abs(pictures["still sliding"]["v_n"])
    assert pictures["sliding about to stop"]["v_n"] < 0.0
