"""The whole stack in realtime with a relay between its parts and a monitor on the wire, in one loop of this process.

The plant's joint states and poses and the tracker's plans go through the relay; the bridge's commands go straight to
the plant, and the monitor sees every one of them and every state of the robot.
"""

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from contact_mpc.errors import InputError
from contact_mpc.ros.faults.channel import Channel
from contact_mpc.ros.faults.supervisor import Supervisor
from contact_mpc.ros.faults.wire_monitor import WireLimits, WireMonitor
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.ros.runtime.lifecycle_client import CONFIGURE_TIMEOUT_S
from contact_mpc.ros.stack.stack import Stack, StackSpec
from contact_mpc.task.task import TaskConfig

RELAYED = {"state": "joint_states", "pose": "object_pose", "plan": "mpc_tracker/plan"}
REMAPPINGS = {
    "plant": {"joint_states": "plant/joint_states", "object_pose": "plant/object_pose"},
    "mpc_tracker": {"mpc_tracker/plan": "mpc_tracker/raw_plan"},
}
EVERYTHING = QoSProfile(depth=4096, reliability=QoSReliabilityPolicy.RELIABLE)
EVERY_CHANGE = QoSProfile(
    depth=100, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
)
TURN_S = 0.0005
SERVICE_PERIOD_NS = 3_000_000


@dataclass(frozen=True)
class Naming:
    """A name that was given to what goes on, and when that was received, monotonic clock, ns.

    Names are modes and causes of the bridge, "ERROR NODE" for an error in a node's diagnostics, "ended NODE".
    """

    receipt_ns: int
    name: str


class FaultRig:
    """Stack, relay and monitor; use as a context manager.

    Parameters
    ----------
    task : TaskConfig
        What the stack works on.
    parameters : dict
        Parameters of every node, clock realtime, without the recorder's bag.
    folder : Path
        Existing folder for logs and bags.
    torque_rate_per_s : float
        Largest change of the torque in URDF effort limits per second, as the robot's makers state it.

    Attributes
    ----------
    channels : dict of Channel
        "state", "pose", "plan".
    monitor : WireMonitor
        The judge.
    mode, cause : str
        What the bridge said last.
    namings : list of Naming
        All names since `clear`, in order.
    """

    def __init__(
        self, task: TaskConfig, parameters: dict[str, dict[str, Any]], folder: Path, torque_rate_per_s: float
    ) -> None:
        system, self.folder = task.system, folder
        self.interface = parameters["command_bridge"].get("command_interface", "effort")
        namespace = "/" + system.config.robots[0].name
        self.stack = Stack(StackSpec(namespace, parameters, folder, remappings=REMAPPINGS))
        self._reader = DirectReader(self.stack.node)
        self.channels = {key: self._make_channel(topic) for key, topic in RELAYED.items()}
        self._commands = self._reader.subscribe(Float64MultiArray, f"{self.interface}_controller/commands", EVERYTHING)
        self._safety = self._reader.subscribe(DiagnosticStatus, "command_bridge/safety", EVERY_CHANGE)
        rate = torque_rate_per_s * system.tau_max_nm
        self.monitor = WireMonitor(
            WireLimits(system.q_min, system.q_max, system.v_max, system.tau_max_nm, rate), self.interface
        )
        self._diagnostics = self._reader.subscribe(DiagnosticArray, "/diagnostics", EVERYTHING)
        self.mode = self.cause = "UNKNOWN"
        self.changed_ns = 0
        self.namings: list[Naming] = []
        self._order = messages.JointOrder(system.joint_names)
        self._n_a = system.n_a
        self._next_service_ns = 0
        self._started: tuple[str, ...] = ()
        self.supervisor = Supervisor(self.stack, self.run_until)

    def __enter__(self) -> "FaultRig":
        return self

    def __exit__(self, *_error: object) -> None:
        self.stack.stop()

    @property
    def time_ns(self) -> int:
        """Stamp of the plant's newest state, ns."""
        channel = self.channels["state"]
        return time.monotonic_ns() - channel.offset_ns if channel.history else 0

    def run_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Keep relay and monitor going until a condition holds; returns whether it does."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            self._turn()
        return True

    def run_for(self, duration_s: float) -> None:
        """Keep relay and monitor going."""
        self.run_until(lambda: False, duration_s)

    def start(self, names: Sequence[str]) -> None:
        """Start nodes, configure and activate them in this order."""
        self._started = tuple(names)
        self.stack.start(names)
        for name in names:
            self.supervisor.request(name, "configure", CONFIGURE_TIMEOUT_S)
        for name in names:
            self.supervisor.request(name, "activate")

    def restart(self) -> None:
        """End all processes and start those anew that `start` started."""
        for name in list(self.stack.processes):
            self.supervisor.end(name, signal.SIGKILL)
        self.start(self._started)

    def clear(self) -> None:
        """Forget the names given so far."""
        self.namings.clear()

    def find_naming(self, names: tuple[str, ...]) -> Naming | None:
        """Return the first naming since `clear` with one of these names."""
        return next((naming for naming in self.namings if naming.name in names), None)

    def mend(self) -> None:
        """End all faults of messages."""
        for channel in self.channels.values():
            channel.mend()
            channel.connect()

    def _make_channel(self, topic: str) -> Channel:
        raw = next(other for names in REMAPPINGS.values() for name, other in names.items() if name == topic)
        known, node = TOPICS[topic], self.stack.node
        subscription = self._reader.subscribe(known.msg_type, raw, qos_profile(known.quality, "realtime"))
        return Channel(self._reader, subscription, node, known)

    def _turn(self) -> None:
        self._reader.wait(TURN_S)
        for key, channel in self.channels.items():
            for data in channel.forward():
                if key == "state":
                    self._judge_state(data)
        self._judge_commands()
        self._take_namings()
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_service_ns:
            self._next_service_ns = now_ns + SERVICE_PERIOD_NS
            self.supervisor.look()
            self.stack.handle_events()

    def _judge_state(self, data: bytes) -> None:
        message = deserialize_message(data, JointState)
        q, dq, _ = messages.read_joint_state(message, self._order)
        self.monitor.add_state(q, np.zeros_like(q) if dq is None else dq)

    def _judge_commands(self) -> None:
        while (taken := self._reader.take(self._commands)) is not None:
            try:
                stamp_ns, values = messages.read_commands(taken[0], self._n_a)
            except InputError as error:
                self.monitor.add_command_error(error)
            else:
                self.monitor.add_command(stamp_ns, values, taken[1])

    def _take_namings(self) -> None:
        while (taken := self._reader.take(self._safety)) is not None:
            values = {pair.key: pair.value for pair in taken[0].values}
            mode, cause, now_ns = values["mode"], values["cause"], time.monotonic_ns()
            if (mode, cause) != (self.mode, self.cause):
                self.mode, self.cause, self.changed_ns = mode, cause, now_ns
                self.namings += [Naming(now_ns, mode), Naming(now_ns, cause)]
        while (taken := self._reader.take(self._diagnostics)) is not None:
            for status in taken[0].status:
                if status.level == DiagnosticStatus.ERROR:
                    self.namings.append(Naming(time.monotonic_ns(), f"ERROR {status.name.rpartition('/')[2]}"))
        for name, (receipt_ns, _reason) in self.supervisor.ended.items():
            naming = Naming(receipt_ns, f"ended {name}")
            if naming not in self.namings:
                self.namings.append(naming)
