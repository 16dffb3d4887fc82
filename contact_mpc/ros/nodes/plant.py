"""Node around a simulated plant with sensors: the robot, its objects and the clock of a run.

Lockstep: publish the state of t, wait for the command stamped t, step 1 ms. Realtime: publish on absolute deadlines of
the monotonic clock and apply the newest command for the steps until the next; a plant slower than real time shifts its
deadlines and counts that. Bridge and tracker are waited for (`controller_patience_s`): torques that answer a state of
long ago are none that a robot would have got, and within 20 ms fingers run away with them; and plant and bridge, which
run before other programs, would leave the tracker no time on a small or busy machine.
Until the first command the joints hold the task's start commands, as whatever controller held the grip before would: in
realtime, where time does not wait for it, step by step.
"""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import Executor
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock

from contact_mpc.errors import ConfigError, InputError, StackError
from contact_mpc.loop.holding_effort import HoldingController, holding_effort
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.common.plant import STEP_NS, T0_NS, PlantState
from contact_mpc.plants.common.sensors import SensorModel
from contact_mpc.plants.registry import make_plant
from contact_mpc.ros.driver.device import DeviceCommands, DeviceStates
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.messages.serialized import read_stamp_ns
from contact_mpc.ros.nodes.plant_config import PlantConfig
from contact_mpc.ros.runtime.awaited import Awaited
from contact_mpc.ros.runtime.direct_reader import MOST_AT_ONCE, DirectReader, at_most
from contact_mpc.ros.runtime.message_source import Taken
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import freeze_garbage, run_node
from contact_mpc.ros.runtime.realtime import PacedDeadlines, apply_realtime
from contact_mpc.ros.runtime.topic_gate import TopicGate
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.object_motion import ObjectMotion
from contact_mpc.task.task import load_task

RECORDER_LEAD_NS = NS_PER_S  # the plant may be this far ahead of the bag
RECORDER_TIMEOUT_S = 30.0
SERVICE_PERIOD_S = 0.02
LARGEST_COMMAND_BYTES = 65_536
LATE_NS = 5_000_000  # age of the state that the newest command answers, from which the next one is waited for
LATE_SLICE_S = 0.002  # rest of a plant that waits, and of one that misses a controller after each step
FIRST_PLAN_NS = 200_000_000  # from the start of time: by then there are poses, estimates and a first plan
COMMAND_TAKEOVER_NS = 500_000_000  # a bridge that runs sends every millisecond; one that was killed says nothing more
NAMING_PERIOD_S = 1.0
RATE_TOLERANCE = 0.005  # of a rate: a period of whole milliseconds is that near, as 3 ms for the 333 Hz of a CAN bus
UNKNOWN_COVARIANCE = np.zeros((6, 6))


class PlantNode(ContactNode):
    """Steps a plant with the commands of the bridge."""

    config_class = PlantConfig

    def __init__(self) -> None:
        super().__init__("plant")
        self._command_ns: int | None = None
        self._overruns = 0
        self._refused = 0
        self._strangers, self._next_naming_s = "", 0.0

    def configure(self) -> None:
        """Build plant and sensors and connect them."""
        config: PlantConfig = self.config
        self._steps_at_once = _steps_per_period("rate_hz", config.rate_hz)
        self._clock_every = _steps_per_period("clock_rate_hz", config.clock_rate_hz)
        self._truth_every = _steps_per_period("truth_rate_hz", config.truth_rate_hz)
        if config.rate_hz != 1000 and config.clock == "lockstep":
            raise ConfigError(f"parameter rate_hz = {config.rate_hz} needs the clock realtime; lockstep: 1000")
        if config.driver.command_type == "JointTrajectory" and config.clock == "lockstep":
            raise ConfigError("driver.command_type JointTrajectory carries no stamp; it needs the clock realtime")
        self._system, self._task = load_system(config.system), load_task(config.task)
        self._plant = make_plant(
            config.engine,
            self._system,
            config.command_interface,
            config.perturbation.model_copy(update={"seed": config.seed}),
            gravity_compensation=config.gravity_compensation == "robot",
        )
        self._plant.reset(self._task.start_q)
        self._holding = HoldingController(self._system, self._task, config.gravity_compensation)
        self._end_ns = T0_NS + round(config.run_for_s * NS_PER_S) if config.run_for_s else 0
        self._make_messages()
        self._connect()

    def activate(self) -> None:
        """Put the plant at the start of the task; time runs from here on."""
        for publisher in self._joints.publishers:
            self.wait_for_subscribers(publisher, 2)
        self.wait_for_subscribers(self._poses, 1)
        self.wait_for_subscribers(self._truth, 0)
        config: PlantConfig = self.config
        self._sensors = SensorModel(self._system, config.sensors, config.seed)
        self._plant.reset(self._task.start_q)
        self._tau_before = holding_effort(self._system, self._task, config.gravity_compensation)
        is_position = config.command_interface == "position"
        self._command, self._command_ns = self._task.start_u if is_position else self._tau_before, None
        self._newest_pose_ns = -1
        self._written_until_ns = T0_NS
        self._is_answered = True
        self._reader.drain()
        for gate in self._commands:
            gate.release()
        self._next_service_s = time.monotonic()
        self._deadlines = PacedDeadlines(self._steps_at_once * STEP_NS * 1e-9, self._next_service_s)
        for refusal in apply_realtime(config.realtime) if config.clock == "realtime" else []:
            self.get_logger().warning(refusal)
        self._overruns, self._has_command = 0, False
        self._answer = Awaited(LATE_NS, config.controller_patience_s)
        plan_age_ns = round(config.plan_age_s * NS_PER_S)
        self._planning = Awaited(plan_age_ns, config.controller_patience_s, T0_NS + FIRST_PLAN_NS)
        freeze_garbage()

    def cleanup(self) -> None:
        """Release the subscriptions that this node reads itself."""
        self._reader.destroy()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return time and counts."""
        if not self.is_active:
            return super().diagnose()
        t_s = self._plant.time_ns / NS_PER_S
        values: dict[str, object] = {"t_s": t_s, "overruns": self._overruns, "refused_commands": self._refused}
        values["strangers"] = self._strangers
        for name, awaited in (("command", self._answer), ("plan", self._planning)):
            values |= {f"{name}_waits": awaited.waits, f"{name}_waited_s": round(awaited.waited_s, 3)}
        level = DiagnosticStatus.WARN if self._overruns or self._refused else DiagnosticStatus.OK
        return level, "finished" if self._is_finished() else "running", values

    def spin_some(self, executor: Executor) -> None:
        """Advance by one step; services are handled now and then, or all the time while inactive or finished."""
        if not self.is_active or self._is_finished():
            super().spin_some(executor)
            return
        if self.config.clock == "lockstep":
            self._step_in_lockstep(executor)
        else:
            self._step_in_realtime()
        if time.monotonic() >= self._next_service_s:
            self._handle_services(executor)

    def _is_finished(self) -> bool:
        """Whether the clock has stopped; in realtime it goes on, since the bridge takes silence for a fault."""
        return self.config.clock == "lockstep" and 0 < self._end_ns < self._plant.time_ns

    def _handle_services(self, executor: Executor) -> None:
        self._next_service_s = time.monotonic() + SERVICE_PERIOD_S
        self.handle_events(executor)

    # Steps.

    def _step_in_lockstep(self, executor: Executor) -> None:
        t_ns = self._plant.time_ns
        if self._is_answered:
            if not self._wait(executor, self._is_recorder_near, RECORDER_TIMEOUT_S):
                return
            self._publish_state()
            self._is_answered = False
        if self._wait(executor, lambda: self._command_ns == t_ns, self.config.command_timeout_s):
            self._plant.step(self._command)
            self._is_answered = True

    def _wait(self, executor: Executor, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Take messages until a condition holds; returns False if the node was stopped meanwhile."""
        deadline = time.monotonic() + timeout_s
        self._take_messages()
        while not condition():
            self._reader.wait(SERVICE_PERIOD_S)
            self._take_messages()
            now = time.monotonic()
            if now >= self._next_service_s:
                self._handle_services(executor)
            if self.is_stopping or not self.is_active:
                return False
            if now > deadline:
                raise StackError(self._explain_silence(timeout_s))
        return True

    def _is_recorder_near(self) -> bool:
        """Whether the recorder keeps up: its queue is deep but not endless."""
        return not self.config.recorded or self._plant.time_ns - self._written_until_ns <= RECORDER_LEAD_NS

    def _explain_silence(self, timeout_s: float) -> str:
        if not self._is_recorder_near():
            return f"the recorder wrote nothing for {timeout_s:g} s; see the log of the node recorder"
        t_s = self._plant.time_ns / NS_PER_S
        return (
            f"no command for t = {t_s:.3f} s on {self._command_topic} within {timeout_s:g} s; "
            "see the log of the node command_bridge"
        )

    def _step_in_realtime(self) -> None:
        """Wait for the deadline of the next steps, then make them with the newest command, unless that is late."""
        if self._is_answered:
            self._publish_state()
            self._is_answered = False
        self._take_messages()
        while (remaining := self._deadlines.next_s - time.monotonic()) > 0.0:
            self._reader.wait(remaining)
            self._take_messages()
        if self._is_controller_late():
            self._reader.wait(LATE_SLICE_S)
            return
        self._is_answered = True
        self._overruns += self._deadlines.meet(time.monotonic())
        for _ in range(self._steps_at_once):
            self._plant.step(self._command if self._has_command else self._hold())
        if self._answer.is_missed or self._planning.is_missed:
            self._deadlines.rest(time.monotonic() + LATE_SLICE_S)

    def _is_controller_late(self) -> bool:
        now_s = time.monotonic()
        return any([awaited.is_late(self._plant.time_ns, now_s) for awaited in (self._answer, self._planning)])

    def _hold(self) -> FloatArray:
        """Return what the drives get before the first command: realtime goes on without one."""
        if self.config.command_interface == "position":
            return self._command
        state = self._plant.state(with_contacts=False)
        return self._holding.effort(state.q, state.v)

    def _take_messages(self) -> None:
        for topic, gate in enumerate(self._commands):
            for taken in at_most(MOST_AT_ONCE, gate.take):
                self._on_commands(taken[0], topic)
        if self._written is not None:
            for taken in at_most(MOST_AT_ONCE, lambda: self._reader.take(self._written)):
                self._written_until_ns = int(taken[0].data)
        if self._plans is not None:
            for data, _ in at_most(MOST_AT_ONCE, lambda: self._reader.take_serialized(self._plans)):
                self._on_plan(data)

    # Messages.

    def _make_messages(self) -> None:
        self._truth_message = messages.make_odometry(self._system.object_names[0])
        self._clock_message = Clock()

    def _connect(self) -> None:
        config, names = self.config, self._system.joint_names
        self._device = DeviceCommands(config.driver, names, config.command_interface)
        self._joints = DeviceStates(self, config.driver, names)
        self._poses = self.publish_topic("object_pose")
        self._truth = self.publish_topic("plant/object_odom")
        self._clock_out = self.publish_topic("/clock")
        self._command_topic = ", ".join(self._device.topics)
        self._reader = DirectReader(self)
        profile = qos_profile("R1", config.clock)
        takeover_ns = None if config.clock == "lockstep" else COMMAND_TAKEOVER_NS  # lockstep waits for a slow bridge
        self._commands = [
            TopicGate(self._reader, item, self._refuse_command, LARGEST_COMMAND_BYTES, takeover_ns)
            for item in self._device.subscribe(lambda kind, topic: self._reader.subscribe(kind, topic, profile))
        ]
        self._written = self._subscribe("recorder/written_until") if self.config.recorded else None
        self._plans = self._subscribe("mpc_tracker/plan") if config.clock == "realtime" and config.plan_age_s else None

    def _subscribe(self, name: str) -> Subscription:
        topic = TOPICS[name]
        return self._reader.subscribe(topic.msg_type, topic.name, qos_profile(topic.quality, self.config.clock))

    def _publish_state(self) -> None:
        """Publish clock, poses that are due, truth and joint states, in this order."""
        state = self._plant.state(with_contacts=False)
        step = (state.t_ns - T0_NS) // STEP_NS
        tau = state.tau_applied if step else self._tau_before
        reading = self._sensors.sample(state.t_ns, state.q, state.v, tau)
        if step % self._clock_every == 0:
            messages.set_stamp(self._clock_message.clock, state.t_ns)
            self._clock_out.publish(self._clock_message)
        for pose in self._sensors.object_poses_due(state.t_ns):
            self._poses.publish(messages.to_pose_stamped(pose.stamp_ns, pose.R_WB, pose.p_WB))
            self._newest_pose_ns = pose.stamp_ns
        if step % self._truth_every == 0:
            self._publish_truth(state)
        is_named = self.config.clock == "lockstep" and self._newest_pose_ns >= 0
        frame_id = str(self._newest_pose_ns) if is_named else ""
        self._joints.publish(state.t_ns, reading.q_a, reading.v_a, reading.tau, frame_id)

    def _publish_truth(self, state: PlantState) -> None:
        system = self._system
        R_WB, p_WB = system.object_pose(state.q)
        v_u = state.v[: system.n_v_u]
        V_WB = v_u if system.config.objects[0].mobility == "free" else system.object_jacobian(state.q) @ v_u
        motion = ObjectMotion(R_WB, p_WB, V_WB, UNKNOWN_COVARIANCE)
        self._truth.publish(messages.fill_odometry(self._truth_message, state.t_ns, motion))

    def _on_plan(self, data: bytes) -> None:
        """Take note of the tracker's newest plan; what it says is for the bridge."""
        with suppress(InputError):
            self._planning.answer(read_stamp_ns(data))

    def _refuse_command(self, reason: str, taken: Taken) -> None:
        """Count a command that was not even read, and say who sent it where it was not the bridge."""
        self._refused += 1
        now_s = time.monotonic()
        if now_s >= self._next_naming_s:
            self._next_naming_s = now_s + NAMING_PERIOD_S
            strangers = ", ".join(filter(None, (gate.describe_strangers(self) for gate in self._commands)))
            who = strangers if reason == "stranger" else f"{len(taken.data)} bytes"
            self._strangers = who if reason == "stranger" else self._strangers
            self.get_logger().error(f"command refused: {reason.replace('_', ' ')}: {who}")

    def _find_excess(self, values: FloatArray) -> str:
        """Return what a command asks for beyond the robot's limits, as its drives would refuse it; empty: nothing."""
        system = self._system
        is_effort = self.config.command_interface == "effort"
        low, high = (-system.tau_max_nm, system.tau_max_nm) if is_effort else (system.q_min, system.q_max)
        outside = np.flatnonzero((values < low) | (values > high))
        if not outside.size:
            return ""
        i, unit = int(outside[0]), "N m" if is_effort else "rad"
        return f"{system.joint_names[i]} {values[i]:.4g} {unit}, allowed {low[i]:.4g} to {high[i]:.4g}"

    def _on_commands(self, message: Any, topic: int) -> None:
        try:
            found = self._device.read(message, topic)
            if found is not None and (excess := self._find_excess(found[1])):
                raise InputError(excess)
        except InputError as error:
            self._refused += 1
            self.get_logger().warning(f"command refused: {error}", throttle_duration_sec=1.0)
            return
        if found is None:
            return
        stamp_ns, values = found
        if self.config.clock == "realtime" or stamp_ns == self._plant.time_ns:
            self._command, self._command_ns, self._has_command = values, stamp_ns, True
            if stamp_ns is not None:
                self._answer.answer(stamp_ns)


def _steps_per_period(name: str, rate_hz: int) -> int:
    """Return the plant's steps of 1 ms in a period; raises ConfigError where the rate is of no whole number of them."""
    steps = max(round(1000 / rate_hz), 1)
    if abs(1000 / steps - rate_hz) > RATE_TOLERANCE * rate_hz:
        raise ConfigError(f"parameter {name} = {rate_hz} is of no period in whole milliseconds; use {1000 // steps}")
    return steps


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(PlantNode))


if __name__ == "__main__":
    main()
