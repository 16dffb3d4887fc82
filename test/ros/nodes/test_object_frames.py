"""Frames of objects for RViz: a pose becomes a transform; without tf2_msgs the node says what is missing."""

import importlib.util

import pytest

pytest.importorskip("rclpy")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose

from contact_mpc.errors import StackError
from contact_mpc.ros.nodes.object_frames import find_message_type, to_transform


def test_a_pose_is_the_transform_from_the_world() -> None:
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = 1.0, 2.0, 3.0
    pose.orientation.w, pose.orientation.z = 0.6, 0.8
    found = to_transform("ball/ball", Time(sec=4), pose)
    assert (found.header.frame_id, found.child_frame_id, found.header.stamp.sec) == ("world", "ball/ball", 4)
    assert (found.transform.translation.x, found.transform.translation.z) == (1.0, 3.0)
    assert (found.transform.rotation.w, found.transform.rotation.z) == (0.6, 0.8)


def test_without_the_messages_of_tf_it_says_what_to_do() -> None:
    if importlib.util.find_spec("tf2_msgs") is not None:
        assert find_message_type().__name__ == "TFMessage"
        return
    with pytest.raises(StackError, match="tf2_msgs.*source a ROS 2 installation"):
        find_message_type()
