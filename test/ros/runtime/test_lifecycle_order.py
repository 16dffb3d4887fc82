"""The order in which nodes come up and go down, and a launch that ends in order on request."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("rclpy")

from contact_mpc.ros.runtime.lifecycle_client import ACTIVATION_ORDER, DEACTIVATION_ORDER, LifecycleClient, in_order


class Recorder(LifecycleClient):
    """A client that notes requests instead of sending them."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []

    def request(self, names: Any, transition: str, timeout_s: float) -> list[str]:
        self.requests += [(name, transition) for name in names]
        return []

    def connect(self, names: Any, timeout_s: float) -> None:
        self.requests += [(name, "connect") for name in names]


def test_the_bridge_is_the_last_of_the_stack_to_act_and_the_first_to_stop() -> None:
    assert ACTIVATION_ORDER[-2:] == ("command_bridge", "plant")  # the plant stands for the robot
    assert DEACTIVATION_ORDER[0] == "command_bridge"
    assert set(ACTIVATION_ORDER) == set(DEACTIVATION_ORDER)


def test_on_a_robot_no_plan_starts_by_itself_before_the_bridge_is_there() -> None:
    on_robot = in_order({"mock_driver", "state_estimator", "trajectory_server", "mpc_tracker", "command_bridge"})
    assert on_robot[-2:] == ("command_bridge", "trajectory_server") and on_robot[0] == "mock_driver"
    assert in_order({"trajectory_server", "command_bridge", "plant"})[0] == "trajectory_server"


def test_nodes_that_do_not_run_are_not_asked_to_stop() -> None:
    client = Recorder()
    client.bring_down(["state_estimator", "command_bridge"])
    assert client.requests == [("command_bridge", "deactivate"), ("state_estimator", "deactivate")]


def test_a_plant_waits_for_no_reference_where_the_motion_begins_on_request() -> None:
    client = Recorder()
    client.bring_up(["plant", "trajectory_server", "mpc_tracker"], str, awaits_reference=False)
    assert client.requests[-1] == ("plant", "activate") and len(client.requests) == 9


def test_shutting_down_on_request_deactivates_the_nodes(make_rig: Callable[..., Any]) -> None:
    """The manager brings up a bridge, and takes it down again when it is asked to end."""
    from std_srvs.srv import Trigger

    bridge = {"system": "planar_hand_ball", "gravity_compensation": "bridge"}
    rig = make_rig("realtime", command_bridge=bridge)
    manager = rig.start_tool("lifecycle_manager", {"nodes": ["command_bridge"]})
    rig.wait_until(lambda: "WAITING" in rig.log("command_bridge"), "the bridge to be active")
    assert rig.call(Trigger, "lifecycle_manager/shutdown", Trigger.Request()).success
    rig.wait_until(lambda: manager.exit_code == 0, "the manager's end")
    assert "INACTIVE" in rig.log("command_bridge").split("WAITING")[1]


@pytest.mark.dds
def test_a_launch_in_realtime_ends_as_much_later_as_its_motion_waited(make_rig: Callable[..., Any]) -> None:
    from diagnostic_msgs.msg import DiagnosticStatus
    from rosgraph_msgs.msg import Clock

    from contact_mpc.ros.messages.conversions import set_stamp, to_status
    from contact_mpc.settings.tunable import REFERENCE_START, WAITED

    bridge = {"system": "planar_hand_ball", "gravity_compensation": "bridge"}
    rig = make_rig("realtime", command_bridge=bridge)
    manager = rig.start_tool("lifecycle_manager", {"nodes": ["command_bridge"], "end_s": 2.0, "waits": True})
    clock, solves = rig.publisher("/clock"), rig.publisher("mpc_tracker/solve_status")

    def tell(t_s: float) -> None:
        message = Clock()
        set_stamp(message.clock, round(1e9 * t_s))
        clock.publish(message)
        values = {REFERENCE_START: 1_000_000_000, WAITED: 1.5}
        solves.publish(to_status(DiagnosticStatus.OK, "mpc_tracker", "ok", values))
        rig.settle(0.05)

    rig.connect(clock, solves)
    for _ in range(20):
        tell(1.9)
    for _ in range(20):
        tell(3.4)
    assert manager.exit_code is None, "the motion ends at 3.5 s"
    rig.wait_until(lambda: tell(3.6) or manager.exit_code == 0, "the manager's end")
