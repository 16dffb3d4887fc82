"""The parameters of another node that may change while it runs: asked for, and set, without ever waiting.

Everything is a request to the node's own parameter services with a callback; whoever spins the asking node gets it. Of
values that come faster than they are answered the newest of each parameter goes on.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.node import Node

KINDS = {"list": ListParameters, "describe": DescribeParameters, "get": GetParameters, "set": SetParameters}

PATIENCE_S = 2.0  # for an answer


@dataclass(frozen=True)
class TunableParameter:
    """A number that may change, with its declared range."""

    name: str
    description: str
    low: float
    high: float
    value: float


class ParameterClient:
    """Asks a node for its tunable numbers and sets them.

    Parameters
    ----------
    node : Node
        Who asks.
    target : str
        Name of the other node, relative to the namespace of `node`.
    patience_s : float, optional
        How long a value that was sent waits for its answer, s.
    """

    def __init__(self, node: Node, target: str, patience_s: float = PATIENCE_S) -> None:
        self.target, self._patience_s = target, patience_s
        self._clients = {
            kind: node.create_client(srv_type, f"{target}/{kind}_parameters") for kind, srv_type in KINDS.items()
        }
        self._wanted: dict[str, float] = {}
        self._sent: tuple[str, float, float] | None = None

    def ask(self, tell: Callable[[list[TunableParameter]], None]) -> None:
        """Have `tell` called with what may change; not at all where the node is not there or dies meanwhile."""
        names: list[str] = []
        descriptors: list[ParameterDescriptor] = []

        def describe(answer: ListParameters.Response) -> None:
            names.extend(answer.result.names)
            self._call("describe", DescribeParameters.Request(names=names), get)

        def get(answer: DescribeParameters.Response) -> None:
            descriptors.extend(item for item in answer.descriptors if _is_tunable(item))
            request = GetParameters.Request(names=[item.name for item in descriptors])
            self._call("get", request, finish)

        def finish(answer: GetParameters.Response) -> None:
            tell([_tunable(*pair) for pair in zip(descriptors, answer.values, strict=True)])

        self._call("list", ListParameters.Request(), describe)

    def want(self, name: str, value: float) -> None:
        """Note a value that a parameter shall have; from any thread."""
        self._wanted[name] = value

    def send(self, tell: Callable[[str, float, str], None]) -> None:
        """Send a value that is wanted, one at a time; called now and then by who spins the asking node.

        `tell` is called with name, value and why it was refused, "" where it was not.
        """
        if self._sent is not None:
            name, value, until_s = self._sent
            if time.monotonic() > until_s:
                self._sent = None
                tell(name, value, f"{self.target} does not answer")
            return
        if not self._wanted:
            return
        name, value = self._wanted.popitem()
        sent = self._sent = (name, value, time.monotonic() + self._patience_s)

        def done(answer: SetParameters.Response) -> None:
            if self._sent is sent:
                self._sent = None
                result = answer.results[0]
                tell(name, value, "" if result.successful else result.reason or "refused")

        self._call("set", SetParameters.Request(parameters=[_message(name, value)]), done)

    def _call(self, kind: str, request: Any, done: Callable[[Any], None]) -> None:
        client = self._clients[kind]
        if client.service_is_ready():
            client.call_async(request).add_done_callback(lambda future: done(future.result()))


def _is_tunable(descriptor: ParameterDescriptor) -> bool:
    return not descriptor.read_only and bool(descriptor.floating_point_range)


def _tunable(descriptor: ParameterDescriptor, value: ParameterValue) -> TunableParameter:
    limits = descriptor.floating_point_range[0]
    return TunableParameter(
        descriptor.name, descriptor.description, limits.from_value, limits.to_value, value.double_value
    )


def _message(name: str, value: float) -> ParameterMessage:
    return ParameterMessage(
        name=name, value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value))
    )
