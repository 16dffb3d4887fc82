"""The wire to a driver for the checks of a robot: mock drives over DDS, and what is refused before anything moves."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

from std_msgs.msg import Float64MultiArray

from contact_mpc import load_system
from contact_mpc.commissioning.checks import CHECKS
from contact_mpc.commissioning.robot import HeldRobot
from contact_mpc.errors import StackError
from contact_mpc.ros.driver import probe as probes
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.driver.probe import DriverProbe

pytestmark = pytest.mark.dds

SYSTEM = load_system("planar_hand_ball")
RATE_HZ = 250
COMMANDS = "position_controller/commands"


@pytest.fixture(scope="module")
def rig(make_rig: Callable[..., Any]) -> Any:
    values = {"system": "planar_hand_ball", "command_interface": "position", "rate_hz": RATE_HZ}
    return make_rig("realtime", mock_driver=values).configure().activate()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "CONNECT_S", HANG_S)


def connect(rig: Any, config: DriverConfig | None = None) -> DriverProbe:
    return DriverProbe(rig.node, SYSTEM, config or DriverConfig(), "position", 1.0 / RATE_HZ)


def test_a_driver_is_listened_to_and_held_over_the_wire(rig: Any) -> None:
    with closing(connect(rig)) as probe:
        held, wanted = HeldRobot(SYSTEM, probe, "position", True, HANG_S), ("states", "hold")
        by_name = {check.name: check.run(held, float(RATE_HZ)) for check in CHECKS if check.name in wanted}
    assert not [row for rows in by_name.values() for row in rows if row.verdict == "fail"]
    assert by_name["states"][0].unit == "Hz" and by_name["states"][0].value > 0.0
    assert [row.joint for row in by_name["hold"]] == list(SYSTEM.joint_names)
    assert int(rig.diagnosed("mock_driver", "commands")) > 0


def test_a_robot_that_something_else_commands_is_left_alone(rig: Any) -> None:
    other = rig.node.create_publisher(Float64MultiArray, COMMANDS, 1)
    try:
        with pytest.raises(StackError, match=f"something else commands the robot on .*{COMMANDS}"):
            connect(rig)
    finally:
        rig.node.destroy_publisher(other)


def test_a_driver_with_other_joints_is_named(rig: Any) -> None:
    names = tuple(f"motor_{k}" for k in range(SYSTEM.n_a))
    with pytest.raises(StackError, match=r"motor_0.* missing; the message names left_1.*driver\.joint_names"):
        connect(rig, DriverConfig(joint_names=names))


def test_a_driver_that_says_nothing_is_waited_for_and_named(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "CONNECT_S", 0.5)
    with pytest.raises(StackError, match="no joint states on .*silent within 0.5 s"):
        connect(rig, DriverConfig(joint_states_topics=("silent",)))


def test_read_gives_nothing_where_no_state_comes_in_time(rig: Any) -> None:
    with closing(connect(rig)) as probe:
        assert probe.read(HANG_S) is not None
        rig.request("mock_driver", "deactivate")
        while probe.read(0.5) is not None:
            pass
        assert probe.read(0.2) is None
        rig.request("mock_driver", "activate")
        reading = probe.read(HANG_S)
        assert reading is not None and np.isfinite(reading.q).all()
