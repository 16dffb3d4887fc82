"""Robots that have a task, brought up with a plant under their drivers' names and topics, and run to its goal."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("mujoco")

import contact_mpc
from contact_mpc.planning.methods import make_plan
from contact_mpc.ros.driver.robot_file import load_robot
from contact_mpc.ros.stack.robot_parameters import RobotRun, robot_parameters
from contact_mpc.ros.stack.run_session import RunSession
from contact_mpc.task.plan import save_plan
from contact_mpc.task.task import load_task

pytestmark = [pytest.mark.dds, pytest.mark.end_to_end, pytest.mark.mujoco]

HOLD_S = 0.3


@pytest.mark.parametrize(
    ("name", "task_name", "settings"),
    [
        ("allegro", "allegro_ball", ()),
        ("iiwa", "iiwa_bimanual_box", ("command_bridge.start_from=effort",)),  # in the grasp, as after go_to_start
        ("anypulator", "anypulator_block", ()),
    ],
)
def test_a_task_on_a_robot_ends_at_its_goal(
    name: str, task_name: str, settings: tuple[str, ...], tmp_path: Path
) -> None:
    """Torques of a hand in a JointState, positions of two arms with a driver each, torques of an arm in an array."""
    robot, task = load_robot(name), replace(load_task(task_name), hold_s=HOLD_S)
    save_plan(tmp_path / "plan.npz", make_plan(task))
    run = RobotRun("sim", robot.parameters, "lockstep", "mujoco", recorded=True, autostart=True, settings=settings)
    parameters = robot_parameters(robot, run, task, tmp_path, tmp_path / "plan.npz")
    with RunSession(task, parameters, tmp_path) as session:
        session.start()
        session.run(lambda _progress: None)
    ran = contact_mpc.read_bag(tmp_path / "bag", namespace=f"/{task.system.config.robots[0].name}")
    assert ran.goal_met, ran.metrics.reasons
    assert ran.metrics.limit_violations == 0 and not ran.metrics.faults
