"""The topic table: name, type and quality of service of every topic, for both clocks.

BE1 = best effort, keep last 1; R1 = reliable, volatile, keep last 1; R10 = reliable, keep last 10; L1 = reliable,
transient local, keep last 1. In lockstep BE1 and R1 become reliable with a deep history: there a lost message would
stop the clock or change the result. Everything else is the same in both clocks.
"""

from dataclasses import dataclass
from typing import Any, Literal

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String, UInt64
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

Quality = Literal["BE1", "R1", "R10", "L1"]
ClockName = Literal["lockstep", "realtime"]

LOCKSTEP_DEPTH = 4096


@dataclass(frozen=True)
class Topic:
    """One topic.

    Attributes
    ----------
    name : str
        Relative to the robot's namespace; absolute where it begins with a slash.
    msg_type : type
        Message class.
    quality : str
        Quality of service in the realtime clock.
    recorded : bool
        Whether the recorder subscribes to it.
    """

    name: str
    msg_type: Any
    quality: Quality
    recorded: bool = True


_TOPICS = (
    Topic("joint_states", JointState, "BE1"),
    Topic("object_pose", PoseStamped, "BE1"),
    Topic("state_estimator/joint_states", JointState, "BE1"),
    Topic("state_estimator/object_odom", Odometry, "BE1"),
    Topic("state_estimator/contacts", MarkerArray, "BE1"),
    Topic("state_estimator/contact_hypotheses", MarkerArray, "BE1", recorded=False),
    Topic("state_estimator/contact_location", DiagnosticStatus, "BE1", recorded=False),
    Topic("external_torques", JointState, "BE1", recorded=False),
    Topic("reference", JointTrajectory, "L1"),
    Topic("object_reference", MultiDOFJointTrajectory, "L1"),
    Topic("mpc_tracker/plan", JointTrajectory, "R1"),
    Topic("mpc_tracker/solve_status", DiagnosticStatus, "R10"),
    Topic("command_bridge/desired", JointState, "BE1"),
    Topic("command_bridge/applied", JointState, "BE1"),
    Topic("effort_controller/commands", Float64MultiArray, "R1"),
    Topic("position_controller/commands", Float64MultiArray, "R1"),
    Topic("command_bridge/safety", DiagnosticStatus, "L1"),
    Topic("goal_pose", PoseStamped, "R10", recorded=False),
    Topic("goal_status", DiagnosticStatus, "L1", recorded=False),
    Topic("plant/object_odom", Odometry, "BE1"),
    Topic("run_metadata", String, "L1", recorded=False),  # the recorder writes it itself
    Topic("recorder/written_until", UInt64, "R1", recorded=False),
    Topic("/diagnostics", DiagnosticArray, "R10"),
    Topic("/clock", Clock, "BE1"),
)
TOPICS: dict[str, Topic] = {topic.name: topic for topic in _TOPICS}


def qos_profile(quality: Quality, clock: ClockName, depth: int = 1) -> QoSProfile:
    """Return the QoS profile of a quality in a clock; `depth` is for who reads more than the newest in realtime."""
    deep = clock == "lockstep" and quality in ("BE1", "R1")
    best_effort = quality == "BE1" and not deep
    return QoSProfile(
        history=QoSHistoryPolicy.KEEP_LAST,
        depth=LOCKSTEP_DEPTH if deep else 10 if quality == "R10" else depth,
        reliability=QoSReliabilityPolicy.BEST_EFFORT if best_effort else QoSReliabilityPolicy.RELIABLE,
        durability=QoSDurabilityPolicy.TRANSIENT_LOCAL if quality == "L1" else QoSDurabilityPolicy.VOLATILE,
    )


# For who reads a latched topic that tells changes, and every one of them, also when held up between two.
EVERY_CHANGE = qos_profile("L1", "realtime", depth=100)
