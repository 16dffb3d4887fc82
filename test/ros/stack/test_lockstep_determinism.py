"""In lockstep a run is the same bit for bit, whatever the machine does meanwhile, and nothing of it is lost."""

import hashlib
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("pydrake")

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.record import RunRecord

pytestmark = [pytest.mark.dds, pytest.mark.end_to_end, pytest.mark.drake]

DURATION_S, HOLD_S, START_DELAY_S = 0.4, 0.1, 0.3
STEPS = round(1000 * (DURATION_S + HOLD_S + START_DELAY_S)) + 1  # one state per millisecond, both ends included
TICKS, ESTIMATES, TRUTHS = 17, 161, 161  # 20 Hz, 200 Hz and 200 Hz over 0.8 s


def run(folder: Path) -> RunRecord:
    """Run the planar task shortly; the goal is not met in so short a time, which exit code 1 says."""
    command = [sys.executable, "-m", "contact_mpc", "run", "planar_hand_ball", "--record", str(folder)]
    command += ["--duration-s", str(DURATION_S), "--hold-s", str(HOLD_S), "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode in (0, 1), done.stderr
    return read_run(next(folder.iterdir()) / "bag")


def burn(seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        sum(range(1000))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RunRecord]]:
    """Two runs: one as the machine is, one beside processes that keep every core busy."""
    folders = [tmp_path_factory.mktemp("run") for _ in range(2)]
    found = [run(folders[0])]
    load = [multiprocessing.get_context("spawn").Process(target=burn, args=(240.0,)) for _ in range(3)]
    for process in load:
        process.start()
    try:
        found.append(run(folders[1]))
    finally:
        for process in load:
            process.kill()
            process.join()
    yield found


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def test_commands_are_the_same_bit_for_bit(records: list[RunRecord]) -> None:
    assert len({digest(record.commands.values) for record in records}) == 1
    assert len({digest(record.commands.t_ns) for record in records}) == 1


def test_plans_estimates_and_the_plant_are_the_same_bit_for_bit(records: list[RunRecord]) -> None:
    for part in (
        lambda record: np.concatenate([plan.position for plan in record.plans]),
        lambda record: record.estimated_odom.position_m,
        lambda record: record.estimated_joints.velocity,
        lambda record: record.joint_states.effort,
        lambda record: record.object_pose.quaternion_wxyz,
        lambda record: record.plant_odom.position_m,
    ):
        assert len({digest(part(record)) for record in records}) == 1


def test_the_bag_lacks_no_message(records: list[RunRecord]) -> None:
    for record in records:
        for series in (record.joint_states, record.commands, record.applied, record.desired):
            assert len(series) == STEPS
            assert set(np.diff(series.t_ns)) == {1_000_000}
        assert len(record.plans) == TICKS
        assert (len(record.estimated_odom), len(record.estimated_joints)) == (ESTIMATES, ESTIMATES)
        assert len(record.plant_odom) == TRUTHS
        assert not [plan for plan in record.plans if not len(plan.times_s)]


def test_the_sensors_are_noisy(records: list[RunRecord]) -> None:
    """The digests above could differ: there is noise, drawn from the seed."""
    poses, truth = records[0].object_pose, records[0].plant_odom
    before = poses.t_ns <= truth.t_ns[0]  # of the object at rest, before simulated time begins
    assert before.any()
    assert np.all(np.linalg.norm(poses.position_m[before] - truth.position_m[0], axis=1) > 1e-5)
