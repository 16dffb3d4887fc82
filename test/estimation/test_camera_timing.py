"""Rate and delay that a camera shows, and when a pose of it is missing."""

import pytest

from contact_mpc.estimation.camera_timing import CameraTiming

MS = 1_000_000


@pytest.mark.parametrize(("rate_hz", "delay_ms"), [(10, 150), (30, 100), (60, 20)])
def test_period_and_delay_are_those_of_the_camera_in_spite_of_dropouts(rate_hz: int, delay_ms: int) -> None:
    timing = CameraTiming()
    for k in [*range(20), *range(60, 70)]:
        stamp_ns = k * 1000 * MS // rate_hz
        timing.note(stamp_ns, stamp_ns + delay_ms * MS)
    assert timing.period_s == pytest.approx(1.0 / rate_hz)
    assert timing.delay_s == pytest.approx(1e-3 * delay_ms)
    assert timing.longest_gap_s == pytest.approx(41 / rate_hz)
    usual_s = 1e-3 * delay_ms + 1.5 / rate_hz
    assert timing.stale_after_s(0.15, 0.4) == pytest.approx(max(0.15, usual_s))
    assert timing.stale_after_s(0.01, 0.02) == 0.02


def test_nothing_is_known_from_one_pose_or_without_a_clock() -> None:
    timing = CameraTiming()
    timing.note(0, None)
    assert (timing.period_s, timing.delay_s, timing.stale_after_s(0.15, 0.4)) == (0.0, 0.0, 0.15)


def test_poses_out_of_order_and_from_the_future_give_no_negative_times() -> None:
    timing = CameraTiming()
    for stamp in (0, 30, 20, 60, 90, 120):
        timing.note(stamp * MS, (stamp - 5) * MS)
    assert timing.period_s == pytest.approx(0.03)
    assert timing.delay_s == 0.0
