"""The URDF of a whole system: a tree, with the system's joints and frames where its kinematics has them."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pinocchio
import pytest

pytest.importorskip("rclpy")

from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.launching.system_description import WORLD, describe_system, link_frame
from contact_mpc.settings.resources import share_directory

SYSTEMS = ("allegro_ball", "iiwa_bimanual_box", "planar_pushing", "planar_hand_ball", "leap_ball")
ALIKE_M = 1e-9


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_is_one_tree_from_the_world_on(name: str) -> None:
    robot = ET.fromstring(describe_system(load_system(name)))
    links = [link.get("name") for link in robot.findall("link")]
    children = [child.get("link") for child in robot.findall("joint/child")]
    assert len(set(links)) == len(links) and len(set(children)) == len(children)
    assert set(links) - set(children) == {WORLD}
    joints = [joint.get("name") for joint in robot.findall("joint")]
    assert len(set(joints)) == len(joints)


@pytest.mark.parametrize("name", SYSTEMS)
def test_links_are_where_the_systems_kinematics_has_them(name: str) -> None:
    """Pinocchio reads the URDF by itself, objects at the places of their floating joints."""
    system = load_system(name)
    model = pinocchio.buildModelFromXML(describe_system(system))
    data, place = model.createData(), pinocchio.neutral(model)
    q = system.q_default
    for joint, value in zip(system.joint_names, q[system.n_q_u :], strict=True):
        place[model.joints[model.getJointId(joint)].idx_q] = value
    pinocchio.framesForwardKinematics(model, data, place)
    _, p = forward_kinematics(system.tree, q)
    robots = {robot.name for robot in system.config.robots}
    bodies = {(item.owner, item.link): item for item in system.geometries if item.owner in robots and item.body >= 0}
    assert bodies
    for (owner, link), item in bodies.items():
        frame = data.oMf[model.getFrameId(link_frame(owner, link))]
        assert np.linalg.norm(frame.translation - p[item.body]) < ALIKE_M or _is_welded(system, owner, link), link


def _is_welded(system: object, owner: str, link: str) -> bool:
    """Whether a link hangs from a fixed joint: its body is that of the link before it."""
    joints = system.urdfs[owner].joints  # type: ignore[attr-defined]
    return any(joint.child == link and joint.kind == "fixed" for joint in joints)


@pytest.mark.parametrize("name", SYSTEMS)
def test_meshes_are_files_that_exist(name: str) -> None:
    robot = ET.fromstring(describe_system(load_system(name)))
    for mesh in robot.iter("mesh"):
        assert Path(urlparse(mesh.get("filename", "")).path).is_file()


def test_the_layout_and_the_configuration_name_topics_of_the_stack() -> None:
    folder = share_directory() / "config"
    layout = json.loads((folder / "foxglove" / "stack.json").read_text())
    named = json.dumps(layout) + (folder / "rviz" / "stack.rviz").read_text()
    for topic in ("robot_description", "state_estimator/object_odom", "state_estimator/contacts", "goal_pose"):
        assert named.count(f"ROBOT/{topic}") >= 2
