"""What processes hold over time: a process that keeps memory and files is told from one that does not."""

import os
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from contact_mpc.ros.measure.resources import S_PER_H, ResourceLog, slope

KEPT_BYTES, COUNT = 8_000_000, 8


def test_memory_and_descriptors_that_are_kept_are_seen(tmp_path: Path) -> None:
    log, kept, files = ResourceLog(1.0), [], []
    for k in range(COUNT):
        log.sample(float(k), {"node": os.getpid()})
        kept.append(b"x" * KEPT_BYTES)
        files.append((tmp_path / str(k)).open("w"))
    for file in files:
        file.close()
    found = log.summary()["node"]
    assert found["descriptors_last"] - found["descriptors_middle"] == COUNT - 1 - COUNT // 2
    assert found["growth_mb_per_h"] > 0.5 * KEPT_BYTES / 1e6 * S_PER_H
    assert found["threads_last"] >= 1
    assert len(kept) == COUNT


def test_samples_are_a_period_apart() -> None:
    log = ResourceLog(2.0)
    for elapsed_s in (0.1, 1.0, 2.0, 2.2, 5.0, 6.9):
        log.sample(elapsed_s, {"node": os.getpid()})
    assert log.times_s == [0.1, 2.2, 5.0]


def test_growth_is_the_slope_of_a_line_through_the_later_half() -> None:
    assert slope([0.0, 1.0, 3.0], [2.0, 2.5, 3.5]) == pytest.approx(0.5)
    assert slope([0.0, 1.0], [1.0, 2.0]) != slope([0.0, 1.0], [1.0, 2.0])  # too few to tell
