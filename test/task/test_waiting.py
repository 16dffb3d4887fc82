"""What the tracker's status says of waiting, and what somebody else's or a spoiled bag's may say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.settings.tunable import REFERENCE_START, WAITED
from contact_mpc.task.waiting import MOST_LATER_S, later_ns, read_waiting


def test_start_and_time_waited_are_read_in_nanoseconds() -> None:
    assert read_waiting({REFERENCE_START: "1300000000", WAITED: "0.25"}) == (1_300_000_000, 250_000_000)


@pytest.mark.parametrize(
    ("start", "waited"), [("", "0"), ("1", "nan"), ("1", "-1"), ("1", "inf"), ("9" * 5000, "1e300"), ("1", "")]
)
def test_what_no_tracker_says_is_not_taken(start: str, waited: str) -> None:
    assert read_waiting({REFERENCE_START: start, WAITED: waited}) is None
    assert read_waiting({}) is None


@given(st.dictionaries(st.sampled_from([REFERENCE_START, WAITED]), st.text()))
def test_any_text_ends_in_a_result(values: dict[str, str]) -> None:
    waiting = read_waiting(values)
    assert waiting is None or waiting[1] >= 0


def test_a_run_ends_as_much_later_as_its_motion_waited_but_not_for_ever() -> None:
    assert later_ns({REFERENCE_START: "1", WAITED: "0.5"}, 7) == 500_000_000
    assert later_ns({REFERENCE_START: "1", WAITED: "1e5"}, 7) == MOST_LATER_S * 1e9
    assert later_ns({}, 7) == 7
