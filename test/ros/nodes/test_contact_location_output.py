"""When and from which torques the node says where links are touched."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from contact_mpc.errors import ConfigError
from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.nodes.contact_location_output import ContactLocationOutput
from contact_mpc.task.loop_records import EstimatedState

SYSTEM = load_system("iiwa_box")
Q_A = SYSTEM.q_default[SYSTEM.n_q_u :]
UNKNOWN = np.full(SYSTEM.n_a, np.nan)


class Inbox:
    """Messages by topic, as a reader hands them out."""

    def __init__(self) -> None:
        self.waiting: dict[str, deque[Any]] = {}

    def subscribe(self, topic: str) -> SimpleNamespace:
        self.waiting[topic] = deque()
        return SimpleNamespace(topic_name=topic)

    def take(self, subscription: SimpleNamespace) -> tuple[Any, int] | None:
        queue = self.waiting[subscription.topic_name]
        return (queue.popleft(), 0) if queue else None


def make(rate_hz: int, published: dict[str, list[Any]]) -> ContactLocationOutput:
    def publisher(name: str) -> SimpleNamespace:
        return SimpleNamespace(publish=published.setdefault(name, []).append)

    order = messages.JointOrder(SYSTEM.joint_names)
    return ContactLocationOutput(SYSTEM, LocationConfig(), order, publisher, 200, rate_hz)


def joint_state(t_ns: int, **fields: np.ndarray) -> Any:
    message = messages.make_joint_state(SYSTEM.joint_names)
    return messages.fill_joint_state(message, t_ns, fields.get("position", Q_A), None, fields.get("effort"))


def state() -> EstimatedState:
    q = SYSTEM.q_default.copy()
    return EstimatedState(0, q, np.zeros(SYSTEM.n_v), UNKNOWN, np.zeros((SYSTEM.n_v_u, SYSTEM.n_v_u)))


def test_torques_come_from_commands_then_from_reports_and_unusable_ones_are_named() -> None:
    published: dict[str, list[Any]] = {}
    inbox, refused, output = Inbox(), [], make(20, published)
    output.subscribe(inbox, inbox.subscribe)

    def say(tick: int) -> Any:
        output.take_torques(lambda topic, error: refused.append((topic, str(error))))
        output.publish(tick, state())
        return published["state_estimator/contact_location"][-1]

    assert "cannot be located" in say(0).message
    inbox.waiting["command_bridge/applied"].append(joint_state(0, position=Q_A - 0.01))
    assert "error of joint impedance" in say(10).values[0].value
    inbox.waiting["external_torques"].append(joint_state(0, effort=UNKNOWN))
    assert "error of joint impedance" in say(20).values[0].value
    assert refused and refused[0][0] == "external_torques"
    inbox.waiting["external_torques"].append(joint_state(0, effort=np.zeros(SYSTEM.n_a)))
    assert say(30).message == "no contact"
    count = len(published["state_estimator/contact_location"])
    say(31)
    assert len(published["state_estimator/contact_location"]) == count


def test_a_rate_that_does_not_divide_is_refused() -> None:
    with pytest.raises(ConfigError, match="contact_location_rate_hz = 30 does not divide rate_hz = 200"):
        make(30, {})
