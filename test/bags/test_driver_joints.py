"""Joint states under a robot's own topics become one series with the system's names."""

from types import SimpleNamespace
from typing import Any

import pytest

from contact_mpc.bags.driver_joints import DriverJoints, driver_joints
from contact_mpc.bags.topics import JOINTS

ARMS = {
    "groups": [2, 1], "joint_names": ["A1", "A2", "A1"],
    "joint_states_topics": ["left/joint_states", "right/joint_states"],
}  # fmt: skip
NAMES = ["left_1", "left_2", "right_1"]


def message(t_ns: int, names: list[str], values: list[float]) -> Any:
    header = SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=t_ns), frame_id="")
    return SimpleNamespace(header=header, name=names, position=values, velocity=[], effort=[])


def joints(driver: dict[str, Any]) -> DriverJoints:
    found = driver_joints({"driver": driver, "joint_names": NAMES})
    assert found is not None
    return found


def test_two_arms_are_one_series_with_the_names_of_the_system() -> None:
    arms = joints(ARMS)
    left, right = (arms.builder_of(f"/iiwa/{side}/joint_states", JOINTS) for side in ("left", "right"))
    assert left is not None and right is not None
    for t_ns in (1000, 5000):
        left.add(message(t_ns, ["A2", "A1"], [2.0, 1.0]), t_ns)
        right.add(message(t_ns + 10, ["gripper", "A1"], [9.0, 3.0]), t_ns + 10)
    series = left.build()
    assert series.names == tuple(NAMES) and series.t_ns.tolist() == [1000, 5000]  # that of the oldest part
    assert series.position.tolist() == [[1.0, 2.0, 3.0]] * 2
    assert right.key == left.key == "joint_states"


@pytest.mark.parametrize("topic", ["/iiwa/state_estimator/joint_states", "/iiwa/left/other", "/iiwa/joint_states"])
def test_other_topics_are_not_taken(topic: str) -> None:
    assert joints(ARMS).builder_of(topic, JOINTS) is None
    assert joints(ARMS).builder_of("/iiwa/left/joint_states", "std_msgs/msg/String") is None


def test_the_estimate_is_no_topic_of_a_driver_that_says_joint_states() -> None:
    renamed = joints({"joint_names": ["a", "b", "c"], "joint_states_topics": ["joint_states"]})
    assert renamed.builder_of("/hand/joint_states", JOINTS) is not None
    assert renamed.builder_of("/hand/state_estimator/joint_states", JOINTS) is None


@pytest.mark.parametrize("metadata", [{}, {"driver": {}, "joint_names": NAMES}, {"driver": ARMS}])
def test_bags_of_the_packages_own_topics_have_no_driver(metadata: dict[str, Any]) -> None:
    assert driver_joints(metadata) is None
