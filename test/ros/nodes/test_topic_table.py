"""The topics of the stack: names, types and quality of service as documented."""

import pytest

pytest.importorskip("rclpy")

from rclpy.qos import QoSDurabilityPolicy as Durability
from rclpy.qos import QoSReliabilityPolicy as Reliability

from contact_mpc.ros.messages.qos import LOCKSTEP_DEPTH, TOPICS, qos_profile
from contact_mpc.ros.nodes.recorder import type_name

DOCUMENTED = {
    "joint_states": ("sensor_msgs/msg/JointState", "BE1"),
    "object_pose": ("geometry_msgs/msg/PoseStamped", "BE1"),
    "state_estimator/joint_states": ("sensor_msgs/msg/JointState", "BE1"),
    "state_estimator/object_odom": ("nav_msgs/msg/Odometry", "BE1"),
    "state_estimator/contacts": ("visualization_msgs/msg/MarkerArray", "BE1"),
    "state_estimator/contact_hypotheses": ("visualization_msgs/msg/MarkerArray", "BE1"),
    "state_estimator/contact_location": ("diagnostic_msgs/msg/DiagnosticStatus", "BE1"),
    "external_torques": ("sensor_msgs/msg/JointState", "BE1"),
    "reference": ("trajectory_msgs/msg/JointTrajectory", "L1"),
    "object_reference": ("trajectory_msgs/msg/MultiDOFJointTrajectory", "L1"),
    "mpc_tracker/plan": ("trajectory_msgs/msg/JointTrajectory", "R1"),
    "mpc_tracker/solve_status": ("diagnostic_msgs/msg/DiagnosticStatus", "R10"),
    "command_bridge/desired": ("sensor_msgs/msg/JointState", "BE1"),
    "command_bridge/applied": ("sensor_msgs/msg/JointState", "BE1"),
    "effort_controller/commands": ("std_msgs/msg/Float64MultiArray", "R1"),
    "position_controller/commands": ("std_msgs/msg/Float64MultiArray", "R1"),
    "command_bridge/safety": ("diagnostic_msgs/msg/DiagnosticStatus", "L1"),
    "goal_pose": ("geometry_msgs/msg/PoseStamped", "R10"),
    "goal_status": ("diagnostic_msgs/msg/DiagnosticStatus", "L1"),
    "plant/object_odom": ("nav_msgs/msg/Odometry", "BE1"),
    "run_metadata": ("std_msgs/msg/String", "L1"),
    "recorder/written_until": ("std_msgs/msg/UInt64", "R1"),
    "/diagnostics": ("diagnostic_msgs/msg/DiagnosticArray", "R10"),
    "/clock": ("rosgraph_msgs/msg/Clock", "BE1"),
}


def test_topics_types_and_qualities_are_the_documented_ones() -> None:
    assert {name: (type_name(topic), topic.quality) for name, topic in TOPICS.items()} == DOCUMENTED


@pytest.mark.parametrize(
    ("quality", "reliability", "durability", "depth"),
    [
        ("BE1", Reliability.BEST_EFFORT, Durability.VOLATILE, 1),
        ("R1", Reliability.RELIABLE, Durability.VOLATILE, 1),
        ("R10", Reliability.RELIABLE, Durability.VOLATILE, 10),
        ("L1", Reliability.RELIABLE, Durability.TRANSIENT_LOCAL, 1),
    ],
)
def test_qualities_mean_what_their_names_say_in_realtime(
    quality: str, reliability: Reliability, durability: Durability, depth: int
) -> None:
    profile = qos_profile(quality, "realtime")
    assert (profile.reliability, profile.durability, profile.depth) == (reliability, durability, depth)


@pytest.mark.parametrize("quality", ["BE1", "R1"])
def test_lockstep_loses_nothing(quality: str) -> None:
    profile = qos_profile(quality, "lockstep")
    assert profile.reliability == Reliability.RELIABLE
    assert profile.depth == LOCKSTEP_DEPTH


@pytest.mark.parametrize("quality", ["R10", "L1"])
def test_what_is_reliable_and_rare_is_the_same_in_both_clocks(quality: str) -> None:
    assert qos_profile(quality, "lockstep") == qos_profile(quality, "realtime")
