"""What all nodes share: life cycle with one-line errors, topics of the table, diagnostics.

A node is a `ContactNode` with five hooks, `configure`, `activate`, `deactivate`, `cleanup` and `tune`; what the user
did wrong is raised from them as a ContactMpcError and makes the transition fail with one line in the log. The process
around it is `contact_mpc.ros.runtime.node_process.run_node`.
"""

import time
import traceback
from collections.abc import Callable
from typing import Any, ClassVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from contact_mpc.errors import ConfigError, ContactMpcError, StackError
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.runtime.parameters import NodeConfig, change_config, declare_config
from contact_mpc.ros.runtime.realtime import give_way, stay_on
from contact_mpc.ros.runtime.waiting_events import WaitingEvents
from contact_mpc.settings.tunable import tunable_names

SPIN_TIMEOUT_S = 0.1
DIAGNOSTICS_PERIOD_S = 1.0
CONNECT_TIMEOUT_S = 20.0
EVENTS_AT_ONCE = 8


class ContactNode(LifecycleNode):
    """A life-cycle node with a frozen config.

    Attributes
    ----------
    config_class : type
        Config of the node class; its fields are the node's parameters.
    config : NodeConfig
        The parameters, from configuration on.
    is_active : bool
        Whether the node is between `activate` and `deactivate`.
    """

    config_class: ClassVar[type[NodeConfig]] = NodeConfig

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **kwargs)
        self.config: Any = None
        self.is_active = False
        self.exit_code = 0
        self.is_stopping = False
        self._topic_entities: list[Publisher | Subscription] = []
        self._waiting_events = WaitingEvents()
        self._tunable: tuple[str, ...] = ()
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._take_parameters)
        self._diagnostics = self.create_publisher(
            DiagnosticArray, "/diagnostics", qos_profile(TOPICS["/diagnostics"].quality, "realtime")
        )
        self._service_change_state.callback = self._change_state_if_possible
        self.create_steady_timer(DIAGNOSTICS_PERIOD_S, self.publish_diagnostics)

    # Hooks of the concrete node.

    def configure(self) -> None:
        """Build core object, publishers and subscriptions from `self.config`."""

    def activate(self) -> None:
        """Begin to act on messages."""

    def deactivate(self) -> None:
        """Stop acting; the outputs must be left in a safe state."""

    def cleanup(self) -> None:
        """Release what `configure` made, apart from topics, which are released after it."""

    def tune(self, changes: dict[str, Any]) -> None:
        """Take valid values of tunable parameters, which are in `self.config` already; called between callbacks."""

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return (level, message, values) for /diagnostics."""
        return DiagnosticStatus.OK, "active" if self.is_active else "inactive", {}

    # Topics of the table.

    def publish_topic(self, name: str) -> Publisher:
        """Create the publisher of a topic of the table, with its quality of service in the node's clock."""
        topic = TOPICS[name]
        publisher = self.create_publisher(topic.msg_type, topic.name, qos_profile(topic.quality, self.config.clock))
        self.add_topic_entity(publisher)
        return publisher

    def subscribe_topic(self, name: str, callback: Callable[[Any], None], raw: bool = False) -> Subscription:
        """Create a subscription to a topic of the table; `raw` hands the serialized bytes to the callback."""
        topic = TOPICS[name]
        profile = qos_profile(topic.quality, self.config.clock)
        subscription = self.create_subscription(topic.msg_type, topic.name, callback, profile, raw=raw)
        self.add_topic_entity(subscription)
        return subscription

    def create_steady_timer(self, period_s: float, callback: Callable[[], None]) -> Timer:
        """Create a timer of the wall clock, also where ROS time is simulated."""
        return self.create_timer(period_s, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def add_topic_entity(self, entity: Publisher | Subscription) -> None:
        """Have a publisher or subscription released on cleanup."""
        self._topic_entities.append(entity)

    def wait_for_subscribers(self, publisher: Publisher, count: int, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        """Wait in lockstep until `count` subscribers (one more when recorded) are connected; returns at once otherwise.

        A volatile message that is published before its subscriber is connected is lost, and lockstep must lose none.

        Raises
        ------
        StackError
            They did not connect in time.
        """
        if self.config.clock != "lockstep":
            return
        driver = getattr(self.config, "driver", None)
        own = () if driver is None else (*driver.joint_states_topics, *driver.command_topics)
        in_bag = {self.resolve_topic_name(name) for name in (*TOPICS, *own)}
        is_recorded = self.config.recorded and publisher.topic_name in in_bag
        wanted, deadline = count + int(is_recorded), time.monotonic() + timeout_s
        while publisher.get_subscription_count() < wanted:
            if time.monotonic() > deadline or self.is_stopping:
                raise StackError(
                    f"topic {publisher.topic_name}: {publisher.get_subscription_count()} of {wanted} subscribers "
                    f"connected within {timeout_s:g} s; start and configure the other nodes first"
                )
            time.sleep(0.002)

    # Parameters that may change while the node runs.

    def _changes(self, parameters: list[Parameter]) -> dict[str, Any]:
        return {parameter.name: parameter.value for parameter in parameters if parameter.name in self._tunable}

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Say whether values fit together; each alone is within its range by then, and none is read-only."""
        try:
            if changes := self._changes(parameters):
                change_config(self, self.config, changes)
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take_parameters(self, parameters: list[Parameter]) -> None:
        if changes := self._changes(parameters):
            self.config = change_config(self, self.config, changes)
            self.tune(changes)

    # Life cycle.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters and build; a user's mistake is one line in the log and a failed transition."""

        def build() -> None:
            self.config = declare_config(self, self.config_class)
            if self.config.clock == "realtime":
                give_way(self.config.nice)
                if refusal := stay_on(self.config.cores):
                    self.get_logger().warning(refusal)
            self.configure()
            self._tunable = tunable_names(self.config_class)

        result = self._guarded("configure", build)
        if result != TransitionCallbackReturn.SUCCESS:
            self._release()
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate; a user's mistake fails the transition."""
        result = self._guarded("activate", self.activate)
        self.is_active = result == TransitionCallbackReturn.SUCCESS
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate; always succeeds, an error is logged and makes the process exit non-zero."""
        self._stop("deactivate", self.deactivate)
        self.is_active = False
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything that configuration made; always succeeds, as deactivation does."""
        self._stop("clean up", self.cleanup)
        self._release()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate and clean up from whatever state, and end the process."""
        if self.is_active:
            self.on_deactivate(state)
        if self._topic_entities:
            self.on_cleanup(state)
        self.is_stopping = True
        return TransitionCallbackReturn.SUCCESS

    def _change_state_if_possible(self, request: ChangeState.Request, response: ChangeState.Response) -> Any:
        """Answer a request to change state; rclpy alone raises where the state forbids it."""
        possible = {item[0]: item[1] for item in self._state_machine.available_transitions}
        wanted = request.transition
        if wanted.id in possible if not wanted.label else wanted.label in possible.values():
            return self._LifecycleNodeMixin__on_change_state(request, response)
        self.get_logger().error(
            f"refused transition {wanted.label or wanted.id} in state {self.current_state_label()}; "
            f"possible: {', '.join(possible.values())}"
        )
        response.success = False
        return response

    def _guarded(self, verb: str, action: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            action()
        except ContactMpcError as error:
            self.get_logger().error(f"cannot {verb}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception:
            self.get_logger().fatal(f"cannot {verb}: {traceback.format_exc()}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _stop(self, verb: str, action: Callable[[], None]) -> None:
        if self._guarded(verb, action) != TransitionCallbackReturn.SUCCESS:
            self.exit_code = 1

    def _release(self) -> None:
        for entity in self._topic_entities:
            if isinstance(entity, Publisher):
                self.destroy_publisher(entity)
            else:
                self.destroy_subscription(entity)
        self._topic_entities.clear()
        self._tunable = ()

    # Process.

    def current_state_label(self) -> str:
        """Return "unconfigured", "inactive", "active" or "finalized"."""
        return str(self._state_machine.current_state[1])

    def spin_some(self, executor: Executor) -> None:
        """Handle what has arrived; called in a loop by the process. Nodes with a loop of their own override it."""
        executor.spin_once(timeout_sec=SPIN_TIMEOUT_S)

    def handle_events(self, executor: Executor, most: int = EVENTS_AT_ONCE) -> None:
        """Handle what waits at the executor, from a loop of one's own: `most` events, or more where they queue up.

        With simulated time /clock alone is a hundred events a second or more, so one event for each turn of a slow
        loop is not enough: the rest would queue up, and services would be answered later and later.
        """
        self._waiting_events.handle(executor, most)

    def fail(self, reason: str) -> None:
        """End the process with a non-zero exit code after one line of explanation, in /diagnostics and in the log."""
        self._publish_status(DiagnosticStatus.ERROR, reason, {})
        self.get_logger().fatal(reason)  # a process's first line costs some 25 ms: rclpy looks for who says it
        self.exit_code = 1
        self.is_stopping = True

    def publish_diagnostics(self) -> None:
        """Publish what `diagnose` says now; also called once a second."""
        self._publish_status(*self.diagnose())

    def _publish_status(self, level: bytes, message: str, values: dict[str, object]) -> None:
        status = DiagnosticStatus(level=level, name=self.get_fully_qualified_name(), message=message)
        status.values = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
