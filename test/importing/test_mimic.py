"""Joints that follow others stay coupled, or are locked where the middle of the leader's range puts them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.importing.mimic import lock_mimics
from contact_mpc.importing.xml_numbers import read_pose
from contact_mpc.model.rotations import rotation_from_rpy

FILE = Path("hand.urdf")


def finger(kind: str = "revolute", mimic: str = 'joint="a" multiplier="-1.5" offset="0.2"') -> ET.Element:
    return ET.fromstring(
        '<robot name="hand"><link name="base"/><link name="near"/><link name="far"/>'
        '<joint name="a" type="revolute"><parent link="base"/><child link="near"/><axis xyz="0 0 1"/>'
        '<limit lower="-0.2" upper="1.0" effort="1" velocity="1"/></joint>'
        f'<joint name="b" type="{kind}"><parent link="near"/><child link="far"/><axis xyz="0 0 2"/>'
        '<origin xyz="0.1 0.2 0" rpy="0 0 0.3"/><limit lower="-3" upper="3" effort="1" velocity="1"/>'
        f"<mimic {mimic}/></joint></robot>"
    )


def test_a_mimic_joint_stays_coupled_and_is_named() -> None:
    robot = finger()
    (note,) = lock_mimics(robot, FILE, is_wanted=False)
    assert "'b' follows 'a'" in note and ET.tostring(robot) == ET.tostring(finger())


def test_a_locked_hinge_stands_where_the_middle_of_the_leader_puts_it() -> None:
    robot = finger()
    (note,) = lock_mimics(robot, FILE, is_wanted=True)
    joint = robot.findall("joint")[1]
    place = -1.5 * 0.4 + 0.2
    assert joint.get("type") == "fixed" and joint.find("mimic") is None and "'b' follows 'a'" in note
    assert "by up to 0.9 to either side" in note  # 1.5 * 0.6
    pose = read_pose(joint.find("origin"), "b")
    np.testing.assert_allclose(pose.R, rotation_from_rpy(np.array([0.0, 0.0, 0.3 + place])), atol=1e-6)
    np.testing.assert_allclose(pose.p, [0.1, 0.2, 0.0])


def test_a_locked_slide_is_moved_along_its_axis() -> None:
    robot = finger("prismatic", 'joint="a" multiplier="0.5"')
    lock_mimics(robot, FILE, is_wanted=True)
    np.testing.assert_allclose(read_pose(robot.findall("joint")[1].find("origin"), "b").p, [0.1, 0.2, 0.2])


def test_a_leader_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="joint 'b' follows 'c', which the file does not have"):
        lock_mimics(finger(mimic='joint="c"'), FILE, is_wanted=True)


def test_a_robot_without_followers_stays_as_it_is() -> None:
    robot = finger()
    robot.remove(robot.findall("joint")[1])
    assert lock_mimics(robot, FILE, is_wanted=False) == []
