"""The recorder over real DDS: nothing lost, readable whatever happens, and clear where it cannot write."""

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from contact_mpc.bags.bag import read_run
from contact_mpc.errors import StackError
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import qos_profile

pytestmark = pytest.mark.dds

NAMES = ["a", "b"]
T0 = 1_000_000_000
MS = 1_000_000


def record(make_rig: Callable[..., Any], bag: Path, clock: str = "lockstep", **parameters: Any) -> Any:
    values = {"system": "planar_hand_ball", "bag": str(bag)} | parameters
    return make_rig(clock, recorder=values).configure().activate()


def publish(rig: Any, publisher: Any, first: int, count: int) -> None:
    message = messages.make_joint_state(NAMES)
    for k in range(first, first + count):
        q = np.array([float(k), -float(k)])
        publisher.publish(messages.fill_joint_state(message, T0 + k * MS, q, 0.5 * q, None))


def wait_for_written(rig: Any, written: list[Any], k: int) -> None:
    rig.wait_until(lambda: written and written[-1].data >= T0 + k * MS, f"written until step {k}")


def test_every_message_of_a_burst_is_written_bit_for_bit(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    rig = record(make_rig, tmp_path / "bag", metadata_json='{"task": "burst"}')
    written = rig.collect("recorder/written_until")
    states, applied = rig.publisher("joint_states"), rig.publisher("command_bridge/applied")
    rig.connect(states, applied)
    for first in range(0, 3000, 500):
        publish(rig, applied, first, 500)
        publish(rig, states, first, 500)
        wait_for_written(rig, written, first + 400)
    assert all(publisher.wait_for_all_acked(Duration(seconds=10)) for publisher in (states, applied))
    assert rig.request("recorder", "deactivate") and rig.request("recorder", "cleanup")
    found = read_run(tmp_path / "bag")
    assert found.warnings == ()
    assert found.metadata["task"] == "burst"
    for series in (found.joint_states, found.applied):
        assert series.t_ns.tolist() == [T0 + k * MS for k in range(3000)]
        assert series.position[:, 0].tolist() == [float(k) for k in range(3000)]
    assert np.all(np.diff(found.joint_states.receive_ns) >= 0)


def test_a_robots_own_topics_are_recorded_and_open_offline(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    driver = {
        "joint_names": ["left", "right"],
        "joint_states_topics": ["drives/state"],
        "command_topics": ["drives/go"],
    }
    known = json.dumps({"driver": driver, "joint_names": NAMES})
    rig = record(make_rig, tmp_path / "bag", metadata_json=known, driver=driver)
    written = rig.collect("recorder/written_until")
    profile = qos_profile("R1", "lockstep")
    states = rig.stack.node.create_publisher(JointState, "drives/state", profile)
    commands = rig.stack.node.create_publisher(Float64MultiArray, "drives/go", profile)
    rig.connect(states, commands)
    message = messages.make_joint_state(["right", "left"])
    for k in range(201):
        states.publish(messages.fill_joint_state(message, T0 + k * MS, np.array([1.0, float(k)]), None, None))
        commands.publish(Float64MultiArray(data=[0.0, 1.0]))
    wait_for_written(rig, written, 100)
    assert all(publisher.wait_for_all_acked(Duration(seconds=10)) for publisher in (states, commands))
    assert rig.request("recorder", "deactivate") and rig.request("recorder", "cleanup")
    found = read_run(tmp_path / "bag")
    assert found.joint_states.names == tuple(NAMES) and found.joint_states.position[-1].tolist() == [200.0, 1.0]
    assert [count for name, (_, count) in found.topics.items() if name.endswith("drives/go")] == [201]


def test_memory_does_not_grow_with_the_run(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    rig = record(make_rig, tmp_path / "bag")
    written = rig.collect("recorder/written_until")
    states = rig.publisher("joint_states")
    rig.connect(states)

    def resident_mb() -> float:
        pages = int(Path(f"/proc/{rig.stack.processes['recorder'].pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6

    sizes = []
    for first in range(0, 12000, 1000):
        publish(rig, states, first, 1000)
        wait_for_written(rig, written, first + 900)
        sizes.append(resident_mb())
    assert sizes[-1] - sizes[3] < 8.0  # MB, once the queues have filled; a chunk of the bag is 1 MB


def test_a_killed_recorder_loses_at_most_the_last_second(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    rig = record(make_rig, tmp_path / "bag")
    written = rig.collect("recorder/written_until")
    states = rig.publisher("joint_states")
    rig.connect(states)
    publish(rig, states, 0, 301)
    wait_for_written(rig, written, 300)
    time.sleep(1.3)  # a flush every second
    os.kill(rig.stack.processes["recorder"].pid, signal.SIGKILL)
    rig.stack.processes["recorder"].wait()
    found = read_run(tmp_path / "bag")
    assert len(found.joint_states) == 301
    assert found.warnings


def test_a_terminated_recorder_closes_its_bag(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    rig = record(make_rig, tmp_path / "bag")
    process = rig.stack.processes["recorder"]
    process.signal(signal.SIGTERM)
    process.wait()
    assert process.exit_code == 0
    assert read_run(tmp_path / "bag").warnings == ()


@pytest.mark.parametrize("kind", ["file in the way", "bag in the way"])
def test_a_bag_that_cannot_be_made_is_refused(make_rig: Callable[..., Any], tmp_path: Path, kind: str) -> None:
    (tmp_path / "taken").mkdir() if kind == "bag in the way" else (tmp_path / "taken").write_text("")
    bag = tmp_path / "taken" if kind == "bag in the way" else tmp_path / "taken" / "bag"
    rig = make_rig("lockstep", recorder={"system": "planar_hand_ball", "bag": str(bag)})
    with pytest.raises(StackError, match=f"node recorder: cannot configure: bag {bag}"):
        rig.configure()
    assert "Traceback" not in rig.log("recorder")
    assert rig.stack.processes["recorder"].exit_code is None  # another parameter may still be tried


def test_a_full_disk_ends_the_recorder_with_a_message(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    rig = record(make_rig, tmp_path / "bag")
    states = rig.publisher("joint_states")
    rig.connect(states)
    process = rig.stack.processes["recorder"]
    publish(rig, states, 0, 300)
    file = tmp_path / "bag" / "bag.mcap"
    rig.wait_until(lambda: file.stat().st_size > 300 * 50, "the first chunk")
    limit = file.stat().st_size + 10_000
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    publish(rig, states, 300, 4000)
    with pytest.raises(StackError, match="node recorder ended with exit code 1"):
        rig.wait_until(lambda: False, "the end of the recorder")
    assert "cannot be written" in rig.log("recorder")
    assert "Traceback" not in rig.log("recorder")
    found = read_run(tmp_path / "bag")
    assert found.warnings
    assert len(found.joint_states) >= 300


def test_metadata_that_is_no_json_is_refused(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    values = {"system": "planar_hand_ball", "bag": str(tmp_path / "bag"), "metadata_json": "{"}
    rig = make_rig("lockstep", recorder=values)
    with pytest.raises(StackError, match="metadata_json is not valid JSON"):
        rig.configure()
