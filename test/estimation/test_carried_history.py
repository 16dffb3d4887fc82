"""Carried displacements by time: linear inside a segment, known shares, and no growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contact_mpc.estimation.carried_history import MOST_SEGMENTS, CarriedHistory

PERIOD_NS = 5_000_000


def test_displacement_between_two_stamps_is_linear_inside_a_segment_and_knows_its_gaps() -> None:
    motion = CarriedHistory(2, 1.0)
    motion.add(0, 10, np.array([1.0, 0.0]))
    motion.add(20, 30, np.array([0.0, 2.0]))
    np.testing.assert_allclose(motion.between(5, 25)[0], [0.5, 1.0])
    assert motion.between(5, 25)[1] == pytest.approx(0.5)
    np.testing.assert_allclose(motion.between(12, 18)[0], 0.0)
    assert motion.between(12, 18)[1] == motion.between(30, 40)[1] == motion.between(40, 30)[1] == 0.0
    np.testing.assert_array_equal(motion.velocity(31), np.zeros(2))
    np.testing.assert_allclose(motion.velocity(30), [0.0, 2.0 / 10e-9])


@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=20),
    gaps=st.lists(st.integers(0, 30), min_size=20, max_size=20),
    cut=st.integers(-20, 1500),
)
@settings(max_examples=50, deadline=None)
def test_parts_add_up_to_the_whole(lengths: list[int], gaps: list[int], cut: int) -> None:
    motion, t_ns = CarriedHistory(1, 1.0), 0
    for length, gap in zip(lengths, gaps, strict=False):
        motion.add(t_ns + gap, t_ns + gap + length, np.array([float(length)]))
        t_ns += gap + length
    total, share = motion.between(0, t_ns)
    assert total[0] == pytest.approx(sum(lengths))
    assert share == pytest.approx(sum(lengths) / t_ns)
    cut = min(max(cut, 0), t_ns)
    assert motion.between(0, cut)[0] + motion.between(cut, t_ns)[0] == pytest.approx(total)


def test_history_does_not_grow_with_time_and_keeps_its_length() -> None:
    motion = CarriedHistory(1, 2.0)
    n = 3 * MOST_SEGMENTS
    for k in range(n):
        motion.add(k * PERIOD_NS, (k + 1) * PERIOD_NS, np.ones(1))
        assert len(motion) <= MOST_SEGMENTS
    assert motion.between((n - 400) * PERIOD_NS, n * PERIOD_NS)[0][0] == pytest.approx(400.0)
