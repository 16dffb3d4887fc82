"""Robots behind ros2_control: descriptions expand, agree with controllers and system, and what disagrees is refused."""

import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("xacro", reason="xacro is not installed: pip install xacro")

from contact_mpc.errors import ConfigError
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.urdf import read_urdf
from contact_mpc.ros.driver.robot_file import RobotFile, load_robot
from contact_mpc.ros.launching.robot_description import (
    build_description,
    check_limits,
    check_robot,
    to_urdf_1_0,
)
from contact_mpc.settings.resources import resource, resource_names, share_directory
from contact_mpc.task.node_parameters import load_node_parameters

ROBOTS = [name for name in resource_names("robots") if load_robot(name).description is not None]
IGN = shutil.which("ign")
needs_sdformat = pytest.mark.skipif(
    IGN is None, reason="sdformat's tool is missing: apt install ignition-tools libsdformat-dev sdformat-sdf"
)
FRI_STATES = {
    "position", "velocity", "effort", "commanded_joint_position", "commanded_torque", "external_torque",
    "ipo_joint_position",
}  # fmt: skip


def bridge_of(robot: RobotFile) -> dict[str, Any]:
    return load_node_parameters(robot.parameters, "command_bridge")


def sdf_check(path: Path, option: str) -> str:
    """Run sdformat's own check; returns its output without the tool's own complaint."""
    run = subprocess.run([str(IGN), "sdf", option, str(path)], capture_output=True, text=True)
    output = "\n".join(line for line in (run.stdout + run.stderr).splitlines() if "libignition-tools" not in line)
    assert run.returncode == 0 and "Error" not in output, output
    return output


@pytest.mark.parametrize("name", ROBOTS)
def test_the_files_of_a_robot_agree(name: str) -> None:
    robot = load_robot(name)
    check_robot(robot, load_system(robot.system), bridge_of(robot))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("mode", ["gazebo", "hardware", "mock"])
def test_a_description_keeps_links_and_joints_of_the_urdf(name: str, mode: Any, tmp_path: Path) -> None:
    robot = load_robot(name)
    system = load_system(robot.system)
    path = tmp_path / "robot.urdf"
    path.write_text(build_description(robot, mode, "arm", plugin="some/Plugin"))
    expanded, original = read_urdf(path), system.urdfs[system.config.robots[0].name]
    assert set(expanded.links) - set(original.links) <= {"world"}
    for joint in original.joints:
        twin = next(item for item in expanded.joints if item.name == joint.name)
        for key in ("parent", "child", "kind", "lower", "upper", "velocity", "effort"):
            np.testing.assert_array_equal(getattr(twin, key), getattr(joint, key), err_msg=f"{joint.name} {key}")
    assert "capsule" not in path.read_text() and "version" not in ET.parse(path).getroot().attrib


@needs_sdformat
@pytest.mark.parametrize("name", ROBOTS)
def test_sdformat_reads_the_description_for_gazebo_whole(name: str, tmp_path: Path) -> None:
    robot = load_robot(name)
    path = tmp_path / "robot.urdf"
    path.write_text(build_description(robot, "gazebo", "arm"))
    model = ET.fromstring(sdf_check(path, "-p")).find("model")
    assert model is not None
    moving = {item.get("name") for item in model.findall("joint") if item.get("type") != "fixed"}
    assert moving == set(load_system(robot.system).joint_names)
    assert model.find("plugin[@name='gz_ros2_control::GazeboSimROS2ControlPlugin']/parameters") is not None


@needs_sdformat
def test_sdformat_accepts_the_worlds() -> None:
    for path in sorted((share_directory() / "gazebo" / "worlds").glob("*.sdf")):
        assert sdf_check(path, "-k").strip() == "Valid."


def test_the_block_in_the_world_is_the_block_of_the_system() -> None:
    block = ET.parse(share_directory() / "gazebo/worlds/anypulator_block.sdf").find("world/model[@name='block']")
    assert block is not None
    system = load_system("anypulator_block")
    link = system.urdfs["block"].links["block"]
    assert float(block.findtext("link/inertial/mass", "")) == link.mass
    diagonal = [float(block.findtext(f"link/inertial/inertia/{key}", "")) for key in ("ixx", "iyy", "izz")]
    np.testing.assert_allclose(diagonal, np.diag(link.inertia))
    shapes = []
    for item in block.findall("link/collision"):
        size = item.findtext("geometry/box/size") or item.findtext("geometry/sphere/radius") or ""
        pose = [float(value) for value in item.findtext("pose", "").split()]
        shapes.append((tuple(float(value) for value in size.split()), tuple(pose[:3])))
        assert float(item.findtext("surface/friction/ode/mu", "")) == system.config.friction.default
    assert shapes == [(shape.size, tuple(shape.X_LG.p)) for shape in link.collisions]
    task = yaml.safe_load(resource("tasks", "anypulator_block").read_text())["start"]
    pose = [float(value) for value in block.findtext("pose", "").split()]
    assert pose == task["object_position_m"] + task["object_rpy_rad"]


def test_the_topic_bridge_feeds_topics_of_the_table() -> None:
    pytest.importorskip("rclpy")
    from contact_mpc.ros.messages.qos import TOPICS

    entries = yaml.safe_load((share_directory() / "config/gazebo/anypulator_bridge.yaml").read_text())
    for entry in entries:
        package, _, kind = entry["ros_type_name"].split("/")
        message = TOPICS[entry["ros_topic_name"]].msg_type
        assert (message.__module__.split(".")[0], message.__name__) == (package, kind)
        assert entry["direction"] == "GZ_TO_ROS"


def test_the_iiwa_has_what_the_plugin_for_the_fri_asks_for() -> None:
    tag = ET.fromstring(build_description(load_robot("iiwa"), "hardware", "iiwa")).find("ros2_control")
    assert tag is not None and tag.findtext("hardware/plugin") == "lbr_ros2_control::SystemInterface"
    assert tag.findtext("hardware/param[@name='client_command_mode']") == "position"
    assert len(tag.findall("joint")) == 7 and len(tag.findall("gpio/command_interface")) == 6
    assert len(tag.findall("sensor[@name='auxiliary_sensor']/state_interface")) == 12
    for joint in tag.findall("joint"):
        assert {item.get("name") for item in joint.findall("command_interface")} == {"position", "effort"}
        assert {item.get("name") for item in joint.findall("state_interface")} == FRI_STATES


def test_a_capsule_becomes_a_cylinder_with_a_sphere_at_each_end() -> None:
    text = """<robot name="a" version="1.2"><link name="l"><collision><origin xyz="1 0 0" rpy="0 1.5707963267948966 0"/>
    <geometry><capsule radius="0.1" length="0.4"/></geometry></collision></link></robot>"""
    found = ET.fromstring(to_urdf_1_0(text)).findall("link/collision")
    kinds = [item.find("geometry")[0].tag for item in found]  # type: ignore[index]
    assert kinds == ["cylinder", "sphere", "sphere"]
    ends = np.array([[float(v) for v in item.find("origin").get("xyz").split()] for item in found])  # type: ignore
    np.testing.assert_allclose(ends, [[1.0, 0, 0], [1.2, 0, 0], [0.8, 0, 0]], atol=1e-12)


# Refusals.


def changed(tmp_path: Path, name: str, old: str, new: str) -> RobotFile:
    """Return a robot whose controllers file has one change."""
    robot = load_robot(name)
    text = (share_directory() / "config" / robot.controllers).read_text()
    assert old in text
    path = tmp_path / "controllers.yaml"
    path.write_text(text.replace(old, new))
    return robot.model_copy(update={"controllers": str(path)})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    effort_controller:\n", "    efort_controller:\n", "no controller 'effort_controller'"),
        ("[sh_rot, sh_fle,", "[sh_fle, sh_rot,", "effort_controller.joints"),
        ("interface_name: effort", "interface_name: position", "interface_name"),
        ("update_rate: 1000", "update_rate: 500", "update_rate is 500; expected 1000"),
        ("ForwardCommandController", "Other", "effort_controller.type"),
    ],
)
def test_controllers_that_do_not_fit_are_refused_by_file_and_key(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    robot = changed(tmp_path, "anypulator", old, new)
    with pytest.raises(ConfigError, match=message) as error:
        check_robot(robot, load_system(robot.system), bridge_of(robot))
    assert "controllers.yaml" in str(error.value)


def test_another_robots_system_or_interface_is_refused() -> None:
    robot = load_robot("anypulator")
    with pytest.raises(ConfigError, match="joints"):
        check_robot(robot, load_system("iiwa_box"), bridge_of(robot))
    with pytest.raises(ConfigError, match="takes 'effort'"):
        check_robot(robot, load_system(robot.system), bridge_of(robot) | {"command_interface": "position"})


def test_limits_that_differ_from_the_urdf_are_refused() -> None:
    robot = load_robot("anypulator")
    system = load_system(robot.system)
    text = build_description(robot, "mock", "")
    with pytest.raises(ConfigError, match=r"'sh_rot': max of the effort command is 41; expected 40"):
        check_limits(Path("x.xacro"), text.replace('name="max">40<', 'name="max">41<', 1), system)
    with pytest.raises(ConfigError, match="min of the effort command is None"):
        check_limits(Path("x.xacro"), text.replace('name="min"', 'name="mim"', 1), system)


def test_unknown_robot_and_misspelt_key_name_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="allegro, anypulator, franka, iiwa"):
        load_robot("ur5")
    path = tmp_path / "arm.yaml"
    path.write_text(resource("robots", "iiwa").read_text().replace("controllers:", "controler:"))
    with pytest.raises(ConfigError, match=r"arm\.yaml.*did you mean 'controllers'"):
        load_robot(path)


def test_a_robot_without_public_driver_asks_for_its_plugin() -> None:
    with pytest.raises(ConfigError, match="hardware_plugin"):
        build_description(load_robot("anypulator"), "hardware", "arm")
