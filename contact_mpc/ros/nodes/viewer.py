"""The live view of a running stack: listens to its topics, shows them in a browser, publishes goals that are dragged.

A process of its own with a low priority, which subscribes best effort with a queue of one: a slow browser holds up
nobody. It sends nothing to a robot: goals go to `goal_pose`, buttons to the bridge's own services, sliders to the
parameter services of the nodes whose parameters may change while they run.
"""

import os
import signal
import sys
from functools import partial
from threading import Event
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from pydantic import BaseModel, ConfigDict, Field
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from contact_mpc.errors import ContactMpcError, InputError
from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.runtime.parameter_client import ParameterClient, TunableParameter
from contact_mpc.ros.runtime.parameters import declare_config
from contact_mpc.ros.runtime.parent_process import die_with_parent
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.view.address import LOOPBACK
from contact_mpc.view.live_scene import LiveScene
from contact_mpc.view.panel import Panel
from contact_mpc.view.sliders import Sliders

NEWEST = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
LOOK_S = 0.2  # between looks at whether to end
ASK_S = 1.0  # between questions to a node for its parameters, until it has any that may change
SEND_S = 0.1  # between values of a slider that is being moved
CLOSE_LIMIT_S = 4  # launch waits 5 s before it signals again
TUNED_NODES = ("mpc_tracker", "goal_server")
SERVICES = {"Stop": "command_bridge/stop", "Reset fault": "command_bridge/reset_fault"}


class ViewerConfig(BaseModel):
    """Parameters of the viewer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str = Field(min_length=1, description="name of a system or path of its YAML")
    port: int = Field(default=8080, ge=1024, le=65535, description="port of the page")
    host: str = Field(default=LOOPBACK, description="address that the page listens on; 127.0.0.1: this machine alone")
    rate_hz: float = Field(default=30.0, gt=0.0, le=60.0, description="pictures per second at most")
    nice: int = Field(default=15, ge=0, le=19, description="niceness of the process")


class Viewer(Node):
    """Shows what the topics say."""

    def __init__(self) -> None:
        super().__init__("viewer", automatically_declare_parameters_from_overrides=True)
        config = declare_config(self, ViewerConfig)
        os.nice(config.nice)
        self._system = load_system(config.system)
        self._order = messages.JointOrder(self._system.joint_names)
        self._q = self._system.q_default.copy()
        self._goal: tuple[FloatArray, FloatArray] | None = None
        self._object: tuple[FloatArray, FloatArray] | None = None
        self._forces: FloatArray = np.zeros((0, 2, 3))
        self._has_news = False
        self.scene = LiveScene(self._system, config.port, config.host)
        self._callers = {label: self.create_client(Trigger, service) for label, service in SERVICES.items()}
        self.panel = Panel(self.scene.server, {label: self._caller(label) for label in SERVICES})
        self._goals = self.create_publisher(PoseStamped, "goal_pose", 1)
        self.scene.on_goal(self._on_dragged)
        self._listen()
        self.create_timer(1.0 / config.rate_hz, self._draw)
        self._sliders: dict[str, Sliders] = {}
        self._tuned = [ParameterClient(self, name) for name in TUNED_NODES]
        self.create_timer(ASK_S, self._ask_parameters)
        self.get_logger().info(f"the view is at http://{config.host}:{config.port}")

    def _listen(self) -> None:
        self.create_subscription(JointState, "joint_states", self._on_joints, NEWEST)
        self.create_subscription(Odometry, "state_estimator/object_odom", self._on_object, NEWEST)
        self.create_subscription(MarkerArray, "state_estimator/contacts", self._on_contacts, NEWEST)
        self.create_subscription(PoseStamped, "goal_pose", self._on_goal, 1)
        for topic, profile in (
            ("command_bridge/safety", LATCHED),
            ("goal_status", LATCHED),
            ("mpc_tracker/solve_status", NEWEST),
        ):
            self.create_subscription(DiagnosticStatus, topic, self._teller(topic), profile)

    def _caller(self, label: str) -> Any:
        def call() -> None:
            client = self._callers[label]
            if not client.service_is_ready():
                self.panel.say(label, "the bridge does not answer", level=2)
                return
            answer = client.call_async(Trigger.Request())
            answer.add_done_callback(lambda done: self.panel.say(label, done.result().message))

        return call

    def _ask_parameters(self) -> None:
        """Ask nodes that have no sliders yet: one that is not configured has nothing that may change."""
        for client in self._tuned:
            if client.target not in self._sliders:
                client.ask(partial(self._add_sliders, client))

    def _add_sliders(self, client: ParameterClient, found: list[TunableParameter]) -> None:
        if not found or client.target in self._sliders:
            return
        title = client.target.replace("_", " ")
        sliders = self._sliders[client.target] = Sliders(self.scene.server, title, found, client.want)

        def tell(name: str, value: float, refusal: str) -> None:
            sliders.settle(name, None if refusal else value)
            self.panel.say(name, refusal or f"{value:g}", level=1 if refusal else 0)

        self.create_timer(SEND_S, lambda: client.send(tell))

    def _teller(self, topic: str) -> Any:
        def tell(status: DiagnosticStatus) -> None:
            self.panel.say(topic.rpartition("/")[2].replace("_", " "), status.message, int(status.level[0]))

        return tell

    def _on_joints(self, message: JointState) -> None:
        try:
            self._q[self._system.n_q_u :] = messages.read_joint_state(message, self._order)[0]
        except InputError as error:
            self.panel.say("joint states", str(error), level=1)
            return
        self._has_news = True

    def _on_object(self, message: Odometry) -> None:
        try:
            self._object = messages.read_pose(message.pose.pose)
        except InputError as error:
            self.panel.say("object", str(error), level=1)
            return
        self._q[: self._system.n_q_u] = self._system.q_from_object_pose(*self._object, self._q)
        self._has_news = True

    def _on_contacts(self, message: MarkerArray) -> None:
        lines = [[[p.x, p.y, p.z] for p in marker.points] for marker in message.markers if len(marker.points) == 2]
        self._forces = np.array(lines).reshape(-1, 2, 3)

    def _on_goal(self, message: PoseStamped) -> None:
        try:
            self._goal = messages.read_pose(message.pose)
        except InputError as error:
            self.panel.say("goal", str(error), level=1)
            return
        self.scene.show_goal(*self._goal)

    def _on_dragged(self, R_WB: FloatArray, p_WB: FloatArray) -> None:
        self._goal = R_WB, p_WB
        self._goals.publish(messages.to_pose_stamped(int(self.get_clock().now().nanoseconds), R_WB, p_WB))

    def _draw(self) -> None:
        if not self._has_news:
            return
        self._has_news = False
        self.scene.show(self._q)
        self.scene.show_forces(self._forces)
        if self._goal is None and self._object is not None:
            self.scene.show_goal(*self._object)  # a turn of the gizmo alone leaves the object where it is
        if self._goal is not None and self._object is not None:
            (R_goal, p_goal), (R, p) = self._goal, self._object
            angle = np.rad2deg(np.linalg.norm(rotation_log(np.ascontiguousarray(R @ R_goal.T))))
            self.panel.say("error", f"{angle:.1f} deg, {1e3 * np.linalg.norm(p - p_goal):.1f} mm")


def main(args: list[str] | None = None) -> None:
    """Run the node as a process, with the arguments of its command line or others; SIGINT and SIGTERM end it.

    They end it at once while there is no page yet; a page that does not close is cut by SIGALRM.
    """
    is_ready, over = Event(), Event()

    def end(_number: int, _frame: object) -> None:
        if not over.is_set():
            signal.alarm(CLOSE_LIMIT_S)
        over.set()
        if not is_ready.is_set():
            sys.exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    die_with_parent()
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        viewer = Viewer()
    except ContactMpcError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    is_ready.set()
    executor = SingleThreadedExecutor()
    executor.add_node(viewer)
    while not over.is_set():
        executor.spin_once(timeout_sec=LOOK_S)
    viewer.get_logger().info("closing the page")
    viewer.scene.stop()
    executor.shutdown()
    viewer.destroy_node()
    rclpy.try_shutdown()
    signal.alarm(0)


if __name__ == "__main__":
    main()
