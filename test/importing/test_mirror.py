"""A mirrored robot moves as the mirror image of the robot."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.importing.mirror import mirror_robot
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import build_system
from contact_mpc.model.system_config import Friction, RobotConfig, SystemConfig
from contact_mpc.settings.resources import resource

MIRROR = np.diag([1.0, -1.0, 1.0])
ROUNDING = 1e-6  # six digits of a file


def hand(urdf: str) -> System:
    robot = RobotConfig(name="hand", urdf=urdf, joint_stiffness_nm_per_rad=1.0, joint_damping_nms_per_rad=0.1)
    config = SystemConfig(name="hand", friction=Friction(default=1.0), robots=(robot,), objects=())
    return build_system(config, resource("urdf", urdf.removesuffix(".urdf")))


def test_the_shipped_left_hand_is_the_mirror_image_of_the_right_one() -> None:
    right, left = hand("allegro_right.urdf"), hand("allegro_left.urdf")
    assert left.joint_names == right.joint_names
    for seed in range(3):
        q = np.random.default_rng(seed).uniform(right.q_min, right.q_max)
        (R_r, p_r), (R_l, p_l) = (forward_kinematics(item.tree, q) for item in (right, left))
        np.testing.assert_allclose(p_l, p_r @ MIRROR, atol=ROUNDING)
        np.testing.assert_allclose(R_l, MIRROR @ R_r @ MIRROR, atol=ROUNDING)


def test_mirrored_twice_a_robot_is_as_before() -> None:
    file = resource("urdf", "leap_right")
    before, robot = hand("leap_right.urdf"), ET.parse(file).getroot()
    for _ in range(2):
        mirror_robot(robot, file)
    origins = [item.get("xyz") for item in robot.iter("origin")]
    for found, given in zip(
        origins, (item.get("xyz") for item in ET.parse(file).getroot().iter("origin")), strict=True
    ):
        np.testing.assert_allclose(np.fromstring(found, sep=" "), np.fromstring(given, sep=" "), atol=ROUNDING)
    assert before.n_a == len([j for j in robot.findall("joint") if j.get("type") == "revolute"])


def test_a_mesh_has_no_mirror_image() -> None:
    robot = ET.fromstring(
        '<robot name="r"><link name="a"><collision><geometry><mesh filename="tip.obj"/></geometry></collision></link>'
        "</robot>"
    )
    with pytest.raises(ConfigError, match=r"hand.urdf: mesh tip.obj cannot be mirrored"):
        mirror_robot(robot, Path("hand.urdf"))
