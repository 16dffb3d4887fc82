"""Each robot brought up on the mock driver, under its own names, topics and message types, and moved to a start."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from std_srvs.srv import Trigger

from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.driver.robot_file import RobotFile, load_robot
from contact_mpc.ros.messages.conversions import JointOrder
from contact_mpc.ros.stack.robot_parameters import RobotRun, robot_parameters
from contact_mpc.settings.resources import resource_names

pytestmark = pytest.mark.dds

WAY_RAD = 0.05
AGAIN_S = 5.0  # until the start is asked for again: many times what a motion takes
ARRIVED_RAD = 0.015  # weight on the impedance law and what is left of the motion
DAMPING = (
    3.0  # of the mock, over Kd: a command that comes 10 ms late on a busy machine must not make a light joint swing
)
FRICTION = 0.02  # of the effort limit: dry friction of the mock, which holds a joint where its spring is no stronger
PATIENT: dict[str, Any] = {  # the machine of a test has no realtime: what is watched there is tested elsewhere
    "state_timeout_s": 0.4, "state_fault_s": 4.0, "state_lag_s": 4.0, "clock_jump_s": 4.0, "rate_tolerance": 1.0,
    "start_motion_fraction": 0.5, "state_jump_rad": 3.0, "start_guard_s": 0.05,
}  # fmt: skip


def bring_up(make_rig: Callable[..., Any], robot: RobotFile, folder: Path, **mock: Any) -> tuple[Any, np.ndarray]:
    """Start bridge and mock; returns them and the posture that the bridge takes for the task's start."""
    parameters = robot_parameters(robot, RobotRun("mock", robot.parameters), None, folder, None)
    system = load_system(robot.system)
    inside = np.clip(system.q_default[system.n_q_u :], system.q_min + 0.2, system.q_max - 0.2)
    start = inside + WAY_RAD
    del parameters["state_estimator"]
    parameters["mock_driver"] |= {"start_rad": inside.tolist(), "damping_fraction": DAMPING} | mock
    parameters["command_bridge"] |= PATIENT | {"start_rad": start.tolist()}
    return make_rig("realtime", **parameters).configure().activate(), start


def go_to_start(rig: Any, start: np.ndarray, system: System) -> None:
    """Wait for the hold, ask for the start, and wait until setpoint and joints are there.

    Where states come late the bridge holds the joints where they then are, also short of the start: it is asked again.
    """
    safety, applied = rig.collect("command_bridge/safety"), rig.collect("command_bridge/applied")
    arrays, asked_s = rig.collect("/diagnostics"), list[float]()
    order = JointOrder(system.joint_names)
    allowed = np.maximum(ARRIVED_RAD, 0.005 + FRICTION * system.tau_max_nm / system.kp)

    def ask() -> None:
        answer = rig.call(Trigger, "command_bridge/go_to_start", Trigger.Request())
        assert answer.success and "collisions not checked" in answer.message, answer.message
        asked_s.append(time.monotonic())

    def is_reached() -> bool:
        said = safety[-1].message
        assert not said.startswith("FAULT"), said
        reached = bool(applied) and bool(
            np.abs(order.pick("position", applied[-1].position, applied[-1].name) - start).max() < 1e-6
        )
        if not reached and said.startswith("HOLD NO_PLAN") and time.monotonic() - asked_s[-1] > AGAIN_S:
            ask()
        return reached

    def has_arrived() -> bool:
        own = [item for array in arrays for item in array.status if item.name.endswith("mock_driver")]
        values = {pair.key: pair.value for status in own[-1:] for pair in status.values}
        place = [float(item) for item in values.get("position_rad", "nan").split(",")]
        return is_reached() and bool(np.all(np.abs(place - start) < allowed))

    rig.wait_until(lambda: safety and safety[-1].message.startswith("HOLD NO_PLAN"), "a hold")
    ask()
    rig.wait_until(is_reached, "the start")
    assert any("GOING_TO_START" in status.message for status in safety)
    rig.wait_until(has_arrived, "the joints at the start")


@pytest.mark.parametrize("name", resource_names("robots"))
def test_a_robot_comes_up_and_goes_to_its_start(name: str, make_rig: Callable[..., Any], tmp_path: Path) -> None:
    robot = load_robot(name)
    parts = {"parts": 2} if name == "iiwa" else {}  # A1 to A3 and A4 to A7, as some drivers send them
    rig, start = bring_up(make_rig, robot, tmp_path, **parts)
    go_to_start(rig, start, load_system(robot.system))
    assert int(rig.diagnosed("mock_driver", "refused_commands")) == 0
    rig.stack.stop()


def test_half_of_the_joints_and_other_joints_are_named_while_nothing_moves(
    make_rig: Callable[..., Any], tmp_path: Path
) -> None:
    robot = load_robot("iiwa")
    names = {f"A{k}": f"A{k}" if k < 4 else f"B{k}" for k in range(1, 8)}
    other = robot.model_copy(update={"driver": robot.driver.model_copy(update={"joint_names": names})})
    mixed = robot_parameters(other, RobotRun("mock", robot.parameters), None, tmp_path, None)["mock_driver"]["driver"]
    rig, _ = bring_up(make_rig, robot, tmp_path, driver=mixed)
    safety = rig.collect("command_bridge/safety")
    words = "joints A4, A5, A6, A7 missing; the message names A1, A2, A3"
    rig.wait_until(lambda: safety and words in safety[-1].message, "the missing joints by name")
    assert safety[-1].message.startswith("WAITING STATE_UNUSABLE (110)")
    answer = rig.call(Trigger, "command_bridge/go_to_start", Trigger.Request())
    assert not answer.success and "only from HOLD" in answer.message
    assert int(rig.diagnosed("mock_driver", "commands")) == 0
    rig.stack.stop()


def test_states_of_a_mock_that_was_held_up_carry_the_instants_of_their_positions(make_rig: Callable[..., Any]) -> None:
    rig = make_rig("realtime", mock_driver={"system": "planar_hand_ball"})
    states = rig.collect("joint_states")
    rig.configure().activate()
    rig.wait_until(lambda: len(states) > 50, "joint states")
    for _ in range(10):
        rig.stack.processes["mock_driver"].signal(signal.SIGSTOP)
        rig.settle(0.015)
        rig.stack.processes["mock_driver"].signal(signal.SIGCONT)
        rig.settle(0.05)
    stamps_ns = np.array([state.header.stamp.sec * 10**9 + state.header.stamp.nanosec for state in states])
    assert np.diff(stamps_ns).min() > 800_000  # a step of 1 ms and what two readings of clocks are apart
    rig.stack.stop()


OWN = """
command_interface: position
system: planar_hand_ball
parameters: {parameters}
driver:
  joint_states: /gripper/states
  commands: /gripper/go
  command_type: {kind}
  joint_names: {{left_1: a, left_2: b, right_1: c, right_2: d}}
  command_joints: [d, wrist, c, b, a]
"""
NODES = """
/**/command_bridge:
  ros__parameters: {command_interface: position, gravity_compensation: robot, rate_hz: 200}
"""


@pytest.mark.parametrize("kind", ["Float64MultiArray", "JointTrajectory"])
def test_a_robot_file_of_ones_own_with_a_joint_too_many(
    kind: str, make_rig: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "mine.yaml").write_text(OWN.format(parameters="nodes.yaml", kind="JointTrajectory"))
    robot = load_robot(tmp_path / "mine.yaml")
    rig, start = bring_up(make_rig, robot, tmp_path)
    go_to_start(rig, start, load_system(robot.system))
    rig.stack.stop()
