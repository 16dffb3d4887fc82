"""Drives the life cycle of other nodes: configure all at once, activate in order."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import Executor
from rclpy.node import Node

from contact_mpc.errors import StackError

TRANSITIONS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
    "cleanup": Transition.TRANSITION_CLEANUP,
}
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
