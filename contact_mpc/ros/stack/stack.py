"""The whole stack as processes over DDS: starts them, drives their life cycles, watches them, and leaves none behind.

Nodes are configured all at once, then activated in the order of `ACTIVATION_ORDER`: the plant comes last, because
simulated time begins with it. If the orchestrator dies, however it dies, the kernel ends the nodes.
"""

import atexit
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import rclpy
import yaml
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from contact_mpc.errors import StackError
from contact_mpc.ros.runtime.lifecycle_client import (
    ACTIVATE_TIMEOUT_S,
    ACTIVATION_ORDER,
    CONFIGURE_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    REPLAY_ORDER,
    LifecycleClient,
    in_order,
)
from contact_mpc.ros.runtime.node_process import SHUTDOWN_LIMIT_S
from contact_mpc.ros.stack.discovery import discovery_environment
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.ros.stack.processes import NodeProcess, interrupts_deferred, stop_processes
from contact_mpc.settings.file_access import write_text

__all__ = ["ACTIVATION_ORDER", "HERE", "Placement", "Stack", "StackSpec", "to_parameter_file"]
STOP_PATIENCE_S = 10.0
RECORDER_PATIENCE_S = SHUTDOWN_LIMIT_S + 5.0  # a slow disk must not cost the end of a bag; a hang is told before


@dataclass(frozen=True)
class Placement:
    """Where a stack runs.

    Attributes
    ----------
    discovery : str
        Who may find the nodes: LOCALHOST or SUBNET.
    prefixes : dict
        For a node by its name, words before its command that run it elsewhere as the same process:
        {"plant": ("ip", "netns", "exec", "robot")}.
    """

    discovery: str = "LOCALHOST"
    prefixes: Mapping[str, Sequence[str]] = field(default_factory=dict)


HERE = Placement()


@dataclass(frozen=True)
class StackSpec:
    """What to start.

    Attributes
    ----------
    namespace : str
        Namespace of the nodes, with its leading slash.
    parameters : dict
        Parameters of each node by its name, nested as in a parameter file; the nodes to start are its keys.
    folder : Path
        Existing folder for parameter file and logs.
    domain : int, optional
        ROS domain; by default one that is free.
    remappings : dict
        For a node by its name, topics under other names: {"plant": {"joint_states": "plant/joint_states"}}.
    placement : Placement
        Who may find the nodes, and where they run; by default all of it on this machine.
    """

    namespace: str
    parameters: dict[str, dict[str, Any]]
    folder: Path
    domain: int | None = None
    remappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    placement: Placement = HERE
    nodes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.parameters) - {*ACTIVATION_ORDER, *REPLAY_ORDER})
        if unknown:
            raise StackError(f"unknown nodes {', '.join(unknown)}; allowed: {', '.join(ACTIVATION_ORDER)}")
        object.__setattr__(self, "nodes", in_order(self.parameters))


class Stack:
    """The running processes; use as a context manager.

    Attributes
    ----------
    node : Node
        A node of this process in the stack's domain and namespace, for monitoring.
    lifecycle : LifecycleClient
        Requests transitions and spins `node`.
    processes : dict
        Process of each node.
    """

    def __init__(self, spec: StackSpec) -> None:
        self.spec = spec
        self.processes: dict[str, NodeProcess] = {}
        self._lease = DomainLease(spec.domain)
        self.domain = self._lease.domain
        self._environment = discovery_environment(spec.placement.discovery)
        os.environ.update(self._environment)
        self._context = Context()
        rclpy.init(
            args=["--ros-args", "--disable-external-lib-logs"],
            context=self._context,
            domain_id=self.domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self.node = Node("run_monitor", namespace=spec.namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.lifecycle = LifecycleClient(self.node, self._executor, self.check)
        atexit.register(self.stop)

    def __enter__(self) -> "Stack":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, names: Sequence[str] | None = None) -> None:
        """Start processes at once, by default all; raises StackError if parameter file or logs cannot be written."""
        try:
            write_text(self.parameter_file, to_parameter_file(self.spec.namespace, self.spec.parameters))
        except OSError as error:
            raise StackError(f"{self.parameter_file} cannot be written: {error.strerror}; free space there") from error
        for name in self.spec.nodes if names is None else names:
            self.start_node(name)

    def start_node(self, name: str, *arguments: str) -> None:
        """Start the process of one node, also one that has ended, with more ROS arguments; its log begins anew."""
        environment = {**self._environment, "ROS_DOMAIN_ID": str(self.domain)}
        remap = ["-r", f"__ns:={self.spec.namespace}", "--disable-external-lib-logs"]
        for topic, other in self.spec.remappings.get(name, {}).items():
            remap += ["-r", f"{topic}:={other}"]
        with interrupts_deferred():
            self.processes[name] = NodeProcess(
                name,
                [*remap, "--params-file", str(self.parameter_file), *arguments],
                self.spec.folder / f"{name}.log",
                environment,
                self.spec.placement.prefixes.get(name, ()),
            )

    @property
    def parameter_file(self) -> Path:
        """Parameter file of all nodes."""
        return self.spec.folder / "parameters.yaml"

    def bring_up(self) -> None:
        """Configure and activate all nodes; raises StackError with the node's own words if one refuses."""
        self.lifecycle.bring_up(self.spec.nodes, lambda name: self.processes[name].errors())

    def configure(self) -> None:
        """Configure all nodes; raises StackError with the node's own words if one refuses."""
        self.lifecycle.connect(self.spec.nodes, CONNECT_TIMEOUT_S)
        self._explain(self.lifecycle.request(self.spec.nodes, "configure", CONFIGURE_TIMEOUT_S), "configure")

    def activate(self, name: str) -> None:
        """Activate one node."""
        self._explain(self.lifecycle.request([name], "activate", ACTIVATE_TIMEOUT_S), "activate")

    def check(self) -> None:
        """Raise StackError naming a node whose process ended."""
        for process in self.processes.values():
            process.check()

    def spin(self, duration_s: float) -> None:
        """Handle messages for monitoring for at most `duration_s`; raises StackError if a node died."""
        self.lifecycle.spin(duration_s)

    def handle_events(self) -> None:
        """Handle one message for monitoring, if there is one, whether or not all nodes are alive."""
        self._executor.spin_once(timeout_sec=0.0)

    def stop(self) -> None:
        """End everything: the own node, the recorder, so that the bag holds the run and not its end, then the rest.

        The own node is the first to leave. In a process that sees others leave, threads of Fast DDS can wait for each
        other for good (eProsima/Fast-DDS issue 6502): one removes a remote writer and waits for the timers, one of
        which waits for what the first has locked. What waits here then holds Python's lock, and nothing goes on.
        """
        with _deaf_to_interrupts():
            atexit.unregister(self.stop)
            self._leave()
            running = dict(self.processes)
            self.processes = {}
            stop_processes([running.pop(name) for name in ("recorder",) if name in running], RECORDER_PATIENCE_S)
            stop_processes(list(running.values()), STOP_PATIENCE_S)
            self._lease.release()

    def _leave(self) -> None:
        """Destroy the node of this process and all that it shares with the others."""
        if self._context.ok():
            self._executor.shutdown()
            self.node.destroy_node()
            self._context.try_shutdown()

    def _explain(self, refused: list[str], transition: str) -> None:
        if refused:
            reasons = [f"node {name}: {self.processes[name].errors()}" for name in refused]
            raise StackError("\n".join(reasons) or transition)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ignore further Ctrl-C while the nodes clean up; it takes no longer than the patience with them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def to_parameter_file(namespace: str, parameters: dict[str, dict[str, Any]]) -> str:
    """Return the text of a ROS parameter file for nodes in one namespace.

    Texts are quoted: what looks like a number to rcl (123e45) is none to YAML 1.1, which would write it bare.
    """
    tree = {f"{namespace}/{name}": {"ros__parameters": _plain(values)} for name, values in parameters.items()}
    return yaml.dump(tree, Dumper=_QuotingDumper, sort_keys=False)


class _QuotingDumper(yaml.SafeDumper):
    """Writes texts in quotes."""


_QuotingDumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"'))


def _plain(value: Any) -> Any:
    """Return a value as ROS parameter files want it: lists of one type, no null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        is_mixed = any(isinstance(item, float) for item in value)
        return [float(item) if is_mixed else item for item in value]
    return str(value) if isinstance(value, Path) else value
