"""Where the bridge's messages come from: one publisher of joint states, one of plans; everybody else is named.

A second publisher of joint states is a fault: which of two robots is meant, nobody can say. A second publisher of plans
is left out with a warning, and the first one is followed on.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rclpy.node import Node

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.guard.limits import MAX_POINTS
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.ros.messages.qos import TOPICS, ClockName, qos_profile
from contact_mpc.ros.messages.serialized import read_stamp_ns
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.ros.runtime.message_source import Taken
from contact_mpc.ros.runtime.topic_gate import TopicGate
from contact_mpc.task.joint_parts import DEPTH

LARGEST_STATE_BYTES = 65_536  # far more than any robot's joints; 1 MB would take 10 ms to convert
NAME_PERIOD_S = 1.0
HEADER_BYTES, VALUES, VALUE_BYTES, LENGTH_BYTES = 1024, 4, 8, 8


def largest_plan_bytes(system: System) -> int:
    """Return the length of a serialized plan of `MAX_POINTS` points with all four kinds of values, and some room."""
    names = sum(len(name) + 2 * LENGTH_BYTES for name in system.joint_names)
    point = VALUES * (VALUE_BYTES * system.n_a + LENGTH_BYTES) + 2 * LENGTH_BYTES
    return HEADER_BYTES + names + MAX_POINTS * point


class BridgeSources:
    """The two topics of a bridge, each from one publisher.

    Parameters
    ----------
    node : Node
        Knows the graph, and logs.
    reader : DirectReader
        Waits for both topics.
    core : BridgeCore
        Is told what was refused.
    system : System
        Length of a plan.
    clock : str
        "lockstep" or "realtime".
    session : str
        Of the plans, see `TopicGate`.
    topics : sequence of str
        Of joint states: one for each driver.

    Attributes
    ----------
    strangers : dict
        For "state" and "plan": who else publishes, and how many messages, in words.
    """

    def __init__(
        self,
        node: Node,
        reader: DirectReader,
        core: BridgeCore,
        system: System,
        clock: ClockName,
        session: str,
        topics: Sequence[str],
    ) -> None:
        self._node, self._reader, self._core, self._clock = node, reader, core, clock
        self._next_name_s = {"state": 0.0, "plan": 0.0}
        self.strangers: dict[str, str] = {}
        takeover_ns = core.config.plan_max_age_ns if session else None
        self.states = [
            self._gate("joint_states", topic, DEPTH, partial(self._refuse_state, k), LARGEST_STATE_BYTES)
            for k, topic in enumerate(topics)
        ]
        largest = largest_plan_bytes(system)
        self.plans = self._gate("mpc_tracker/plan", "", 1, self._refuse_plan, largest, takeover_ns, session)

    def _gate(
        self, name: str, other: str, depth: int, on_refused: Callable[[str, Taken], None], *arguments: Any
    ) -> TopicGate:
        topic = TOPICS[name]
        profile = qos_profile(topic.quality, self._clock, depth)
        subscription = self._reader.subscribe(topic.msg_type, other or topic.name, profile)
        return TopicGate(self._reader, subscription, on_refused, *arguments)

    def release(self) -> None:
        """Listen to whoever sends next."""
        for gate in self.states:
            gate.release()
        self.plans.release()

    def _refuse_state(self, index: int, reason: str, taken: Taken) -> None:
        if reason == "stranger":
            self._core.meet_stranger("state", self._name_strangers("state", self.states[index]))
        else:
            self._core.refuse_state(f"state_{reason}", self._core.newest_t_ns, f"{len(taken.data)} bytes or more")

    def _refuse_plan(self, reason: str, taken: Taken) -> None:
        if reason == "stranger":
            self._core.meet_stranger("plan", self._name_strangers("plan", self.plans))
            return
        try:
            stamp_ns = read_stamp_ns(taken.data)
        except InputError:
            stamp_ns = self._core.newest_t_ns
        self._core.refuse_plan(stamp_ns, f"plan_{reason}", f"{len(taken.data)} bytes or more")

    def _name_strangers(self, what: str, gate: TopicGate) -> str:
        """Return who they are; the graph is asked, and the log written, once a second at most."""
        now_s = time.monotonic()
        if now_s >= self._next_name_s[what]:
            self._next_name_s[what] = now_s + NAME_PERIOD_S
            self.strangers[what] = gate.describe_strangers(self._node)
            self._node.get_logger().error(f"{what} of another publisher refused: {self.strangers[what]}")
        return self.strangers[what]
