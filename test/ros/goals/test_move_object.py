"""Goals of the action: ended as the books say, given up where that is asked, and told how they fare."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy")

from contact_mpc.ros.goals.ledger import Ledger
from contact_mpc.ros.goals.move_object import ActionGoals, OpenGoal, find_action_type

ROOT = Path(__file__).resolve().parents[3]


class Client:
    """A goal under stamp 7 that the desk has taken."""

    def __init__(self, until_ns: int = 0) -> None:
        self.ledger, self.told, self.results, self.cancels = Ledger(), list[str](), list[tuple[str, str]](), 0
        self.handle = SimpleNamespace(is_cancel_requested=False)
        self.goals = ActionGoals(self.cancel)
        self.ledger.take(7)
        self.ledger.tell("searching", "a plan is searched")
        self.goals.begin(7, OpenGoal(self.handle, SimpleNamespace(set_result=self.results.append), until_ns))

    def cancel(self) -> None:
        self.cancels += 1
        self.ledger.end("cancelled", "cancelled: the object is held where it is")

    def look(self, now_ns: int = 100) -> "Client":
        way: Any = None
        self.goals.look(self.ledger, way, now_ns, lambda _handle, state, _way: self.told.append(state))
        return self


def test_an_open_goal_is_told_how_it_fares_until_it_ends() -> None:
    client = Client().look()
    client.ledger.tell("moving", "on its way")
    client.look()
    client.ledger.end("reached", "0.3 deg")
    client.look().look()
    assert client.told == ["searching", "moving"] and client.results == [("reached", "0.3 deg")]


def test_a_goal_that_another_replaces_or_that_was_none_ends() -> None:
    replaced = Client()
    replaced.ledger.take(8)
    assert replaced.look().results == [("replaced", "another goal came")]
    refused = Client()
    refused.ledger.refuse(7, "pose is not finite")
    assert refused.look().results == [("refused", "refused: pose is not finite")]


def test_a_cancel_gives_the_desks_goal_up_once() -> None:
    client = Client()
    client.handle.is_cancel_requested = True
    client.look().look()
    assert client.cancels == 1 and client.results[0][0] == "cancelled"


def test_a_goal_that_takes_too_long_is_given_up() -> None:
    client = Client(until_ns=50).look(40)
    assert not client.results
    assert client.look(60).results[0][0] == "timeout" and client.cancels == 1


def test_the_messages_have_what_the_server_reads_and_writes() -> None:
    """Its package is not built here: the fields are read from the file."""
    goal, result, feedback = (ROOT / "interfaces/action/MoveObject.action").read_text().split("---")
    for field in ("PoseStamped goal", "tolerance_deg", "tolerance_mm", "Duration timeout"):
        assert field in goal
    for field in ("state", "message", "angle_error_deg", "position_error_mm"):
        assert field in result
    for field in ("state", "progress", "angle_error_deg", "position_error_mm"):
        assert field in feedback
    built = find_action_type()
    assert built is None or {"goal", "timeout"} <= set(built.Goal.get_fields_and_field_types())
