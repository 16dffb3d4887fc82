"""Where a camera is and what it measures: its poses become poses of the object in the world, or are refused.

The camera measures a frame F (a marker, a model's own origin) in its own frame C. With the hand-eye calibration X_WC
and where the object's frame B lies in F,

    X_WB = X_WC X_CF X_FB.

The calibration's error is not estimated: it shows as an offset of the object, which contacts and poses disagree about.
"""

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import quaternion_to_matrix
from contact_mpc.settings.arrays import FloatArray

Source = Literal["pose", "pose_with_covariance", "tf"]
QUATERNION_TOLERANCE = 1e-3


class CameraConfig(BaseModel):
    """What sends the object's poses, in which frame, and where that frame is; by default the world's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    source: Source = Field(
        default="pose",
        description="pose: PoseStamped; pose_with_covariance: PoseWithCovarianceStamped, whose covariance counts; "
        "tf: transforms of child_frame, for which tf2_msgs has to be there (a sourced ROS 2)",
    )
    topic: str = Field(default="object_pose", min_length=1, description="topic of the poses; for tf usually /tf")
    frame: str = Field(default="", description="frame that poses have to come in; others are refused; empty: any")
    child_frame: str = Field(default="", description="tf: frame of the object, e.g. tag36h11:0")
    position_m: tuple[float, float, float] = Field(
        default=(0.0, 0.0, 0.0),
        description="hand-eye: origin of that frame in the world",
        json_schema_extra={"unit": "m"},
    )
    quaternion_wxyz: tuple[float, float, float, float] = Field(
        default=(1.0, 0.0, 0.0, 0.0), description="hand-eye: turn of that frame in the world, w first"
    )
    object_position_m: tuple[float, float, float] = Field(
        default=(0.0, 0.0, 0.0),
        description="origin of the object in the frame that is measured, e.g. of a tag on it",
        json_schema_extra={"unit": "m"},
    )
    object_quaternion_wxyz: tuple[float, float, float, float] = Field(
        default=(1.0, 0.0, 0.0, 0.0), description="turn of the object in the frame that is measured, w first"
    )

    @model_validator(mode="after")
    def _check_consistency(self) -> "CameraConfig":
        if (self.source == "tf") != bool(self.child_frame):
            raise ValueError(
                f"source '{self.source}' with child_frame '{self.child_frame}'; child_frame names the object's frame "
                "for source tf, and for it alone"
            )
        for name in ("quaternion_wxyz", "object_quaternion_wxyz"):
            norm = float(np.linalg.norm(getattr(self, name)))
            if abs(norm - 1.0) > QUATERNION_TOLERANCE:
                raise ValueError(f"{name} has norm {norm:.6g}; give a unit quaternion, w first")
        return self


class CameraFrame:
    """Turns measured poses X_CF into X_WB.

    Parameters
    ----------
    config : CameraConfig
        Hand-eye calibration, object in the measured frame, and the frame that is expected.
    """

    def __init__(self, config: CameraConfig) -> None:
        self._frame = config.frame
        self._R_WC, self._p_WC = _transform(config.quaternion_wxyz, config.position_m)
        self._R_FB, self._p_FB = _transform(config.object_quaternion_wxyz, config.object_position_m)

    def check_frame(self, frame: str) -> None:
        """Raise InputError where poses of this frame are not those that the calibration is for."""
        if self._frame and frame != self._frame:
            raise InputError(
                f"a pose in frame '{frame}', expected '{self._frame}': set camera.frame and the hand-eye calibration "
                "(camera.position_m, camera.quaternion_wxyz) for the frame that poses come in"
            )

    def to_world(self, R_CF: FloatArray, p_CF: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (R_WB (3, 3), p_WB (3,)) of a measured pose (3, 3), (3,) m."""
        R_CB, p_CB = R_CF @ self._R_FB, p_CF + R_CF @ self._p_FB
        return self._R_WC @ R_CB, self._p_WC + self._R_WC @ p_CB


def _transform(wxyz: tuple[float, ...], position_m: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    quaternion = np.array(wxyz)
    return quaternion_to_matrix(quaternion / np.linalg.norm(quaternion)), np.array(position_m)


def deviations(covariance: FloatArray) -> tuple[float, float] | None:
    """Return standard deviations, rad and m, of a pose's covariance (6, 6) of [rotation, translation]; one per kind.

    None where it says nothing: zeros, as most cameras send, or what is no covariance.
    """
    diagonal = np.diag(covariance)
    if not np.isfinite(diagonal).all() or np.any(diagonal <= 0.0):
        return None
    return float(np.sqrt(np.mean(diagonal[:3]))), float(np.sqrt(np.mean(diagonal[3:])))
