"""Plays the measurements and references of a bag to the nodes, and compares what they answer with what was recorded.

Published are joint states, object poses and references, byte for byte, in the order of their receipt. Lockstep: after
a joint state for which the bag has a plan, the player waits for that plan, so that slow nodes lose nothing; realtime:
at the pace of the recording. At the end the process exits, with code 0 only if every plan and command of the bag came
again within the tolerance.
"""

import json
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field
from rclpy.executors import Executor
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.storage import DamagedBagError, raw_messages
from contact_mpc.bags.topics import TOPICS, assign_topics
from contact_mpc.errors import StackError
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.serialized import parse_named_stamp, read_header, read_stamp_ns
from contact_mpc.ros.runtime.lifecycle_client import ReferenceWatch
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import run_node
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.settings.file_access import write_text

PLAYED = ("joint_states", "object_pose", "references", "object_references")
SETTLE_S = 0.5
REFERENCE_TIMEOUT_S = 120.0


class BagPlayerConfig(NodeConfig):
    """Parameters of the bag player."""

    bag: str = Field(min_length=1, description="folder of a rosbag2 bag, or its .mcap or .db3 file")
    robot_namespace: str = Field(default="", description="namespace in the bag, where it holds several robots")
    answer_timeout_s: float = Field(
        default=20.0, gt=0.0, description="lockstep: wall time to wait for a plan", json_schema_extra={"unit": "s"}
    )
    tolerance: float = Field(default=1e-9, ge=0.0, description="largest difference of plans and commands (rad, N m)")
    result_file: str = Field(default="", description="JSON file for the comparison; empty: only the log")


@dataclass
class Comparison:
    """How recomputed plans and commands compare with the recorded ones of the same stamp."""

    plans: int = 0
    plans_missing: int = 0
    plans_max_abs_diff: float = 0.0
    commands: int = 0
    commands_missing: int = 0
    commands_max_abs_diff: float = 0.0

    def is_within(self, tolerance: float) -> bool:
        """Whether something was compared, nothing is missing and nothing differs by more."""
        largest = max(self.plans_max_abs_diff, self.commands_max_abs_diff)
        return self.plans > 0 and not self.plans_missing and not self.commands_missing and largest <= tolerance


class BagPlayerNode(ContactNode):
    """Plays a bag and listens to the answers."""

    config_class = BagPlayerConfig

    def __init__(self) -> None:
        super().__init__("bag_player")
        self._result = Comparison()

    def configure(self) -> None:
        """Read what the bag expects and connect."""
        config: BagPlayerConfig = self.config
        self._system = load_system(config.system)
        self._path = Path(config.bag).expanduser()
        record = read_run(self._path, config.robot_namespace or None)
        record.need("joint_states", "object_pose", "references", "object_references")
        self._plans = {plan.stamp_ns: plan for plan in record.plans}
        commands = record.commands
        self._commands = {} if commands is None else first_of_each(commands.t_ns.tolist(), commands.values)
        self._answered: dict[int, JointTrajectory] = {}
        self._sent: dict[int, np.ndarray] = {}
        self._watch = ReferenceWatch(self)
        self._publishers_by_key = {key: self.publish_topic(TOPICS[key].suffix) for key in PLAYED}
        self.subscribe_topic("mpc_tracker/plan", self._on_plan)
        self._command_topics = [f"{interface}_controller/commands" for interface in ("effort", "position")]
        for topic in self._command_topics:
            self.subscribe_topic(topic, self._on_commands)

    def activate(self) -> None:
        """Begin to play."""
        for key in PLAYED:
            self.wait_for_subscribers(self._publishers_by_key[key], 1)
        self._waits_for_commands = self.config.clock == "lockstep"
        self._messages = self._read_messages()
        self._first_ns: tuple[int, float] | None = None

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return how many answers have come."""
        values: dict[str, object] = {"plans": len(self._answered), "commands": len(self._sent)} if self.config else {}
        return DiagnosticStatus.OK, "playing" if self.is_active else "inactive", values

    def spin_some(self, executor: Executor) -> None:
        """Publish the next message and handle what has arrived."""
        if not self.is_active:
            super().spin_some(executor)
            return
        played = next(self._messages, None)
        if played is None:
            self._finish(executor)
            return
        key, receive_ns, data = played
        if key == "joint_states" and not self._watch.has_reference:
            self._wait(executor, lambda: self._watch.has_reference, REFERENCE_TIMEOUT_S, "the tracker's reference")
        self._pace(executor, receive_ns)
        self._publishers_by_key[key].publish(data)
        self.handle_events(executor)
        stamp_ns = read_stamp_ns(data)
        if self.config.clock == "lockstep" and key == "joint_states" and stamp_ns in self._plans:
            what = f"the plan of {stamp_ns * 1e-9:.3f} s"
            self._wait(executor, lambda: stamp_ns in self._answered, self.config.answer_timeout_s, what)
        if self._waits_for_commands and key == "joint_states" and stamp_ns in self._commands:
            self._await_command(executor, stamp_ns)

    def _await_command(self, executor: Executor, stamp_ns: int) -> None:
        """Wait for a bridge's answer to a joint state, as the plant does; one that falls behind would refuse plans.

        One answer that does not come is counted as missing in the end, and no other is waited for.
        """
        if not self._sent and not any(self.count_publishers(topic) for topic in self._command_topics):
            return  # played to estimator and tracker alone
        try:
            self._wait(executor, lambda: stamp_ns in self._sent, self.config.answer_timeout_s, "the command")
        except StackError as error:
            self.get_logger().warning(f"{stamp_ns * 1e-9:.3f} s: {error}")
            self._waits_for_commands = False

    def _read_messages(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield (series, time of receipt, bytes) of what is played; a bag that was cut off is played up to there."""
        for recover in (False, True):
            try:
                found = list(raw_messages(self._path, self.get_logger().warning, recover=recover))
            except DamagedBagError:
                continue
            keys = assign_topics(self._path, {m.topic: m.msgtype for m in found}, self.config.robot_namespace or None)
            played = ((keys[m.topic], m.receive_ns, m.data) for m in found if keys.get(m.topic) in PLAYED)
            yield from poses_first(list(played))
            return

    def _pace(self, executor: Executor, receive_ns: int) -> None:
        if self.config.clock == "lockstep":
            return
        if self._first_ns is None:
            self._first_ns = receive_ns, time.monotonic()
        due = self._first_ns[1] + (receive_ns - self._first_ns[0]) * 1e-9
        while (remaining := due - time.monotonic()) > 0.0 and not self.is_stopping:
            executor.spin_once(timeout_sec=remaining)

    def _wait(self, executor: Executor, condition: Any, timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition() and not self.is_stopping and self.is_active:
            executor.spin_once(timeout_sec=0.1)
            if time.monotonic() > deadline:
                raise StackError(f"{what} did not come within {timeout_s:g} s; see the logs of the nodes")

    def _on_plan(self, message: JointTrajectory) -> None:
        self._answered[messages.from_stamp(message.header.stamp)] = message

    def _on_commands(self, message: Float64MultiArray) -> None:
        stamp_ns, values = messages.read_commands(message, self._system.n_a)
        if stamp_ns is not None:
            self._sent.setdefault(stamp_ns, values)

    def _finish(self, executor: Executor) -> None:
        """Compare, report, and end the process."""
        deadline = time.monotonic() + SETTLE_S
        while time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
        self._compare_plans()
        self._compare_commands()
        result = self._result
        is_same = result.is_within(self.config.tolerance)
        self.get_logger().info(f"{'reproduced' if is_same else 'NOT reproduced'}: {json.dumps(asdict(result))}")
        if self.config.result_file:
            write_text(Path(self.config.result_file), json.dumps({**asdict(result), "is_reproduced": is_same}))
        self.exit_code = 0 if is_same else 1
        self.is_stopping = True

    def _compare_plans(self) -> None:
        order = messages.JointOrder(self._system.joint_names)
        for stamp_ns, recorded in self._plans.items():
            if stamp_ns not in self._answered:
                self._result.plans_missing += 1
                continue
            plan = messages.read_plan(self._answered[stamp_ns], order)
            columns = [recorded.names.index(name) for name in self._system.joint_names]
            self._result.plans += 1
            pairs = ((plan.u, recorded.position), (plan.du, recorded.velocity), (plan.tau_ff, recorded.effort))
            for ours, theirs in pairs:
                self._result.plans_max_abs_diff = max(self._result.plans_max_abs_diff, _distance(ours, theirs, columns))

    def _compare_commands(self) -> None:
        if not self._sent:  # played to estimator and tracker alone
            return
        for stamp_ns, recorded in self._commands.items():
            if stamp_ns not in self._sent:
                self._result.commands_missing += 1
                continue
            self._result.commands += 1
            difference = float(np.max(np.abs(self._sent[stamp_ns] - recorded)))
            self._result.commands_max_abs_diff = max(self._result.commands_max_abs_diff, difference)


def first_of_each(stamps_ns: Sequence[int], commands: np.ndarray) -> dict[int, np.ndarray]:
    """Return the first command of each stamp: the answer to its state; winding down repeats the last stamp."""
    return dict(zip(reversed(stamps_ns), commands[::-1], strict=True))


def poses_first(played: list[tuple[str, int, bytes]]) -> Iterator[tuple[str, int, bytes]]:
    """Yield messages in their order, but an object pose before the first joint state that names it.

    The recorder may have received them the other way round, and a player that waits for the answer to that joint
    state would wait for ever.
    """
    poses = deque(item for item in played if item[0] == "object_pose")
    for item in played:
        if item[0] == "object_pose":
            if poses and poses[0] is item:
                yield poses.popleft()
            continue
        named_ns = parse_named_stamp(read_header(item[2])[1]) if item[0] == "joint_states" else None
        while named_ns is not None and poses and read_stamp_ns(poses[0][2]) <= named_ns:
            yield poses.popleft()
        yield item


def _distance(ours: np.ndarray, theirs: np.ndarray, columns: list[int]) -> float:
    """Return the largest absolute difference; infinite where one holds and the other does not."""
    if len(ours) != len(theirs):
        return float("inf")
    return float(np.max(np.abs(ours - theirs[:, columns]))) if len(ours) else 0.0


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(BagPlayerNode))


if __name__ == "__main__":
    main()
