"""The whole stack in realtime with a relay between its parts and a monitor on the wire, in one loop of this process.

The robot, a plant or a mock driver under a robot's own names and topics, sends joint states and poses through the
relay, as the tracker does its plans; the bridge's commands go straight to the robot, and the monitor sees every one of
them and every state of the robot. Where a robot has several drivers (an arm each), faults of states are those of all,
strangers those of the first.
"""

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from contact_mpc.errors import InputError
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.driver.device import DeviceCommands
from contact_mpc.ros.faults.channel import Channel
from contact_mpc.ros.faults.supervisor import Supervisor
from contact_mpc.ros.faults.wire_monitor import WireLimits, WireMonitor
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import EVERY_CHANGE, Quality, Topic, qos_profile
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.ros.runtime.lifecycle_client import CONFIGURE_TIMEOUT_S
from contact_mpc.ros.stack.stack import Stack, StackSpec
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.joint_parts import JointParts
from contact_mpc.task.task import TaskConfig

ROBOTS = ("mock_driver", "plant")
EVERYTHING = QoSProfile(depth=4096, reliability=QoSReliabilityPolicy.RELIABLE)
TURN_S = 0.0005
SERVICE_PERIOD_NS = 3_000_000


@dataclass(frozen=True)
class Naming:
    """A name that was given to what goes on, and when that was published or seen, monotonic clock, ns.

    Names are modes and causes of the bridge, "ERROR NODE" for an error in a node's diagnostics, "ended NODE".
    """

    given_ns: int
    name: str


@dataclass(frozen=True)
class Relayed:
    """A topic that goes through the relay: its channel, name, type and quality, who sends it, and how it is sent."""

    key: str
    topic: str
    msg_type: Any
    quality: Quality
    sender: str
    raw: str


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
    robot : str
        The node that stands in for the robot.
    period_ns : int
        Of its joint states and of the commands.
    channels : dict of Channel
        "state", "pose", "plan"; "state1" of a second driver.
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
        bridge = parameters["command_bridge"]
        self.interface = bridge.get("command_interface", "effort")
        self.robot = next(name for name in ROBOTS if name in parameters)
        driver = DriverConfig(**bridge.get("driver", {}))
        self.period_ns = NS_PER_S // int(bridge.get("rate_hz", 1000))
        relayed = [Relayed(f"state{k}" if k else "state", name, JointState, "BE1", self.robot, f"raw/joint_states_{k}")
                   for k, name in enumerate(driver.joint_states_topics)]  # fmt: skip
        relayed += [
            Relayed("pose", "object_pose", PoseStamped, "BE1", self.robot, "raw/object_pose"),
            Relayed("plan", "mpc_tracker/plan", JointTrajectory, "R1", "mpc_tracker", "mpc_tracker/raw_plan"),
        ]
        remappings: dict[str, dict[str, str]] = {}
        for item in relayed:
            remappings.setdefault(item.sender, {})[item.topic] = item.raw
        namespace = "/" + system.config.robots[0].name
        self.stack = Stack(StackSpec(namespace, parameters, folder, remappings=remappings))
        self._reader = DirectReader(self.stack.node)
        self.channels = {item.key: self._make_channel(item, system.v_max) for item in relayed}
        self._device = DeviceCommands(driver, system.joint_names, self.interface)
        self._commands = self._device.subscribe(lambda kind, topic: self._reader.subscribe(kind, topic, EVERYTHING))
        names = driver.names(system.joint_names)
        self._parts = JointParts(names, driver.slices(system.n_a), round(driver.parts_within_s * NS_PER_S))
        self._order = messages.JointOrder(self._parts.names)
        self._safety = self._reader.subscribe(DiagnosticStatus, "command_bridge/safety", EVERY_CHANGE)
        rate = torque_rate_per_s * system.tau_max_nm
        self.monitor = WireMonitor(
            WireLimits(system.q_min, system.q_max, system.v_max, system.tau_max_nm, rate, self.period_ns),
            self.interface,
        )
        self._diagnostics = self._reader.subscribe(DiagnosticArray, "/diagnostics", EVERYTHING)
        self.mode = self.cause = "UNKNOWN"
        self.changed_ns = 0
        self.namings: list[Naming] = []
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

    def channels_of(self, key: str) -> list[Channel]:
        """Return the channels of a kind: of "state" one for each of the robot's drivers."""
        return [channel for name, channel in self.channels.items() if name.rstrip("0123456789") == key]

    def mend(self) -> None:
        """End all faults of messages."""
        for channel in self.channels.values():
            channel.mend()
            channel.connect()

    def _make_channel(self, item: "Relayed", v_max: FloatArray) -> Channel:
        subscription = self._reader.subscribe(item.msg_type, item.raw, qos_profile(item.quality, "realtime"))
        topic = Topic(item.topic, item.msg_type, item.quality)
        return Channel(self._reader, subscription, self.stack.node, topic, v_max)

    def _turn(self) -> None:
        self._reader.wait(TURN_S)
        for key, channel in self.channels.items():
            for data in channel.forward():
                if key.startswith("state"):
                    self._judge_state(data, int(key.removeprefix("state") or 0))
        self._judge_commands()
        self._take_namings()
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_service_ns:
            self._next_service_ns = now_ns + SERVICE_PERIOD_NS
            self.supervisor.look()
            self.stack.handle_events()

    def _judge_state(self, data: bytes, group: int) -> None:
        whole = self._parts.complete(deserialize_message(data, JointState), group)
        if whole is not None:
            q, dq, _ = messages.read_joint_state(whole, self._order)
            self.monitor.add_state(q, np.zeros_like(q) if dq is None else dq)

    def _judge_commands(self) -> None:
        for group, subscription in enumerate(self._commands):
            while (taken := self._reader.take(subscription)) is not None:
                try:
                    found = self._device.read(taken[0], group)
                except InputError as error:
                    self.monitor.add_command_error(error)
                else:
                    if found is not None:
                        self.monitor.add_command(*found, taken[1])

    def _take_namings(self) -> None:
        while (taken := self._reader.take(self._safety)) is not None:
            values = messages.values_of(taken[0])
            mode, cause, sent_ns = values["mode"], values["cause"], to_monotonic_ns(taken[1])
            if (mode, cause) != (self.mode, self.cause):
                self.mode, self.cause, self.changed_ns = mode, cause, time.monotonic_ns()
                self.namings += [Naming(sent_ns, mode), Naming(sent_ns, cause)]
        while (taken := self._reader.take(self._diagnostics)) is not None:
            for status in taken[0].status:
                if status.level == DiagnosticStatus.ERROR:
                    self.namings.append(Naming(to_monotonic_ns(taken[1]), f"ERROR {status.name.rpartition('/')[2]}"))
        for name, (seen_ns, _reason) in self.supervisor.ended.items():
            naming = Naming(seen_ns, f"ended {name}")
            if naming not in self.namings:
                self.namings.append(naming)


def to_monotonic_ns(published_ns: int) -> int:
    """Return when a message was published by the monotonic clock, ns: now where the middleware does not say (0).

    The relay has other things to do than to read: what it took to get to the message is not the publisher's delay.
    """
    now_ns = time.monotonic_ns()
    return now_ns if published_ns == 0 else now_ns - max(0, time.time_ns() - published_ns)
