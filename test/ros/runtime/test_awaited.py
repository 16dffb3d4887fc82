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
    assert not any(awaited.is_late((106 + k) * MS, 8.0 + k) for k in range(20))
    awaited.answer(126 * MS)
    assert not awaited.is_late(126 * MS, 30.0) and awaited.waited_s == 1.0
    assert awaited.is_late(132 * MS, 31.0) and awaited.waits == 2


@pytest.mark.parametrize("values", [(0, 1.0), (5 * MS, 0.0)])
def test_what_stands_for_a_robot_waits_for_nobody(values: tuple[int, float]) -> None:
    awaited = Awaited(*values)
    awaited.answer(0)
    assert not awaited.is_late(10**12, 0.0) and awaited.waits == 0
