"""Joint states in parts: put together by stamp, named where joints are missing, left alone where whole."""

import pytest

pytest.importorskip("rclpy")

from sensor_msgs.msg import JointState

from contact_mpc.ros.messages.conversions import from_stamp, set_stamp
from contact_mpc.task.joint_parts import JointParts

NAMES = tuple(f"A{k}" for k in range(1, 8))
MS = 1_000_000
WITHIN = MS // 2


def make(slices: list[slice] | None = None, names: tuple[str, ...] = NAMES) -> JointParts:
    return JointParts(names, slices or [slice(0, len(names))], WITHIN)


def message(t_ns: int, names: tuple[str, ...], offset: float = 0.0) -> JointState:
    values = [offset + float(name[1:]) for name in names]
    state = JointState(name=list(names), position=values, velocity=[-value for value in values])
    set_stamp(state.header.stamp, t_ns)
    return state


def test_a_whole_message_passes_as_it_is() -> None:
    whole = message(0, NAMES)
    assert make().complete(whole) is whole


@pytest.mark.parametrize("turned", [False, True])
def test_two_parts_make_one_state_with_the_stamp_of_the_oldest(turned: bool) -> None:
    parts = make()
    halves = [NAMES[:3], NAMES[3:]][:: -1 if turned else 1]
    for k in range(5):
        assert parts.complete(message(k * MS, halves[0], k)) is None
        merged = parts.complete(message(k * MS + 100_000, halves[1], k))
        assert merged is not None and parts.missing == ""
        assert tuple(merged.name) == NAMES and from_stamp(merged.header.stamp) == k * MS
        assert list(merged.position) == [k + float(name[1:]) for name in NAMES]
        assert list(merged.velocity) == [-value for value in merged.position] and not merged.effort


def test_a_lost_part_costs_one_state_and_no_more() -> None:
    parts = make()
    assert parts.complete(message(0, NAMES[3:])) is None  # the first part of it was lost
    assert parts.complete(message(MS, NAMES[:3])) is None
    merged = parts.complete(message(MS, NAMES[3:]))
    assert merged is not None and from_stamp(merged.header.stamp) == MS


def test_half_of_the_joints_are_named_as_missing() -> None:
    parts = make()
    assert parts.complete(message(0, NAMES[:3])) is None and parts.missing == ""
    assert parts.complete(message(MS, NAMES[:3])) is None
    assert parts.missing == "joints A4, A5, A6, A7 missing; the message names A1, A2, A3"


def test_joints_of_others_are_left_out_unless_there_are_no_others() -> None:
    parts, gripper = make(), ("B1", "B2")
    assert parts.complete(message(0, gripper)) is None and "missing; the message names B1, B2" in parts.missing
    assert parts.complete(message(0, NAMES)) is not None and parts.missing == ""
    assert parts.complete(message(MS, gripper)) is None and parts.missing == ""


def test_two_drivers_may_use_the_same_names() -> None:
    arm = ("A1", "A2")
    parts = make([slice(0, 2), slice(2, 4)], arm + arm)
    assert parts.complete(message(0, arm, 10.0), 1) is None
    merged = parts.complete(message(0, arm), 0)
    assert merged is not None and tuple(merged.name) == parts.names
    assert list(merged.position) == [1.0, 2.0, 11.0, 12.0]
