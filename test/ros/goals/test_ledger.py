"""Books of the goals: every goal that was taken is counted, and ends once."""

from contact_mpc.ros.goals.goal import ENDED
from contact_mpc.ros.goals.ledger import Ledger


def test_every_goal_is_counted_and_ends_once() -> None:
    ledger = Ledger()
    ledger.take(1)
    ledger.tell("moving", "on its way")
    ledger.take(2)  # replaces
    ledger.tell("searching", "")
    ledger.refuse(3, "pose is not finite")  # beside the open one
    ledger.end("reached", "there")
    ledger.refuse(4, "frame 'camera'")
    assert ledger.counts["goals"] == 4 == sum(ledger.counts[state] for state in ENDED)
    assert (ledger.counts["replaced"], ledger.counts["refused"], ledger.counts["reached"]) == (1, 2, 1)


def test_what_is_no_goal_is_the_newest_only_where_none_is_open() -> None:
    ledger = Ledger()
    ledger.take(1)
    ledger.tell("searching", "a plan is searched")
    ledger.refuse(2, "pose is not finite")
    assert (ledger.state, ledger.goal_ns, ledger.refused_ns) == ("searching", 1, 2)
    assert ledger.refusal == "refused: pose is not finite" and ledger.message == "a plan is searched"
    ledger.end("missed", "late")
    ledger.refuse(3, "pose is not finite")
    assert (ledger.state, ledger.goal_ns, ledger.message) == ("refused", 3, ledger.refusal)
