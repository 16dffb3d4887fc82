"""The judge on the wire finds each kind of violation, and lets what is within the limits pass."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from contact_mpc.ros.faults.wire_monitor import WireLimits, WireMonitor

MS = 1_000_000
LIMITS = WireLimits(np.full(2, -1.0), np.full(2, 1.0), np.full(2, 2.0), np.full(2, 5.0), np.full(2, 500.0))


def make(interface: str = "effort") -> WireMonitor:
    monitor = WireMonitor(LIMITS, interface)
    monitor.add_state(np.zeros(2), np.zeros(2))
    monitor.add_command(0, np.zeros(2), 10**9)
    return monitor


def send(monitor: WireMonitor, *values: float, after_ms: float = 1.0, stamp_ms: float | None = None) -> dict[str, int]:
    stamp_ns = round((after_ms if stamp_ms is None else stamp_ms) * MS)
    monitor.add_command(stamp_ns, np.array(values), 10**9 + round(after_ms * MS))
    return dict(monitor.violations)


def test_what_is_within_the_limits_passes() -> None:
    assert send(make(), 0.9, -0.9) == {}  # 500 N m/s over 1 ms by the stamps and the slack of 1 ms
    assert send(make("position"), 0.0039, -0.0039) == {}


@pytest.mark.parametrize(
    ("interface", "values", "kind"),
    [
        ("effort", (0.0,), "length"),
        ("effort", (np.nan, 0.0), "non_finite"),
        ("effort", (1.1, 0.0), "jump"),
        ("position", (0.0041, 0.0), "velocity"),
    ],
)
def test_each_violation_of_a_command_is_counted(interface: str, values: tuple[float, ...], kind: str) -> None:
    assert send(make(interface), *values) == {kind: 1}


def test_limits_hold_also_where_time_allows_the_change() -> None:
    assert send(make(), 5.1, 0.0, after_ms=50.0) == {"torque": 1}
    assert send(make("position"), 1.1, 0.0, after_ms=2000.0) == {"position": 1, "jump": 1}


def test_a_leap_of_the_stamps_allows_no_leap_of_the_command() -> None:
    assert send(make(), 4.0, 0.0, stamp_ms=1000.0) == {"jump": 1}
    assert send(make(), 4.0, 0.0, stamp_ms=-1000.0) == {"jump": 1}


def test_stamps_that_run_faster_than_the_clock_allow_no_more_than_the_slack_once() -> None:
    monitor, found = make(), []
    for k in range(1, 5):  # 1 N m with every millisecond, for which the stamps say 2 ms
        monitor.add_command(2 * k * MS, np.full(2, float(k)), 10**9 + k * MS)
        found.append(monitor.violations["jump"])
    assert found == [0, 0, 1, 2]


def test_after_a_pause_a_setpoint_must_be_near_the_measured_position_and_a_torque_within_its_limits() -> None:
    assert send(make("position"), 0.04, 0.0, after_ms=300.0) == {}
    assert send(make("position"), 0.06, 0.0, after_ms=300.0) == {"jump": 1}
    assert send(make(), 4.0, 0.0, after_ms=300.0) == {}


def test_how_far_the_robot_leaves_its_limits_is_measured() -> None:
    monitor = make()
    assert (monitor.largest_position_excess_rad, monitor.largest_velocity_excess_rad_s) == (-1.0, -2.0)
    for q, dq in (((0.0, 1.1), (0.0, 0.0)), ((-1.05, 0.0), (0.0, -2.5)), ((0.0, 0.0), (0.0, 0.0))):
        monitor.add_state(np.array(q), np.array(dq))
    assert monitor.largest_position_excess_rad == pytest.approx(0.1)
    assert monitor.largest_velocity_excess_rad_s == pytest.approx(0.5)
    assert not monitor.violations
