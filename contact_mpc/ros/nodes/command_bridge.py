"""Node around the command bridge: one command per joint state, in its own process.

The node's loop waits for joint states and plans itself and answers in the same thread: one hop from state to command.
In realtime the wait ends when a state is overdue, and the bridge repeats or ramps down its command on absolute
deadlines. In lockstep a joint state is kept until the plan that is due at its stamp has arrived.

On every way out (deactivation, SIGINT, SIGTERM, an error) the torque is brought to zero at the guard's rate, or the
setpoint is repeated, before the publishers go. Nothing can do that for a process that is killed with SIGKILL: the
robot then keeps the last command, and its driver must watch for that.
"""

import gc
import sys
import time
from collections import Counter

import numpy as np
from pydantic import Field
from rclpy.executors import Executor
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.config import BridgeConfig, Number
from contact_mpc.control.bridge.guard.limits import describe_slow_torque
from contact_mpc.control.bridge.status import BridgeCommand, Cause
from contact_mpc.errors import ConfigError, InputError
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.bridge.input import BridgeInput
from contact_mpc.ros.bridge.safety_report import SafetyReport, level_of
from contact_mpc.ros.bridge.sources import BridgeSources
from contact_mpc.ros.bridge.timing import Timing
from contact_mpc.ros.bridge.warm_up import warm_up
from contact_mpc.ros.driver.command_output import CommandOutput
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.runtime.direct_reader import MOST_AT_ONCE, DirectReader, at_most
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import freeze_garbage, run_node
from contact_mpc.ros.runtime.parameters import NodeConfig, SessionConfig
from contact_mpc.ros.runtime.realtime import RealtimeConfig, apply_realtime, sleep_until
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.joint_parts import DEPTH

SERVICE_PERIOD_NS = 4_000_000  # one event of the executor each: services, timers and /clock together stay below that
SAFETY_PERIOD_NS = 100_000_000
GARBAGE_PERIOD_NS = NS_PER_S
ACKNOWLEDGE_TIMEOUT_S = 0.2
WARN_PERIOD_S = 1.0


class CommandBridgeConfig(NodeConfig, SessionConfig, BridgeConfig):
    """Parameters of the command bridge node."""

    realtime: RealtimeConfig = RealtimeConfig()
    driver: DriverConfig = DriverConfig()
    start_rad: tuple[Number, ...] = Field(
        default=(), description="posture that ~/go_to_start moves to, in the system's order: the task's start; empty: "
        "none", json_schema_extra={"unit": "rad"},
    )  # fmt: skip


class CommandBridgeNode(ContactNode):
    """Answers joint states with guarded commands."""

    config_class = CommandBridgeConfig

    def __init__(self) -> None:
        super().__init__("command_bridge")
        self._waiting: tuple[JointState, int, int] | None = None
        self._requests = Counter[str]()
        self.create_service(Trigger, "~/reset_fault", self._on_reset)
        self.create_service(Trigger, "~/stop", self._on_stop)
        self.create_service(Trigger, "~/go_to_start", self._on_go_to_start)

    def configure(self) -> None:
        """Build the bridge and connect it."""
        config: CommandBridgeConfig = self.config
        self._system = load_system(config.system)
        self._is_lockstep = config.clock == "lockstep"
        if len(config.start_rad) not in (0, self._system.n_a):
            raise ConfigError(f"start_rad has {len(config.start_rad)} values; the system has {self._system.n_a} joints")
        if slow := describe_slow_torque(self._system, config):
            self.get_logger().warning(slow)
        warm_up(self._system, config)
        self._core = BridgeCore(self._system, config, self._is_lockstep)
        self._period_ns = NS_PER_S // config.rate_hz
        self._state_timeout_ns = round(config.state_timeout_s * NS_PER_S)
        self._timing = Timing(self._period_ns)
        period_s = self._period_ns * 1e-9
        self._commands = CommandOutput(
            self, config.driver, self._system.joint_names, config.command_interface, period_s
        )
        self._input = BridgeInput(self._core, self._system.joint_names, config.driver, self._commands)
        self._desired_message = messages.make_joint_state(self._system.joint_names)
        self._applied_message = messages.make_joint_state(self._system.joint_names)
        self._desired = self.publish_topic("command_bridge/desired")
        self._applied = self.publish_topic("command_bridge/applied")
        self._reader = DirectReader(self)
        topics = config.driver.joint_states_topics
        self._sources = BridgeSources(
            self, self._reader, self._core, self._system, config.clock, config.session, topics
        )
        self._report = SafetyReport(self._core, self.publish_topic("command_bridge/safety"), self.get_logger())
        self._report.strangers, self._report.requests = self._sources.strangers, self._requests
        self._report.publish()

    def activate(self) -> None:
        """Wait for a complete joint state from now on; what had arrived before is dropped."""
        for publisher in self._commands.publishers:
            self.wait_for_subscribers(publisher, 1)
        self.wait_for_subscribers(self._desired, 0)
        self.wait_for_subscribers(self._applied, 0)
        for refusal in [] if self._is_lockstep else apply_realtime(self.config.realtime):
            self.get_logger().warning(refusal)
        self._reader.drain()
        self._sources.release()
        self._input.clear()
        self._waiting = None
        self._timing = Timing(self._period_ns)
        self._next_service_ns = self._next_safety_ns = self._next_watch_ns = time.monotonic_ns()
        self._next_garbage_ns = self._next_service_ns + GARBAGE_PERIOD_NS
        freeze_garbage()
        gc.disable()  # the loop collects what is not frozen itself, when a command has just left
        self._core.activate()
        self._report.publish()

    def deactivate(self) -> None:
        """Bring the torque to zero at the guard's rate, or repeat the setpoint."""
        deadline_ns = time.monotonic_ns()
        for data in self._core.wind_down():
            self._commands.publish(self._core.newest_t_ns, data)
            deadline_ns += self._period_ns
            sleep_until(deadline_ns)
        self._core.deactivate()
        gc.enable()
        self._report.publish()
        self._commands.wait_for_all_acked(ACKNOWLEDGE_TIMEOUT_S)

    def cleanup(self) -> None:
        """Release the subscriptions that this node reads itself."""
        self._reader.destroy()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return mode and cause, timing, interventions of the guard and refused messages."""
        if not self.is_active:
            return super().diagnose()
        safety = self._core.safety
        return level_of(safety), safety.describe(), self._report.values() | self._timing.values()

    # Loop.

    def spin_some(self, executor: Executor) -> None:
        """Answer what has arrived; while inactive only services and timers are handled."""
        if not self.is_active:
            super().spin_some(executor)
            return
        try:
            self._reader.wait(self._time_to_next_s())
            self._take_plans()
            self._answer_states()
            self._watch(time.monotonic_ns())
        except Exception as error:
            self._core.fault(Cause.INTERNAL, repr(error))
            raise
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_service_ns:
            self._next_service_ns = now_ns + SERVICE_PERIOD_NS
            self.handle_events(executor, 1)
        if now_ns >= self._next_garbage_ns:
            self._next_garbage_ns = now_ns + GARBAGE_PERIOD_NS
            gc.collect()

    def _time_to_next_s(self) -> float:
        """Time until something must be done without a message: services, or in realtime a command for a late state."""
        until_ns = self._next_service_ns if self._is_lockstep else min(self._next_service_ns, self._next_watch_ns)
        return max(until_ns - time.monotonic_ns(), 0) * 1e-9

    def _take_plans(self) -> None:
        for taken in at_most(MOST_AT_ONCE, self._sources.plans.take):
            self._input.take_plan(taken[0])
            self._warn_of_refusal("plan")

    def _warn_of_refusal(self, what: str) -> None:
        if self._input.refusal:
            self.get_logger().warning(f"{what} refused: {self._input.refusal}", throttle_duration_sec=WARN_PERIOD_S)

    def _answer_states(self) -> None:
        """Answer joint states in their order, up to one that waits for its plan; a few, so that time is watched too."""
        for _ in range(MOST_AT_ONCE):
            if self._waiting is None and not self._take_state():
                return
            assert self._waiting is not None
            message, published_ns, receipt_ns = self._waiting
            t_ns = messages.from_stamp(message.header.stamp)
            if self._is_waiting_for_plan(t_ns, receipt_ns):
                return
            self._waiting = None
            self._answer(message, t_ns, receipt_ns, published_ns)

    def _take_state(self) -> bool:
        """Take the next joint state that is whole, in realtime the newest; returns whether there is one."""
        for topic, gate in enumerate(self._sources.states):
            for taken in at_most(DEPTH, gate.take):
                message = self._input.complete(taken[0], topic)
                if message is None:
                    self._warn_of_refusal("joint state")
                    continue
                self._waiting = (message, taken[1], time.monotonic_ns())
                if self._is_lockstep:
                    return True
        return self._waiting is not None

    def _is_waiting_for_plan(self, t_ns: int, receipt_ns: int) -> bool:
        awaited_ns = self._core.awaited_plan_ns(t_ns)
        if awaited_ns is None:
            return False
        limit_s = self.config.plan_wait_s
        if time.monotonic_ns() - receipt_ns < limit_s * NS_PER_S:
            return True
        self._core.fault(Cause.PLAN_LATE, f"none for the tick at {awaited_ns * 1e-9:.3f} s within {limit_s:g} s")
        return False

    def _answer(self, message: JointState, t_ns: int, receipt_ns: int, published_ns: int) -> None:
        command = self._input.take_state(message, t_ns, None if self._is_lockstep else receipt_ns)
        self._warn_of_refusal("joint state")
        if command is not None:
            self._next_watch_ns = receipt_ns + self._state_timeout_ns
            sent_ns = self._send(command)
            self._publish_log(command)
            self._timing.add(t_ns, published_ns, receipt_ns, sent_ns)
        self._report.publish_change()

    def _watch(self, now_ns: int) -> None:
        """Send a command in place of a late state, on absolute deadlines, and report in time."""
        if not self._is_lockstep and now_ns >= self._next_watch_ns:
            self._next_watch_ns += self._period_ns
            if self._next_watch_ns < now_ns:
                self._next_watch_ns = now_ns + self._period_ns
            command = self._core.check(now_ns)
            if command is not None:
                self._send(command)
                self._publish_log(command)
            self._report.publish_change()
        if now_ns >= self._next_safety_ns:
            self._next_safety_ns = now_ns + SAFETY_PERIOD_NS
            self._report.publish()

    # Outputs.

    def _send(self, command: BridgeCommand) -> int:
        """Publish a command; returns when it had left, monotonic clock, ns."""
        self._commands.publish(command.t_ns, command.data)
        sent_ns = time.monotonic_ns()
        self._core.note_left(sent_ns)
        return sent_ns

    def _publish_log(self, command: BridgeCommand) -> None:
        """Publish what was desired and what was applied."""
        t_ns = command.t_ns
        self._desired.publish(
            messages.fill_joint_state(
                self._desired_message, t_ns, command.desired_q, command.desired_dq, command.desired_tau
            )
        )
        self._applied.publish(
            messages.fill_joint_state(
                self._applied_message, t_ns, command.applied_q, command.applied_dq, command.applied_tau
            )
        )

    # Services.

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.is_active and self._core.reset()
        response.message = "waiting for a joint state" if response.success else "there is no fault"
        self._note_request("reset_fault", response.message)
        if self.is_active:
            self._sources.release()
            self._report.publish_change()
        return response

    def _on_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.is_active
        response.message = "stopped; call reset_fault to go on" if self.is_active else "the bridge is not active"
        self._note_request("stop", response.message)
        if self.is_active:
            self._core.stop()
            self._report.publish_change()
        return response

    def _on_go_to_start(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Move slowly to the task's start: the request is the consent."""
        try:
            if not self.is_active or not self.config.start_rad:
                raise InputError("no start is known: start the stack with a task" if self.is_active else "not active")
            response.message, response.success = self._core.go_to(np.array(self.config.start_rad)), True
        except InputError as error:
            response.message = str(error)
        self._note_request("go_to_start", response.message)
        if self.is_active:
            self._report.publish_change()
        return response

    def _note_request(self, name: str, outcome: str) -> None:
        """Log and count a request: anybody on the machine may make one, and ROS does not say who did."""
        self._requests[name] += 1
        self.get_logger().warning(f"{name} was called, for the {self._requests[name]}. time: {outcome}")


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(CommandBridgeNode))


if __name__ == "__main__":
    main()
