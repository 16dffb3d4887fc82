"""What the command of the gripper brings is found in its springs, contacts and steps."""

import pytest

from contact_mpc.examples.claims.energy_balance import energy_balance
from contact_mpc.examples.result import Settings


def test_command_of_the_gripper_is_stored_or_lost() -> None:
    result = energy_balance(Settings(h_s=0.002))
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    found = result.figures["lcp"]
    assert found["command_j"] == pytest.approx(found["stored_j"] + found["contacts_j"] + found["step_j"], abs=1e-6)
