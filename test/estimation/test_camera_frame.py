"""Hand-eye calibration: poses of a camera as poses of the object in the world, frames that do not fit, covariances."""

import numpy as np
import pytest
from pydantic import ValidationError

from contact_mpc.errors import InputError
from contact_mpc.estimation.camera_frame import CameraConfig, CameraFrame, deviations
from contact_mpc.model.rotations import matrix_to_quaternion, rotation_exp

R_WC, p_WC = rotation_exp(np.array([2.0, -0.4, 0.3])), np.array([0.5, -0.2, 0.8])
R_FB, p_FB = rotation_exp(np.array([0.0, 0.0, 0.7])), np.array([0.0, 0.0, -0.03])


def test_a_point_of_the_object_is_where_each_frame_in_turn_puts_it() -> None:
    camera = CameraFrame(
        CameraConfig(
            position_m=tuple(p_WC), quaternion_wxyz=tuple(matrix_to_quaternion(R_WC)),
            object_position_m=tuple(p_FB), object_quaternion_wxyz=tuple(matrix_to_quaternion(R_FB)),
        )
    )  # fmt: skip
    R_CF, p_CF, point_B = (
        rotation_exp(np.array([0.1, 0.9, -0.5])),
        np.array([0.02, 0.1, 0.6]),
        np.array([0.01, 0.02, 0.03]),
    )
    R_WB, p_WB = camera.to_world(R_CF, p_CF)
    point_F = R_FB @ point_B + p_FB
    point_C = R_CF @ point_F + p_CF
    np.testing.assert_allclose(R_WB @ point_B + p_WB, R_WC @ point_C + p_WC, atol=1e-12)


def test_by_default_poses_are_those_of_the_object_in_the_world_bit_for_bit() -> None:
    R, p = CameraFrame(CameraConfig()).to_world(R_WC, p_WC)
    assert np.array_equal(R, R_WC) and np.array_equal(p, p_WC)


def test_poses_in_another_frame_are_refused_with_what_to_set() -> None:
    camera = CameraFrame(CameraConfig(frame="camera_optical"))
    camera.check_frame("camera_optical")
    with pytest.raises(InputError, match=r"'world'.*expected 'camera_optical'.*camera\.frame"):
        camera.check_frame("world")
    CameraFrame(CameraConfig()).check_frame("anything")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"quaternion_wxyz": (0.0, 0.0, 0.0, 2.0)}, "norm 2"),
        ({"object_quaternion_wxyz": (0.0, 0.0, 0.0, 0.0)}, "norm 0"),
        ({"source": "tf"}, "child_frame names the object's frame"),
        ({"child_frame": "ball"}, "child_frame names the object's frame"),
        ({"source": "image"}, "pose_with_covariance"),
        ({"position_m": (0.0, float("nan"), 0.0)}, "finite"),
    ],
)
def test_calibration_that_is_none_is_refused(values: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CameraConfig(**values)


def test_covariance_gives_one_deviation_for_turns_and_one_for_distances() -> None:
    assert deviations(np.diag([1e-4] * 3 + [4e-6] * 3)) == pytest.approx((1e-2, 2e-3))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_covariance_that_says_nothing_is_none(bad: float) -> None:
    assert deviations(np.diag([1.0, 1.0, 1.0, 1.0, 1.0, bad])) is None
