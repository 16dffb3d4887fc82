"""Brings up the nodes that a launch file starts, in the order that lockstep needs, and ends with the run.

`contact-mpc run` does the same from its own process; this node is for `ros2 launch`, where the processes belong to
launch. When the simulated clock reaches `end_s`, or on `~/shutdown`, it deactivates the nodes, the command bridge
first, and ends; on that the launch file shuts the rest down. On a signal it only ends: every node has received it too.
"""

import signal
import sys
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import BaseModel, ConfigDict, Field
from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from contact_mpc.errors import ContactMpcError
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.runtime.lifecycle_client import RUN_NODES, LifecycleClient
from contact_mpc.ros.runtime.node_process import make_executor
from contact_mpc.ros.runtime.parameters import declare_config
from contact_mpc.ros.runtime.parent_process import die_with_parent
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.waiting import later_ns

SLICE_S = 0.1
DRAIN_S = 0.5  # for the last messages on their way to the recorder


class LifecycleManagerConfig(BaseModel):
    """Parameters of the life-cycle manager."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: tuple[str, ...] = Field(
        default=RUN_NODES, description="names of the nodes to bring up, in this node's namespace"
    )
    awaits_reference: bool = Field(
        default=True, description="activate a plant only when the tracker has a reference; false: it comes on request"
    )
    end_s: float = Field(
        default=0.0,
        ge=0.0,
        description="simulated time at which to end; 0: stay until a signal comes",
        json_schema_extra={"unit": "s"},
    )
    waits: bool = Field(
        default=False, description="realtime: end as much later as the motion waited because the bridge held"
    )


class LifecycleManager(Node):
    """Brings up nodes and waits for the end of the run."""

    def __init__(self) -> None:
        super().__init__("lifecycle_manager", automatically_declare_parameters_from_overrides=True)
        self._is_interrupted = self._is_over = False
        self._clock_s, self._later_ns = 0.0, 0
        self.create_service(Trigger, "~/shutdown", self._on_shutdown)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def run(self) -> int:
        """Return the exit code: 0 at the end of the run or on a signal, 1 if the nodes could not be brought up."""
        executor = make_executor()
        executor.add_node(self)
        try:
            config = declare_config(self, LifecycleManagerConfig)
            client = LifecycleClient(self, executor, self._check)
            client.bring_up(config.nodes, lambda _name: "refused; see its output above", config.awaits_reference)
            quality = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
            self.create_subscription(Clock, "/clock", self._on_clock, quality)
            if config.waits:
                self.create_subscription(DiagnosticStatus, "mpc_tracker/solve_status", self._on_solve, quality)
            while not self._is_over and (not config.end_s or self._clock_s < config.end_s + self._later_ns / NS_PER_S):
                client.spin(SLICE_S)
            time.sleep(DRAIN_S)
            client.bring_down(config.nodes)
        except KeyboardInterrupt:
            return 0
        except ContactMpcError as error:
            self.get_logger().error(str(error))
            return 1
        return 0

    def _check(self) -> None:
        if self._is_interrupted:
            raise KeyboardInterrupt

    def _on_clock(self, message: Clock) -> None:
        self._clock_s = messages.from_stamp(message.clock) * 1e-9

    def _on_solve(self, message: DiagnosticStatus) -> None:
        self._later_ns = later_ns(messages.values_of(message), self._later_ns)

    def _on_shutdown(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._is_over, response.success = True, True
        response.message = "deactivating the nodes, the command bridge first"
        return response

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._is_interrupted = True


def main() -> None:
    """Run the node as a process."""
    die_with_parent()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    manager = LifecycleManager()
    code = manager.run()
    manager.destroy_node()
    rclpy.try_shutdown()
    sys.exit(code)


if __name__ == "__main__":
    main()
