"""The client of the goal server, without a stack: what two clients are told of their goals."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from contact_mpc.errors import StackError
from contact_mpc.ros.client import GoalClient, GoalOutcome


def outcome(goal_ns: int | None, state: str) -> GoalOutcome:
    return GoalOutcome(state, "", goal_ns, 0.0, 0.0, 0.0, np.eye(3), np.zeros(3), {})


class ToldClient(GoalClient):
    """Sent a goal with stamp 5 and hears what it is told, the last word for ever."""

    def __init__(self, *told: GoalOutcome) -> None:
        self._told, self._sent_ns = list(told), 5

    @property
    def status(self) -> GoalOutcome:
        return self._told.pop(0) if len(self._told) > 1 else self._told[0]


def test_who_sent_first_hears_that_another_goal_came_and_who_sent_last_how_it_ended() -> None:
    words = outcome(None, "idle"), outcome(5, "searching"), outcome(7, "searching"), outcome(7, "reached")
    assert ToldClient(*words).wait(1.0).state == "replaced"
    second = ToldClient(outcome(4, "moving"), outcome(5, "searching"), outcome(5, "reached"))
    assert second.wait(1.0).state == "reached"


def test_a_goal_that_another_client_replaced_before_it_was_seen_is_not_waited_for() -> None:
    assert ToldClient(outcome(3, "moving"), outcome(7, "moving")).wait(1.0).state == "replaced"


def test_an_older_goal_of_another_client_is_waited_out() -> None:
    with pytest.raises(StackError, match="has not ended"):
        ToldClient(outcome(4, "moving")).wait(0.05)
