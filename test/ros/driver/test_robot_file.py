"""Robot files: names, order and types reach the nodes; a task on hardware builds; what does not fit is refused."""

from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from contact_mpc.errors import ConfigError
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.driver.robot_file import driver_of, load_robot
from contact_mpc.ros.stack.robot_parameters import RobotRun, robot_parameters
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.task import load_task

ROBOTS = resource_names("robots")


def test_these_robots_are_known() -> None:
    assert set(ROBOTS) == {"allegro", "anypulator", "franka", "iiwa", "leap", "ur"}


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_holds_without_a_task_also_on_the_mock(name: str, tmp_path: Path) -> None:
    robot = load_robot(name)
    parameters = robot_parameters(robot, RobotRun("mock", robot.parameters), None, tmp_path, None)
    assert set(parameters) == {"state_estimator", "command_bridge", "mock_driver"}
    bridge, mock = parameters["command_bridge"], parameters["mock_driver"]
    assert mock["rate_hz"] == bridge["rate_hz"] and mock["command_interface"] == robot.command_interface
    assert mock["driver"] == bridge["driver"] == parameters["state_estimator"]["driver"]


@pytest.mark.parametrize(
    ("name", "task"),
    [("iiwa", "iiwa_bimanual_box"), ("anypulator", "anypulator_block"), ("allegro", "allegro_ball")],
)
@pytest.mark.parametrize("driver", ["hardware", "none", "mock", "sim"])
def test_a_task_runs_on_hardware_without_a_plant_and_in_simulation_with_one(
    name: str, task: str, driver: str, tmp_path: Path
) -> None:
    robot, config = load_robot(name), load_task(task)
    parameters = robot_parameters(robot, RobotRun(driver, robot.parameters), config, tmp_path, tmp_path / "plan.npz")
    assert ("plant" in parameters) == (driver == "sim") and ("mock_driver" in parameters) == (driver == "mock")
    bridge = parameters["command_bridge"]
    assert bridge["start_rad"] == config.start_q[config.system.n_q_u :].tolist()
    assert bridge["command_interface"] == robot.command_interface and bridge["start_from"] == "position"
    assert parameters["trajectory_server"]["autostart"] is False
    assert bridge["use_sim_time"] == (driver == "sim")


def test_what_the_task_says_to_the_tracker_is_kept_on_hardware(tmp_path: Path) -> None:
    robot = load_robot("iiwa")
    task = load_task("iiwa_bimanual_box")
    parameters = robot_parameters(robot, RobotRun("none", robot.parameters), task, tmp_path, tmp_path / "plan.npz")
    assert parameters["mpc_tracker"]["kappa_per_j"] == 3.0e3
    assert parameters["command_bridge"]["rate_hz"] == 200


def test_two_arms_have_topics_below_their_own_names() -> None:
    config = DriverConfig(**driver_of(load_robot("iiwa"), load_system("iiwa_bimanual_box")))
    assert config.groups == (7, 7)
    assert config.joint_states_topics == ("iiwa_left/joint_states", "iiwa_right/joint_states")
    assert config.command_topics[1] == "iiwa_right/position_controller/commands"
    assert config.joint_names[6:9] == ("A7", "A1", "A2")


def test_the_leap_hands_motors_are_commanded_in_their_own_order() -> None:
    system = load_system("leap_ball")
    config = DriverConfig(**driver_of(load_robot("leap"), system))
    assert system.joint_names[:2] == ("index_mcp_forward", "index_mcp_side")
    assert config.joint_names[:2] == ("1", "0") and config.command_joints == tuple(str(k) for k in range(16))


OWN = """
command_interface: {interface}
system: planar_hand_ball
parameters: planar_hand_ball
driver:
  joint_names: {{left_1: a, left_2: b, right_1: c, right_2: d}}
  command_joints: [{order}]
  command_type: {kind}
"""


@pytest.mark.parametrize(
    ("interface", "order", "kind", "words"),
    [
        ("effort", "d, c, b", "JointState", "command_joints lacks a"),
        ("effort", "d, c, b, a, wrist", "JointState", "wrist besides the system's"),
        ("effort", "d, c, b, a", "JointTrajectory", "carries positions"),
        ("position", "d, c, b, a, wrist", "JointTrajectory", ""),
    ],
)
def test_a_robot_file_of_ones_own_is_checked_against_the_system(
    interface: str, order: str, kind: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN.format(interface=interface, order=order, kind=kind))
    robot, system = load_robot(path), load_system("planar_hand_ball")
    if not words:
        assert driver_of(robot, system)["joint_names"] == ["a", "b", "c", "d"]
        return
    with pytest.raises(ConfigError, match=words):
        driver_of(robot, system)


def test_a_joint_that_the_robot_does_not_have_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN.format(interface="effort", order="a, b, c, d", kind="JointState").replace("left_2", "left_9"))
    with pytest.raises(ConfigError, match="left_2, left_9: the joints of system 'planar_hand_ball' are left_1"):
        driver_of(load_robot(path), load_system("planar_hand_ball"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("  parts_within_ms: 2", "unknown key 'driver.parts_within_ms'.*parts_within_s"),
        ("  parts_within_s: 2", "parts_within_s.*less than or equal to 0.1"),
        ("  command_type: JointPosition", "command_type.*JointTrajectory"),
        ("  joint_state: /joint_states", "unknown key 'driver.joint_state'.*joint_states"),
    ],
)
def test_wrong_units_and_names_of_a_robot_file_are_named(line: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = "command_interface: position\nsystem: planar_hand_ball\nparameters: planar_hand_ball\ndriver:\n"
    path.write_text(text + line + "\n")
    with pytest.raises(ConfigError, match=words):
        load_robot(path)


def test_simulation_needs_a_task(tmp_path: Path) -> None:
    robot = load_robot("ur")
    with pytest.raises(ConfigError, match="needs a task"):
        robot_parameters(robot, RobotRun("sim", robot.parameters), None, tmp_path, None)
