"""Messages of cameras: poses, poses with covariance and transforms, through the hand-eye calibration."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.estimation.camera_frame import CameraConfig
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.object_poses import ObjectPoseReader, message_type

R, p = rotation_exp(np.array([0.1, 0.2, 0.3])), np.array([0.1, 0.2, 0.3])
LIFTED = {"frame": "camera", "position_m": (0.0, 0.0, 1.0)}


def pose_with_covariance(variances: list[float]) -> PoseWithCovarianceStamped:
    message = PoseWithCovarianceStamped()
    message.header = messages.to_pose_stamped(5, R, p, "camera").header
    messages.fill_pose(message.pose.pose, R, p)
    message.pose.covariance = np.diag(variances).ravel()
    return message


def transform(child: str, t_ns: int, height: float) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header = messages.to_pose_stamped(t_ns, R, p, "camera").header
    message.transform.rotation.w, message.transform.translation.z = 1.0, height
    return message


def test_pose_comes_with_its_stamp_in_the_world() -> None:
    pose = ObjectPoseReader(CameraConfig(**LIFTED)).read(messages.to_pose_stamped(7, R, p, "camera"))
    assert pose is not None and (pose.stamp_ns, pose.deviations) == (7, None)
    np.testing.assert_allclose(pose.R_WB, R, atol=1e-12)
    np.testing.assert_allclose(pose.p_WB, p + [0.0, 0.0, 1.0])


def test_covariance_of_a_message_is_translation_first() -> None:
    reader = ObjectPoseReader(CameraConfig(source="pose_with_covariance", **LIFTED))
    pose = reader.read(pose_with_covariance([4e-6] * 3 + [1e-4] * 3))
    assert pose is not None and pose.deviations == pytest.approx((1e-2, 2e-3))
    silent = reader.read(pose_with_covariance([0.0] * 6))
    assert silent is not None and silent.deviations is None


def test_of_transforms_the_newest_of_the_object_counts() -> None:
    reader = ObjectPoseReader(CameraConfig(source="tf", child_frame="tag:0", **LIFTED))
    parts = [transform("tag:0", 1, 0.1), transform("tag:0", 3, 0.3), transform("tag:1", 9, 0.9)]
    message = SimpleNamespace(transforms=parts)
    pose = reader.read(message)
    assert pose is not None and pose.stamp_ns == reader.stamp_ns(message) == 3
    assert pose.p_WB[2] == pytest.approx(1.3)
    others = SimpleNamespace(transforms=parts[2:])
    assert reader.read(others) is None and reader.stamp_ns(others) is None


def test_another_frame_and_what_is_no_pose_are_refused() -> None:
    reader = ObjectPoseReader(CameraConfig(**LIFTED))
    with pytest.raises(InputError, match="frame 'world'"):
        reader.read(messages.to_pose_stamped(7, R, p))
    message = messages.to_pose_stamped(7, R, p, "camera")
    message.pose.orientation.w = 2.0
    with pytest.raises(InputError, match="unit quaternion"):
        reader.read(message)


def test_transforms_without_their_messages_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tf2_msgs", None)
    monkeypatch.setitem(sys.modules, "tf2_msgs.msg", None)
    with pytest.raises(ConfigError, match="source a ROS 2"):
        message_type(CameraConfig(source="tf", child_frame="tag:0"))
