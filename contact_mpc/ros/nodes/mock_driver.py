"""Node in place of a robot and its driver: the same topics, drives of the second order, and their bad habits.

For bringing up everything but the robot. Joint states come at the driver's rate, under its names, in parts or with
gaps where that is asked for; commands act after a delay, and no longer than `command_timeout_s`. With a task the
object is reported where the task starts, and stays there: nothing here touches anything.
"""

import sys
import time
from functools import partial
from typing import Literal

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field, model_validator
from rclpy.executors import Executor

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.mock.drives import STEP_S, DriveSettings, MockDrives
from contact_mpc.ros.driver.config import DriverConfig, Seconds
from contact_mpc.ros.driver.device import DeviceCommands, DeviceStates
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import qos_profile
from contact_mpc.ros.runtime.direct_reader import MOST_AT_ONCE, DirectReader, at_most
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import freeze_garbage, run_node
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.ros.runtime.realtime import PacedDeadlines
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.task import load_task

SERVICE_PERIOD_S = 0.02
READINGS = 10  # of the clocks, of which the one that took least counts
WARN_PERIOD_S = 1.0


class MockDriverConfig(NodeConfig):
    """Parameters of the mock driver."""

    driver: DriverConfig = DriverConfig()
    command_interface: Literal["effort", "position"] = Field(
        default="effort", description="effort: joint torques; position: setpoints of the robot's own joint impedance"
    )
    gravity_compensation: Literal["robot", "bridge"] = Field(
        default="robot", description="robot: the drives carry the robot's own weight; bridge: the command bridge does"
    )
    rate_hz: int = Field(
        default=1000, ge=10, le=1000, description="rate of joint states", json_schema_extra={"unit": "Hz"}
    )
    parts: int = Field(default=1, ge=1, le=8, description="messages that a joint state comes in")
    start_rad: tuple[float, ...] = Field(
        default=(), description="joint positions at the start, in the system's order; empty: the system's default",
        json_schema_extra={"unit": "rad"},
    )  # fmt: skip
    delay_s: Seconds = Field(
        default=0.002, ge=0.0, le=0.5, description="from a command to its torque", json_schema_extra={"unit": "s"}
    )
    friction_fraction: Seconds = Field(default=0.02, ge=0.0, le=1.0, description="dry friction over the effort limit")
    damping_fraction: Seconds = Field(
        default=0.05, ge=0.0, le=10.0, description="viscous friction over the system's Kd"
    )
    dropout_fraction: Seconds = Field(default=0.0, ge=0.0, le=1.0, description="share of joint states that are lost")
    seed: int = Field(default=0, ge=0, description="seed of the dropouts")
    command_timeout_s: Seconds = Field(
        default=0.1, gt=0.0, le=10.0, description="a command acts no longer than this: torque off, or position held",
        json_schema_extra={"unit": "s"},
    )  # fmt: skip
    task: str = Field(default="", description="task whose object is reported where it starts; empty: no object")
    pose_rate_hz: int = Field(
        default=60, ge=1, le=200, description="rate of the object's pose", json_schema_extra={"unit": "Hz"}
    )

    @model_validator(mode="after")
    def _check_clock(self) -> "MockDriverConfig":
        if self.clock != "realtime":
            raise ValueError("clock 'lockstep': a driver keeps its own time; use 'realtime'")
        return self


class MockDriverNode(ContactNode):
    """Plays a robot's driver."""

    config_class = MockDriverConfig

    def __init__(self) -> None:
        super().__init__("mock_driver")
        self._refused = self._overruns = self._commands_taken = 0

    def configure(self) -> None:
        """Build the drives and connect them."""
        config: MockDriverConfig = self.config
        system = self._system = load_system(config.system)
        names, start = system.joint_names, np.array(config.start_rad or system.q_default[system.n_q_u :])
        if start.shape != (system.n_a,) or np.any(start < system.q_min) or np.any(start > system.q_max):
            raise ConfigError(f"start_rad: expected {system.n_a} positions within the limits of {', '.join(names)}")
        self._start = start
        self._device = DeviceCommands(config.driver, names, config.command_interface)
        self._states = DeviceStates(self, config.driver, names, config.parts)
        self._reader = DirectReader(self)
        profile = qos_profile("R1", "realtime")
        self._commands = self._device.subscribe(lambda kind, topic: self._reader.subscribe(kind, topic, profile))
        self._poses = self.publish_topic("object_pose") if config.task else None

    def activate(self) -> None:
        """Switch the drives on where they stand."""
        config: MockDriverConfig = self.config
        settings = DriveSettings(
            config.delay_s, config.friction_fraction, config.damping_fraction, config.gravity_compensation == "robot"
        )
        self._drives = MockDrives(self._system, config.command_interface, settings, self._start)
        self._rng = np.random.default_rng(config.seed)
        self._object = self._find_object() if config.task else None
        self._command: FloatArray | None = None
        self._reader.drain()
        self._next_state_s = self._next_pose_s = self._next_service_s = time.monotonic()
        self._deadlines = PacedDeadlines(STEP_S, self._next_state_s)
        self._epoch_ns = min((self._read_epoch() for _ in range(READINGS)), key=lambda read: read[1])[0]
        self._command_until_s = 0.0
        freeze_garbage()

    def cleanup(self) -> None:
        """Release the subscriptions that this node reads itself."""
        self._reader.destroy()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return counts and where the joints are."""
        if not self.is_active:
            return super().diagnose()
        place = ", ".join(f"{value:.4f}" for value in self._drives.q)
        values: dict[str, object] = {
            "commands": self._commands_taken, "refused_commands": self._refused, "overruns": self._overruns,
            "position_rad": place,
        }  # fmt: skip
        return DiagnosticStatus.WARN if self._refused else DiagnosticStatus.OK, "running", values

    def spin_some(self, executor: Executor) -> None:
        """Advance the drives by 1 ms on absolute deadlines, and send what is due."""
        if not self.is_active:
            super().spin_some(executor)
            return
        while (left_s := self._deadlines.next_s - time.monotonic()) > 0.0:
            self._reader.wait(left_s)
            self._take_commands()
        now_s = time.monotonic()
        self._overruns += self._deadlines.meet(now_s)
        self._drives.step(self._command if now_s < self._command_until_s else None)
        self._send(self._deadlines.reached_s)
        if now_s >= self._next_service_s:
            self._next_service_s = now_s + SERVICE_PERIOD_S
            self._follow_clock()
            self.handle_events(executor)

    def _send(self, time_s: float) -> None:
        """Publish what is due, stamped with the instant that the drives have reached and not with that of sending.

        Steps that are made up for come faster than 1 ms, and positions would move by more than the velocities say.
        """
        config: MockDriverConfig = self.config
        stamp_ns = self._epoch_ns + round(time_s * NS_PER_S)
        if time_s > self._next_state_s - 0.5 * STEP_S:
            self._next_state_s = max(self._next_state_s + 1.0 / config.rate_hz, time_s)
            if self._rng.random() >= config.dropout_fraction:
                drives = self._drives
                self._states.publish(stamp_ns, drives.q, drives.dq, drives.tau)
        if self._poses is not None and self._object is not None and time_s > self._next_pose_s - 0.5 * STEP_S:
            self._next_pose_s = time_s + 1.0 / config.pose_rate_hz
            self._poses.publish(messages.to_pose_stamped(stamp_ns, *self._object))

    def _follow_clock(self) -> None:
        """Take over what the system's clock was set by, unless this process was held up between the two readings."""
        epoch_ns, apart_s = self._read_epoch()
        if apart_s < 0.1 * STEP_S:
            self._epoch_ns = epoch_ns

    def _read_epoch(self) -> tuple[int, float]:
        """Return the system's clock at the monotonic one's zero, ns, and by how much at most it is too late, s."""
        before_s = time.monotonic()
        epoch_ns = self._now_ns() - round(before_s * NS_PER_S)
        return epoch_ns, time.monotonic() - before_s

    def _take_commands(self) -> None:
        for topic, subscription in enumerate(self._commands):
            for taken in at_most(MOST_AT_ONCE, partial(self._reader.take, subscription)):
                try:
                    found = self._device.read(taken[0], topic)
                except InputError as error:
                    self._refused += 1
                    self.get_logger().warning(f"command refused: {error}", throttle_duration_sec=WARN_PERIOD_S)
                    continue
                if found is not None:
                    self._command, self._commands_taken = found[1], self._commands_taken + 1
                    self._command_until_s = time.monotonic() + self.config.command_timeout_s

    def _find_object(self) -> tuple[FloatArray, FloatArray]:
        task = load_task(self.config.task)
        return task.system.object_pose(task.start_q)

    def _now_ns(self) -> int:
        return int(self.get_clock().now().nanoseconds)


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(MockDriverNode))


if __name__ == "__main__":
    main()
