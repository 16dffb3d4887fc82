"""Starts, watches and restarts the processes of the rig, and drives their life cycles through lost requests."""

import time
from collections.abc import Callable
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from std_srvs.srv import Trigger

from contact_mpc.errors import StackError
from contact_mpc.ros.faults.exit_watch import ExitWatch
from contact_mpc.ros.runtime.lifecycle_client import TRANSITIONS
from contact_mpc.ros.stack.stack import Stack

RETRY_S = 2.0  # a request that went to a process that is no more is never answered
PATIENCE_S = 120.0  # with a node: a process alone may take half a minute to start on a busy machine
RUNNING = ("configure", "activate")
AFTER = {"configure": "inactive", "activate": "active", "deactivate": "inactive"}

Wait = Callable[[Callable[[], bool], float], bool]


class Supervisor:
    """Processes and services of a running stack.

    Parameters
    ----------
    stack : Stack
        The stack.
    wait : callable
        Given a condition and a time, s, keeps everything going until the condition holds; returns whether it does.

    Attributes
    ----------
    ended : dict
        For each node whose process ended since `expect_end`: when that was seen, monotonic clock, ns, and how.
    """

    def __init__(self, stack: Stack, wait: Wait) -> None:
        self._stack, self._wait = stack, wait
        node = stack.node
        self._clients = {name: node.create_client(ChangeState, f"{name}/change_state") for name in stack.spec.nodes}
        self._states = {name: node.create_client(GetState, f"{name}/get_state") for name in stack.spec.nodes}
        self._bridge = {name: node.create_client(Trigger, f"command_bridge/{name}") for name in ("reset_fault", "stop")}
        self.ended: dict[str, tuple[int, str]] = {}

    def look(self) -> None:
        """Take note of processes that have ended."""
        for name, process in self._stack.processes.items():
            if name not in self.ended and process.exit_code is not None:
                try:
                    process.check()
                except StackError as error:
                    self.ended[name] = (time.monotonic_ns(), str(error))

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a node's process."""
        self._stack.processes[name].signal(number)

    def watch_exit(self, name: str) -> ExitWatch:
        """Return what learns when the system ends a node's process."""
        return ExitWatch(self.pid(name))

    def pid(self, name: str) -> int:
        """Return the process id of a node."""
        return self._stack.processes[name].pid

    def exit_code(self, name: str) -> int | None:
        """Return the exit code of a node's process, None while it runs."""
        return self._stack.processes[name].exit_code

    def is_running(self, name: str) -> bool:
        """Whether a node has a process."""
        return name in self._stack.processes and self.exit_code(name) is None

    def start(self, name: str, *arguments: str) -> None:
        """Start a node's process, configure and activate it."""
        self.ended.pop(name, None)
        self._stack.start_node(name, *arguments)
        for transition in RUNNING:
            self.request(name, transition)

    def end(self, name: str, number: int) -> None:
        """End a node's process for good by a signal."""
        self.signal(name, number)
        self._wait(lambda: not self.is_running(name), PATIENCE_S)
        self.ended.pop(name, None)
        del self._stack.processes[name]

    def request(self, name: str, transition: str, timeout_s: float = PATIENCE_S) -> None:
        """Request a transition until it is answered; raises StackError if it is refused or nobody answers in time."""
        message = ChangeState.Request(transition=Transition(id=TRANSITIONS[transition]))
        if not self._insist(name, message, AFTER[transition], timeout_s):
            reason = self._stack.processes[name].errors()
            raise StackError(f"node {name} did not {transition} within {timeout_s:g} s: {reason}")

    def call(self, service: str, timeout_s: float) -> bool:
        """Call a service of the bridge once; returns its answer, False if there was none in time."""
        future = self._bridge[service].call_async(Trigger.Request())
        return self._wait(future.done, timeout_s) and bool(future.result().success)

    def _insist(self, name: str, message: Any, state: str, timeout_s: float) -> bool:
        """Send a request until it is granted, or until the node is where it leads: an answer may get lost as well."""
        client, futures = self._clients[name], list[Any]()
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if client.service_is_ready():
                futures.append(client.call_async(message))
            if self._wait(lambda: any(future.done() and future.result().success for future in futures), RETRY_S):
                return True
            if self._state_of(name) == state:
                return True
        return False

    def _state_of(self, name: str) -> str:
        """Return the state that a node says it is in, empty if it says nothing in time."""
        future = self._states[name].call_async(GetState.Request())
        return future.result().current_state.label if self._wait(future.done, RETRY_S) else ""
