"""What a simulator waits for, and for how long."""

import pytest

from contact_mpc.ros.runtime.awaited import Awaited

MS = 1_000_000


def test_nothing_is_waited_for_before_the_first_answer_nor_while_it_is_young() -> None:
    awaited = Awaited(5 * MS, 1.0)
    assert not awaited.is_late(10**12, 0.0)
    awaited.answer(100 * MS)
    assert not awaited.is_late(105 * MS, 0.0) and awaited.waits == 0


def test_an_answer_that_is_late_is_waited_for_until_it_comes() -> None:
    awaited = Awaited(5 * MS, 1.0)
    awaited.answer(100 * MS)
    assert awaited.is_late(106 * MS, 7.0) and awaited.is_late(106 * MS, 7.4)
    awaited.answer(106 * MS)
    assert not awaited.is_late(106 * MS, 7.5)
    assert (awaited.waits, awaited.waited_s) == (1, pytest.approx(0.5))


def test_who_is_gone_is_waited_for_once() -> None:
    awaited = Awaited(5 * MS, 1.0)
    awaited.answer(100 * MS)
    assert awaited.is_late(106 * MS, 7.0)
    assert not awaited.is_missed
    assert not any(awaited.is_late((106 + k) * MS, 8.0 + k) for k in range(20)) and awaited.is_missed
    awaited.answer(126 * MS)
    assert not awaited.is_late(126 * MS, 30.0) and not awaited.is_missed and awaited.waited_s == 1.0
    assert awaited.is_late(132 * MS, 31.0) and awaited.waits == 2


def test_who_is_slow_is_waited_for_after_every_answer() -> None:
    awaited = Awaited(5 * MS, 1.0)
    awaited.answer(100 * MS)
    assert awaited.is_late(106 * MS, 7.0) and not awaited.is_late(106 * MS, 8.0)
    awaited.answer(101 * MS)  # too late for 150 ms, and yet a sign of life
    assert awaited.is_late(150 * MS, 9.0) and awaited.is_late(150 * MS, 9.9)
    assert not awaited.is_late(150 * MS, 10.0) and awaited.waits == 2
    awaited.answer(101 * MS)  # said again: not for ever
    assert not awaited.is_late(150 * MS, 11.0)


def test_a_first_answer_is_waited_for_from_when_it_may_be_expected() -> None:
    awaited = Awaited(5 * MS, 1.0, 100 * MS)
    assert not awaited.is_late(105 * MS, 7.0)
    assert awaited.is_late(106 * MS, 8.0) and not awaited.is_late(106 * MS, 9.0)


@pytest.mark.parametrize("values", [(0, 1.0), (5 * MS, 0.0)])
def test_what_stands_for_a_robot_waits_for_nobody(values: tuple[int, float]) -> None:
    awaited = Awaited(*values)
    awaited.answer(0)
    assert not awaited.is_late(10**12, 0.0) and awaited.waits == 0
