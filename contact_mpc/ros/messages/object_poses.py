"""Poses of the object from whatever message a camera's node sends: what is read of it, and what is refused."""

from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped

from contact_mpc.errors import ConfigError
from contact_mpc.estimation.camera_frame import CameraConfig, CameraFrame, deviations
from contact_mpc.ros.messages.conversions import COVARIANCE_ORDER, from_stamp, read_pose, read_rigid_transform
from contact_mpc.settings.arrays import FloatArray


class ObjectPose(NamedTuple):
    """Pose X_WB with its stamp, ns, and what the camera says of its standard deviations, rad and m."""

    stamp_ns: int
    R_WB: FloatArray
    p_WB: FloatArray
    deviations: tuple[float, float] | None


def message_type(config: CameraConfig) -> Any:
    """Return the class of a camera's messages.

    Raises
    ------
    ConfigError
        tf2_msgs is not there.
    """
    if config.source == "pose":
        return PoseStamped
    if config.source == "pose_with_covariance":
        return PoseWithCovarianceStamped
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError as error:
        raise ConfigError(
            "camera.source 'tf' needs the messages tf2_msgs, which the wheels of PyPI do not have: source a ROS 2 "
            "installation first, or send PoseStamped"
        ) from error
    return TFMessage


class ObjectPoseReader:
    """Reads the messages of one camera.

    Parameters
    ----------
    config : CameraConfig
        Source, frames and hand-eye calibration.
    """

    def __init__(self, config: CameraConfig) -> None:
        self._config, self._frame = config, CameraFrame(config)

    def stamp_ns(self, message: Any) -> int | None:
        """Return the stamp of the object's pose in a message, ns; None where it has none."""
        part = self._part(message)
        return None if part is None else from_stamp(part.header.stamp)

    def read(self, message: Any) -> ObjectPose | None:
        """Return the object's pose in the world; None where a message of transforms has none of it.

        Raises
        ------
        InputError
            Another frame than expected, not finite, or no unit quaternion.
        """
        part, source = self._part(message), self._config.source
        if part is None:
            return None
        self._frame.check_frame(part.header.frame_id)
        said = None
        if source == "tf":
            R_CF, p_CF = read_rigid_transform(part.transform.rotation, part.transform.translation)
        elif source == "pose":
            R_CF, p_CF = read_pose(part.pose)
        else:
            R_CF, p_CF = read_pose(part.pose.pose)
            covariance = np.array(part.pose.covariance, dtype=np.float64).reshape(6, 6)
            said = deviations(covariance[np.ix_(COVARIANCE_ORDER, COVARIANCE_ORDER)])
        return ObjectPose(from_stamp(part.header.stamp), *self._frame.to_world(R_CF, p_CF), said)

    def _part(self, message: Any) -> Any:
        """Return what has the header: the message itself, or the object's newest transform in it."""
        if self._config.source != "tf":
            return message
        found = [item for item in message.transforms if item.child_frame_id == self._config.child_frame]
        return max(found, key=lambda item: from_stamp(item.header.stamp), default=None)
