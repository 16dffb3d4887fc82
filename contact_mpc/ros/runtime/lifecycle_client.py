"""Drives the life cycle of other nodes: configure all at once, activate and deactivate in order.

The command bridge is the last of the stack to be activated and the first to be deactivated. An embedded plant, which
stands for the robot, comes after it: simulated time begins with the plant, and lockstep depends on what was there then.
A mock driver runs before the stack and after it, as a robot's does.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import Executor
from rclpy.node import Node

from contact_mpc.errors import StackError
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.settings.tunable import REFERENCE_START

TRANSITIONS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
    "cleanup": Transition.TRANSITION_CLEANUP,
}
ACTIVATION_ORDER = (
    *("mock_driver", "state_estimator", "trajectory_server", "goal_server", "mpc_tracker", "recorder"),
    *("command_bridge", "plant"),
)
DEACTIVATION_ORDER = (
    *("command_bridge", "plant", "mpc_tracker", "goal_server", "trajectory_server", "state_estimator", "recorder"),
    "mock_driver",
)
RUN_NODES = ("state_estimator", "trajectory_server", "mpc_tracker", "recorder", "command_bridge", "plant")
REPLAY_ORDER = ("state_estimator", "mpc_tracker", "command_bridge", "bag_player")
CONNECT_TIMEOUT_S, ACTIVATE_TIMEOUT_S, REFERENCE_TIMEOUT_S = 240.0, 240.0, 120.0
CONFIGURE_TIMEOUT_S = 1200.0  # of living nodes: on a new machine they compile, 4 minutes of a core, and may share it
SLICE_S = 0.02


class LifecycleClient:
    """Requests transitions of nodes in the namespace of `node`, and waits for the answers.

    Parameters
    ----------
    node : Node
        Makes the clients.
    executor : Executor
        Spins `node`.
    check : callable
        Called while waiting; raises when it makes no sense to wait on (a process died).
    """

    def __init__(self, node: Node, executor: Executor, check: Callable[[], None]) -> None:
        self._node, self._executor, self._check = node, executor, check
        self._services: dict[str, Any] = {}

    def connect(self, names: Sequence[str], timeout_s: float) -> None:
        """Wait until the nodes offer their life-cycle services; raises StackError naming those that do not."""
        for name in names:
            self._services[name] = self._node.create_client(ChangeState, f"{name}/change_state")
        deadline = time.monotonic() + timeout_s
        while missing := [name for name in names if not self._services[name].service_is_ready()]:
            self.spin(SLICE_S)
            if time.monotonic() > deadline:
                raise StackError(
                    f"no life-cycle service of {', '.join(missing)} within {timeout_s:g} s; is the machine overloaded, "
                    "or does a firewall block UDP on the loopback interface?"
                )

    def request(self, names: Sequence[str], transition: str, timeout_s: float) -> list[str]:
        """Request one transition of several nodes at once; returns the names of those that refused.

        Raises
        ------
        StackError
            A node did not answer in time.
        """
        message = ChangeState.Request(transition=Transition(id=TRANSITIONS[transition]))
        futures = {name: self._services[name].call_async(message) for name in names}
        deadline = time.monotonic() + timeout_s
        while waiting := [name for name, future in futures.items() if not future.done()]:
            self.spin(SLICE_S)
            if time.monotonic() > deadline:
                raise StackError(f"no answer to '{transition}' from {', '.join(waiting)} within {timeout_s:g} s")
        return [name for name, future in futures.items() if not future.result().success]

    def spin(self, duration_s: float) -> None:
        """Handle messages for a while."""
        self._check()
        self._executor.spin_once(timeout_sec=duration_s)

    def bring_up(self, names: Sequence[str], explain: Callable[[str], str], awaits_reference: bool = True) -> None:
        """Configure nodes all at once and activate them in the order of `ACTIVATION_ORDER`.

        The plant is activated when the tracker has what it will follow, not before: simulated time begins with it,
        and lockstep depends on what was there at its beginning.

        Parameters
        ----------
        names : sequence of str
            Names of the nodes.
        explain : callable
            Given a node that refused, returns why.
        awaits_reference : bool
            False: the plant does not wait for one; the motion begins on request, with the plant at rest until then.

        Raises
        ------
        StackError
            A node refused or did not answer, or the tracker received no reference.
        """
        watch = ReferenceWatch(self._node) if awaits_reference else None
        self.connect(names, CONNECT_TIMEOUT_S)
        self._insist(names, "configure", CONFIGURE_TIMEOUT_S, explain)
        for name in in_order(names):
            if watch is not None and name == "plant" and {"mpc_tracker", "trajectory_server"} <= set(names):
                self._wait_for_reference(watch)
            self._insist([name], "activate", ACTIVATE_TIMEOUT_S, explain)

    def bring_down(self, names: Sequence[str]) -> None:
        """Deactivate active nodes in the order of `DEACTIVATION_ORDER`; raises StackError if one refuses."""
        for name in DEACTIVATION_ORDER:
            if name in names:
                self._insist([name], "deactivate", ACTIVATE_TIMEOUT_S, lambda _name: "refused to be deactivated")

    def _insist(self, names: Sequence[str], transition: str, timeout_s: float, explain: Callable[[str], str]) -> None:
        refused = self.request(names, transition, timeout_s)
        if refused:
            raise StackError("\n".join(f"node {name}: {explain(name)}" for name in refused))

    def _wait_for_reference(self, watch: "ReferenceWatch") -> None:
        deadline = time.monotonic() + REFERENCE_TIMEOUT_S
        while not watch.has_reference:
            self.spin(SLICE_S)
            if time.monotonic() > deadline:
                raise StackError(
                    f"the tracker received no reference within {REFERENCE_TIMEOUT_S:g} s; see the logs of "
                    "trajectory_server and mpc_tracker"
                )


def in_order(names: Collection[str]) -> tuple[str, ...]:
    """Return nodes in the order of activation: that of `ACTIVATION_ORDER`, a bag player at the end.

    Where time runs without a plant of the stack, on a robot or in Gazebo, the trajectory server comes after the
    bridge: a plan that it starts by itself would be on its way, or over, when the bridge begins to follow.
    """
    order = [name for name in (*ACTIVATION_ORDER, "bag_player") if name in names]
    if "plant" not in names and {"trajectory_server", "command_bridge"} <= set(names):
        order.remove("trajectory_server")
        order.insert(order.index("command_bridge") + 1, "trajectory_server")
    return tuple(order)


class ReferenceWatch:
    """Knows from /diagnostics whether the tracker has received a reference."""

    def __init__(self, node: Node) -> None:
        self.has_reference = False
        profile = qos_profile(TOPICS["/diagnostics"].quality, "realtime")
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, profile)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith("/mpc_tracker"):
                self.has_reference = any(pair.key == REFERENCE_START and pair.value for pair in status.values)
