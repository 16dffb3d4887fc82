"""Frames of the objects and of the goal on /tf, for RViz and Foxglove; those of robots are robot_state_publisher's.

A listener of low priority. The messages of tf2_msgs come with a ROS 2 installation, not with the PyPI wheels: without
them this node says so and ends, and nothing else does.
"""

import sys
from typing import Any

import rclpy
from geometry_msgs.msg import PoseStamped, Transform, TransformStamped
from nav_msgs.msg import Odometry
from pydantic import BaseModel, ConfigDict, Field
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy

from contact_mpc.errors import ContactMpcError, StackError
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.launching.system_description import WORLD, link_frame
from contact_mpc.ros.runtime.parameters import declare_config
from contact_mpc.ros.runtime.parent_process import die_with_parent

NEWEST = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
GOAL_FRAME = "goal"


class ObjectFramesConfig(BaseModel):
    """Parameters of the node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str = Field(min_length=1, description="name of a system or path of its YAML")
    rate_hz: float = Field(default=30.0, gt=0.0, le=200.0, description="frames per second")


class ObjectFrames(Node):
    """Publishes where the first object and its goal are."""

    def __init__(self, message_type: Any) -> None:
        super().__init__("object_frames", automatically_declare_parameters_from_overrides=True)
        config = declare_config(self, ObjectFramesConfig)
        system = load_system(config.system)
        name = system.object_names[0]
        self._type, self._frame = message_type, link_frame(name, system.urdfs[name].root)
        self._frames: dict[str, TransformStamped] = {}
        self._publisher = self.create_publisher(message_type, "/tf", 100)
        self.create_subscription(Odometry, "state_estimator/object_odom", self._on_object, NEWEST)
        self.create_subscription(PoseStamped, "goal_pose", self._on_goal, 1)
        self.create_timer(1.0 / config.rate_hz, self._publish)

    def _on_object(self, message: Odometry) -> None:
        self._frames[self._frame] = to_transform(self._frame, message.header.stamp, message.pose.pose)

    def _on_goal(self, message: PoseStamped) -> None:
        self._frames[GOAL_FRAME] = to_transform(GOAL_FRAME, message.header.stamp, message.pose)

    def _publish(self) -> None:
        if self._frames:
            self._publisher.publish(self._type(transforms=list(self._frames.values())))


def to_transform(child: str, stamp: Any, pose: Any) -> TransformStamped:
    """Return where a frame is in the world."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = WORLD, stamp
    place = pose.position
    message.transform = Transform(rotation=pose.orientation)
    message.transform.translation.x, message.transform.translation.y = place.x, place.y
    message.transform.translation.z = place.z
    return message


def find_message_type() -> Any:
    """Return the type of /tf; raises StackError where it is not installed."""
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError as error:
        raise StackError("/tf needs tf2_msgs, which is not in the PyPI wheels: source a ROS 2 installation") from error
    return TFMessage


def main() -> None:
    """Run the node as a process."""
    die_with_parent()
    try:
        message_type = find_message_type()
        rclpy.init()
        rclpy.spin(ObjectFrames(message_type))
    except ContactMpcError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, ExternalShutdownException):
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
