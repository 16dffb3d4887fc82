"""Deadlines, lateness and what the system refuses."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")

from contact_mpc.control.bridge.clocks import GridLateness
from contact_mpc.ros.runtime import realtime
from contact_mpc.ros.runtime.realtime import (
    Distribution,
    PacedDeadlines,
    RealtimeConfig,
    apply_realtime,
    run_on_deadlines,
    stay_on,
)

MS = 1_000_000


def test_percentiles_are_those_of_the_values_up_to_a_bin() -> None:
    values = np.random.default_rng(0).lognormal(12.0, 2.0, 3000).astype(int)  # 5 us to 500 ms
    distribution = Distribution()
    for value in values:
        distribution.add(int(value))
    percents = (50.0, 90.0, 99.0, 99.9)
    exact = np.percentile(values, percents, method="inverted_cdf")
    measured = np.array(distribution.percentiles_ns(percents))
    width = np.where(exact < 50 * MS, Distribution.FINE_NS, Distribution.COARSE_NS)
    assert np.all((measured >= exact) & (measured <= exact + width))
    assert distribution.summary(1.0)["max"] == values.max()


def test_without_values_there_are_no_figures() -> None:
    assert all(np.isnan(value) for value in Distribution().summary(1.0).values())


def test_lateness_is_taken_against_the_least_offset_and_forgets_a_shifted_grid() -> None:
    grid = GridLateness(window_ns=10 * MS)
    late = [grid.measure(7_000 + k * MS + (300 if k == 5 else 0), k * MS) for k in range(9)]
    assert late == [0, 0, 0, 0, 0, 300, 0, 0, 0]
    shifted = [grid.measure(7_000 + 2 * MS + k * MS, k * MS) for k in range(9, 60)]
    assert shifted[0] == 2 * MS
    assert shifted[-1] == 0


class Clock:
    """A monotonic clock that passes in sleep and in work alone; every sleep ends 0.3 ms late."""

    def __init__(self) -> None:
        self.now_ns = 7 * MS

    def monotonic_ns(self) -> int:
        return self.now_ns

    def sleep(self, duration_s: float) -> None:
        self.now_ns += round(duration_s * 1e9) + 300_000


def test_deadlines_that_passed_during_work_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, deadlines, late = Clock(), list[int](), list[int]()
    monkeypatch.setattr(realtime, "time", clock)

    def work(late_ns: int) -> bool:
        late.append(late_ns)
        deadlines.append(clock.now_ns - late_ns)
        if len(deadlines) == 2:
            clock.now_ns += 25 * MS
        return len(deadlines) < 4

    run_on_deadlines(10 * MS, work)
    assert deadlines == [17 * MS, 27 * MS, 57 * MS, 67 * MS]  # 37 and 47 have passed; the grid stays
    assert late == [300_000] * 4


def test_what_the_system_refuses_is_named_with_a_remedy() -> None:
    before = os.sched_getaffinity(0)
    refusal = stay_on([4095])
    assert "cores [4095]" in refusal and str(sorted(before)) in refusal
    assert stay_on([]) == "" and apply_realtime(RealtimeConfig(priority=0)) == []
    assert os.sched_getaffinity(0) == before


def test_a_process_stays_on_its_cores_with_every_thread() -> None:
    code = (
        "import os, threading, time; from contact_mpc.ros.runtime.realtime import stay_on;"
        "threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start();"
        "core = min(os.sched_getaffinity(0)); assert stay_on([core]) == '';"
        "print([sorted(os.sched_getaffinity(int(name))) == [core] for name in os.listdir('/proc/self/task')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.count("True") >= 2 and "False" not in out


def test_a_process_gives_way_with_every_thread_and_never_takes_it_back() -> None:
    code = (
        "import os, threading, time; from contact_mpc.ros.runtime.realtime import give_way;"
        "threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start(); give_way(15); give_way(3);"
        "print([os.getpriority(os.PRIO_PROCESS, int(name)) for name in os.listdir('/proc/self/task')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(json.loads(out)) == {max(15, os.getpriority(os.PRIO_PROCESS, 0))}
    assert len(json.loads(out)) >= 2


def test_what_was_held_up_catches_up_at_twice_the_pace_and_gives_up_what_is_too_much() -> None:
    deadlines = PacedDeadlines(0.001, 5.0)
    assert not deadlines.meet(5.0)
    assert deadlines.next_s == pytest.approx(5.001)
    now_s, times = 5.011, []
    for _ in range(30):  # held up for 10 ms
        assert not deadlines.meet(now_s)
        assert deadlines.reached_s == pytest.approx(5.001 + 0.001 * len(times))
        times.append(now_s)
        now_s = max(now_s + 1e-4, deadlines.next_s)
    steps = np.diff(times)
    np.testing.assert_allclose(steps[:15], 0.0005)
    np.testing.assert_allclose(times[-1], 5.030)  # on the grid of before: the 30th step after 5.0
    assert deadlines.meet(now_s + 0.03)
    assert deadlines.next_s == pytest.approx(now_s + 0.031)
    assert deadlines.reached_s == pytest.approx(now_s + 0.03)
    deadlines.rest(now_s + 0.02)  # that is over
    assert deadlines.next_s == pytest.approx(now_s + 0.031)
    deadlines.rest(now_s + 0.035)
    assert deadlines.next_s == pytest.approx(now_s + 0.035) and deadlines.reached_s == pytest.approx(now_s + 0.03)
