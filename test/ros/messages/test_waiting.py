"""What the tracker's status says of waiting, and what somebody else's may say."""

import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticStatus

from contact_mpc.ros.messages.conversions import to_status
from contact_mpc.ros.messages.waiting import read_waiting
from contact_mpc.settings.tunable import REFERENCE_START, WAITED


def status(start: object, waited: object) -> DiagnosticStatus:
    return to_status(DiagnosticStatus.OK, "mpc_tracker", "ok", {REFERENCE_START: start, WAITED: waited})


def test_start_and_time_waited_are_read_in_nanoseconds() -> None:
    assert read_waiting(status(1_300_000_000, 0.25)) == (1_300_000_000, 250_000_000)


@pytest.mark.parametrize(
    ("start", "waited"), [("", 0.0), (1, "nan"), (1, -1.0), (1, "inf"), ("x" * 5000, 1.0), ("9" * 5000, 1e300), (1, "")]
)
def test_what_no_tracker_says_is_not_taken(start: object, waited: object) -> None:
    assert read_waiting(status(start, waited)) is None


def test_a_status_without_them_says_nothing() -> None:
    assert read_waiting(DiagnosticStatus()) is None
