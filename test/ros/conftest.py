"""A rig for node tests: nodes as processes in a domain of their own, and the other end of their topics."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

from contact_mpc.ros.messages.qos import EVERY_CHANGE, TOPICS, qos_profile
from contact_mpc.ros.stack.processes import NodeProcess, stop_processes
from contact_mpc.ros.stack.stack import Stack, StackSpec, to_parameter_file


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, a browser that the processor draws for: at the end it would keep one core idle."""
    items.sort(key=lambda item: "chromium" not in item.keywords)


class NodeRig:
    """Runs nodes and talks to them in their clock's quality of service."""

    def __init__(self, folder: Path, clock: str, parameters: dict[str, dict[str, Any]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.clock = folder, clock
        self.tools: list[NodeProcess] = []
        values = {name: {"clock": clock} | given for name, given in parameters.items()}
        self.stack = Stack(StackSpec("/robot", values, folder))
        self.node = self.stack.node
        self.stack.start()
        self.stack.lifecycle.connect(self.stack.spec.nodes, HANG_S)

    def configure(self) -> "NodeRig":
        self.stack.configure()
        return self

    def activate(self) -> "NodeRig":
        for name in self.stack.spec.nodes:
            self.stack.activate(name)
        return self

    def start_tool(self, name: str, parameters: dict[str, Any]) -> NodeProcess:
        """Start an executable of the package that is not a node of the stack."""
        file = self.folder / f"{name}.yaml"
        file.write_text(to_parameter_file("/robot", {name: parameters}))
        arguments = ["-r", "__ns:=/robot", "--params-file", str(file)]
        process = NodeProcess(name, arguments, self.folder / f"{name}.log", {"ROS_DOMAIN_ID": str(self.stack.domain)})
        self.tools.append(process)
        return process

    def request(self, name: str, transition: str) -> bool:
        return not self.stack.lifecycle.request([name], transition, HANG_S)

    def publisher(self, topic: str) -> Any:
        profile = qos_profile(TOPICS[topic].quality, self.clock)
        return self.node.create_publisher(TOPICS[topic].msg_type, topic, profile)

    def collect(self, topic: str, into: list[Any] | None = None) -> list[Any]:
        """Return a list that grows with the messages of a topic: of one that tells changes, with every change."""
        received: list[Any] = [] if into is None else into
        quality = TOPICS[topic].quality
        profile = EVERY_CHANGE if quality == "L1" else qos_profile(quality, self.clock)
        self.node.create_subscription(TOPICS[topic].msg_type, topic, received.append, profile)
        return received

    def call(self, service_type: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(service_type, name)
        self.wait_until(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        self.wait_until(future.done, f"answer of {name}")
        return future.result()

    def connect(self, *publishers: Any, subscribers: int = 1) -> None:
        for publisher in publishers:
            self.wait_until(lambda p=publisher: p.get_subscription_count() >= subscribers, publisher.topic_name)
        self.settle(0.1)  # a reader may know its writer a little later than the writer its reader

    def wait_until(self, condition: Callable[[], Any], what: str = "condition", timeout_s: float = HANG_S) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            self.stack.spin(0.005)
            assert time.monotonic() < deadline, f"{what} not within {timeout_s:g} s\n{self.logs()}"

    def diagnosed(self, name: str, key: str) -> str:
        """Return a value of a node's diagnostics that are published after this call."""
        arrays = self.collect("/diagnostics")
        self.wait_until(lambda: any(array.status[0].name.endswith(name) for array in arrays), f"diagnostics of {name}")
        status = next(array.status[0] for array in arrays if array.status[0].name.endswith(name))
        return {pair.key: pair.value for pair in status.values}[key]

    def settle(self, duration_s: float = 0.15) -> None:
        """Handle messages for a while, long against the way through DDS."""
        deadline = time.monotonic() + duration_s
        while time.monotonic() < deadline:
            self.stack.spin(0.005)

    def logs(self) -> str:
        return "\n".join(f"{path.name}:\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


@pytest.fixture(scope="module")
def make_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., NodeRig]]:
    """Return a function that starts nodes: make_rig(clock, node={parameters}, ...); all end with the module."""
    rigs: list[NodeRig] = []

    def make(clock: str, **parameters: dict[str, Any]) -> NodeRig:
        rigs.append(NodeRig(tmp_path_factory.mktemp("rig"), clock, parameters))
        return rigs[-1]

    yield make
    for rig in rigs:
        stop_processes(rig.tools, patience_s=5.0)
        rig.stack.stop()
