"""The clock of a reference that waits: its rate by lag, its bounds, and that it is a function of what it was given."""

import numpy as np
import pytest

from contact_mpc.control.reference_clock import CATCH_UP, ReferenceClock

TICK_NS = 50_000_000


def run(clock: ReferenceClock, angles_deg: list[float], distance_mm: float = 0.0, start_ns: int = 0) -> list[float]:
    delays = []
    for k, angle in enumerate(angles_deg):
        clock.update(start_ns + k * TICK_NS, angle, distance_mm)
        delays.append(clock.delay_s)
    return delays


def test_object_on_its_reference_keeps_it_on_time() -> None:
    assert run(ReferenceClock(6.0, 0.005, 1.0), [2.9] * 20) == [0.0] * 20


@pytest.mark.parametrize(("lag", "rate"), [(0.5, 1.0), (0.6, 0.8), (0.75, 0.5), (1.0, 0.0), (3.0, 0.0)])
def test_delay_grows_by_what_the_rate_lacks(lag: float, rate: float) -> None:
    expected = (1.0 - rate) * 0.05 * np.arange(5)
    np.testing.assert_allclose(run(ReferenceClock(6.0, 0.005, 1.0), [6.0 * lag] * 5), expected, atol=1e-12)
    np.testing.assert_allclose(run(ReferenceClock(6.0, 0.005, 1.0), [0.0] * 5, 5.0 * lag), expected, atol=1e-12)


def test_it_waits_no_longer_than_allowed_and_then_catches_up() -> None:
    clock = ReferenceClock(6.0, 0.005, 0.5)
    assert run(clock, [10.0] * 20)[-1] == 0.5
    delays = run(clock, [1.0] * 40, start_ns=20 * TICK_NS)
    np.testing.assert_allclose(-np.diff([0.5, *delays])[:10], CATCH_UP * 0.05, atol=1e-12)
    assert delays[-1] == 0.0


def test_nothing_waits_before_the_motion_starts_or_when_it_never_does() -> None:
    assert run(ReferenceClock(6.0, 0.005, 1.0), [20.0] * 6, start_ns=-5 * TICK_NS) == [0.0] * 6
    assert run(ReferenceClock(0.0, 0.005, 1.0), [20.0] * 6) == [0.0] * 6


def test_reset_repeats_the_same_delays() -> None:
    clock, angles = ReferenceClock(6.0, 0.005, 1.0), [1.0, 4.0, 7.0, 5.0, 2.0, 8.0]
    first = run(clock, angles)
    clock.reset()
    assert run(clock, angles) == first
