"""Parameters of another node: those that may change are found with their ranges, and set within them alone."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

import rclpy
from pydantic import BaseModel, ConfigDict, Field
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.parameter_client import ParameterClient, TunableParameter
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.settings.tunable import TUNABLE

pytestmark = pytest.mark.dds


class Weights(BaseModel):
    model_config = ConfigDict(frozen=True)

    weight: float = Field(1.0, gt=0.0, le=10.0, description="a weight", json_schema_extra={TUNABLE: True, "unit": "1"})
    count: int = Field(3, ge=1, le=5, description="not tunable")


class TunedConfig(NodeConfig, Weights):
    """A node with one tunable parameter."""


class Tuned(ContactNode):
    config_class = TunedConfig

    def __init__(self, context: Context) -> None:
        super().__init__("tuned", context=context, parameter_overrides=[rclpy.Parameter("system", value="x")])
        self.changes: list[dict[str, Any]] = []

    def tune(self, changes: dict[str, Any]) -> None:
        self.changes.append(changes)


class Pair:
    """A tuned node and one that asks, spun by one executor."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(args=[], context=self.context, domain_id=domain)
        self.tuned, self.asking = Tuned(self.context), Node("asking", context=self.context)
        self.client = ParameterClient(self.asking, "tuned", HANG_S)
        self.told: list[tuple[str, float, str]] = []
        self._executor = SingleThreadedExecutor(context=self.context)
        for node in (self.tuned, self.asking):
            self._executor.add_node(node)

    def spin_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + HANG_S
        while not condition():
            assert time.monotonic() < deadline
            self._executor.spin_once(timeout_sec=0.05)

    def ask(self) -> list[TunableParameter]:
        found: list[list[TunableParameter]] = []

        def is_told() -> bool:
            if not found:
                self.client.ask(found.append)
            return bool(found)

        self.spin_until(is_told)
        return found[0]

    def set(self, value: float) -> str:
        self.told.clear()
        self.client.want("weight", value)

        def is_told() -> bool:
            self.client.send(lambda *said: self.told.append(said))
            return bool(self.told)

        self.spin_until(is_told)
        assert self.told[0][0] == "weight"
        return self.told[0][2]

    def close(self) -> None:
        self._executor.shutdown()
        self.tuned.destroy_node()
        self.asking.destroy_node()
        self.context.try_shutdown()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    lease = DomainLease(None)
    made = Pair(lease.domain)
    yield made
    made.close()
    lease.release()


@pytest.fixture
def configured(pair: Pair) -> Pair:
    """Return the pair after its node's configuration, whichever test comes first."""
    if not pair.tuned.has_parameter("weight"):
        pair.tuned.trigger_configure()
    return pair


def test_before_it_is_configured_a_node_has_nothing_that_may_change(pair: Pair) -> None:
    assert pair.ask() == []
    pair.tuned.trigger_configure()
    assert pair.ask() == [TunableParameter("weight", "a weight [1]", 0.0, 10.0, 1.0)]


def test_a_value_within_the_range_reaches_the_config_and_the_node(configured: Pair) -> None:
    assert configured.set(2.5) == ""
    assert configured.tuned.config.weight == 2.5 and configured.tuned.changes == [{"weight": 2.5}]
    assert configured.ask()[0].value == 2.5


@pytest.mark.parametrize(("value", "words"), [(11.0, "range"), (0.0, "greater than 0"), (float("nan"), "weight")])
def test_a_value_beyond_it_is_refused_and_nothing_changes(configured: Pair, value: float, words: str) -> None:
    before = configured.tuned.config
    assert words in configured.set(value)
    assert configured.tuned.config is before


def test_what_is_read_only_stays(configured: Pair) -> None:
    result = configured.tuned.set_parameters([rclpy.Parameter("count", value=4)])[0]
    assert not result.successful and "read-only" in result.reason and configured.tuned.config.count == 3


def test_a_node_that_is_not_there_is_named(pair: Pair) -> None:
    nobody = ParameterClient(pair.asking, "nobody")
    nobody.want("weight", 1.0)
    told: list[tuple[str, float, str]] = []

    def is_told() -> bool:
        nobody.send(lambda *said: told.append(said))
        return bool(told)

    pair.spin_until(is_told)
    assert told == [("weight", 1.0, "nobody does not answer")]
