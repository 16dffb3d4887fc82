"""Node that hands a plan to the tracker: commands and object poses over time, with the stamp at which they start.

The messages are latched, so a tracker that comes later gets them too. `~/start` (or `autostart`) publishes the plan to
begin `start_delay_s` from now; `~/cancel` publishes references without points, on which the tracker holds.
"""

import sys

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.references import to_object_reference, to_reference
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import run_node
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.plan import load_plan


class TrajectoryServerConfig(NodeConfig):
    """Parameters of the trajectory server."""

    plan_file: str = Field(min_length=1, description="plan file (.npz) of the system, as `contact-mpc plan` writes it")
    autostart: bool = Field(default=False, description="publish the plan on activation, without waiting for ~/start")
    start_delay_s: float = Field(
        default=0.3,
        ge=0.0,
        le=60.0,
        description="time from the start request to the start of the motion",
        json_schema_extra={"unit": "s"},
    )
    simulation_start_s: float = Field(
        default=1.0,
        ge=0.0,
        description="time taken for now while use_sim_time is set and /clock has not begun",
        json_schema_extra={"unit": "s"},
    )


class TrajectoryServerNode(ContactNode):
    """Publishes reference and object_reference on request."""

    config_class = TrajectoryServerConfig

    def __init__(self) -> None:
        super().__init__("trajectory_server")
        self._state = "no plan started"
        self.create_service(Trigger, "~/start", self._on_start)
        self.create_service(Trigger, "~/cancel", self._on_cancel)

    def configure(self) -> None:
        """Load the plan and connect."""
        config: TrajectoryServerConfig = self.config
        self._system = load_system(config.system)
        self._plan = load_plan(config.plan_file, self._system)
        self._messages = to_object_reference(self._system, self._plan, 0), to_reference(self._system, self._plan, 0)
        self._reference = self.publish_topic("reference")
        self._object_reference = self.publish_topic("object_reference")
        self._state = "no plan started"

    def activate(self) -> None:
        """Start the plan where that is asked for."""
        if self.config.autostart:
            self._start()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return what was last published."""
        return DiagnosticStatus.OK, self._state if self.is_active else "inactive", {}

    def _start(self) -> None:
        """Publish the plan; the messages are there, so that nothing lies between reading the clock and sending."""
        start_ns = self._now_ns() + round(self.config.start_delay_s * NS_PER_S)
        for publisher, message in zip((self._object_reference, self._reference), self._messages, strict=True):
            messages.set_stamp(message.header.stamp, start_ns)
            publisher.publish(message)
        self._state = f"plan of {self._plan.times_s[-1]:.3f} s starts at {start_ns / NS_PER_S:.3f} s"
        self.get_logger().info(self._state)

    def _cancel(self) -> None:
        self._object_reference.publish(MultiDOFJointTrajectory(joint_names=list(self._system.object_names)))
        empty = np.zeros((0, self._system.n_a))
        self._reference.publish(
            messages.to_trajectory(self._now_ns(), self._system.joint_names, np.zeros(0), empty, None, empty)
        )
        self._state = "plan cancelled"

    def _now_ns(self) -> int:
        """Return now; before the simulated clock has begun, the time at which it will."""
        now_ns = int(self.get_clock().now().nanoseconds)
        return now_ns if now_ns > 0 else round(self.config.simulation_start_s * NS_PER_S)

    def _on_start(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.is_active:
            self._start()
        return self._answer(response)

    def _on_cancel(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.is_active:
            self._cancel()
        return self._answer(response)

    def _answer(self, response: Trigger.Response) -> Trigger.Response:
        response.success = self.is_active
        response.message = self._state if self.is_active else "the trajectory server is not active; activate it first"
        return response


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(TrajectoryServerNode))


if __name__ == "__main__":
    main()
