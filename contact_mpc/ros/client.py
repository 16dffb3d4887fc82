"""Goals for the object from a program of one's own, to a stack that runs.

from contact_mpc.ros.client import GoalClient

with GoalClient() as client:
    client.turn("z", 30.0)            # degrees, about an axis of the world through the object
    print(client.wait(timeout_s=30.0))  # state, message, error to the goal
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from contact_mpc.errors import InputError, StackError
from contact_mpc.model.rotations import quaternion_to_matrix, rotation_exp
from contact_mpc.ros.goals.goal import ENDED
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.stack.discovery import loopback_environment
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import AXES_W

CONNECT_S, SLICE_S = 15.0, 0.02


@dataclass(frozen=True)
class GoalOutcome:
    """What became of a goal: state, why, progress 0 to 1, error to go, where the object is, counts of all goals;
    and the stamp of the newest message that was no goal, with the reason.
    """

    state: str
    message: str
    goal_ns: int | None
    progress: float
    angle_error_deg: float
    position_error_mm: float
    R: FloatArray
    p: FloatArray
    counts: dict[str, int]
    refused_ns: int | None = None
    refusal: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state in ENDED


class GoalClient:
    """Sends goals and follows what becomes of them; a context manager.

    Parameters
    ----------
    robot : str
        Namespace of the stack; empty: the only one that takes goals.
    domain : int, optional
        ROS domain; by default ROS_DOMAIN_ID, or 0.

    Raises
    ------
    StackError
        No stack, or more than one, takes goals in this domain.
    """

    def __init__(self, robot: str = "", domain: int | None = None) -> None:
        os.environ.update(loopback_environment())
        self._domain = int(os.environ.get("ROS_DOMAIN_ID") or 0) if domain is None else domain
        self._context = Context()
        rclpy.init(context=self._context, domain_id=self._domain, args=["--ros-args", "--disable-external-lib-logs"])
        self._node = Node(f"goal_client_{os.getpid()}", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._outcome: GoalOutcome | None = None
        self._sent_ns: int | None = None
        try:
            self.namespace = self._find(robot.strip("/"))
            self._connect()
        except StackError:
            self.close()
            raise

    def __enter__(self) -> "GoalClient":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the domain."""
        if self._context.ok():
            self._executor.shutdown()
            self._node.destroy_node()
            self._context.try_shutdown()

    @property
    def status(self) -> GoalOutcome:
        """What the stack says now."""
        self._spin(SLICE_S)
        assert self._outcome is not None
        return self._outcome

    def turn(self, axis: str, angle_deg: float) -> int:
        """Turn the object from where it is by degrees about +x, -x, .. or -z of the world; returns the goal's stamp."""
        name = axis if axis[:1] in "+-" else f"+{axis}"
        if name not in AXES_W or not np.isfinite(angle_deg):
            raise InputError(f"turn {axis}:{angle_deg}: expected an axis of {', '.join(AXES_W)} and degrees")
        now = self.status
        return self.send(rotation_exp(np.array(AXES_W[name]) * np.deg2rad(angle_deg)) @ now.R, now.p)

    def send(self, R_WB: FloatArray, p_WB: FloatArray) -> int:
        """Send a pose of the object, (3, 3) and (3,) m, in the world frame; returns the goal's stamp.

        Raises
        ------
        InputError
            R_WB is no rotation, or p_WB is not finite.
        """
        if not np.allclose(R_WB @ np.transpose(R_WB), np.eye(3), atol=1e-3) or np.linalg.det(R_WB) < 0.0:
            raise InputError(f"goal: R_WB is no rotation matrix: {np.asarray(R_WB).tolist()}")
        if not np.isfinite(p_WB).all():
            raise InputError(f"goal: position {np.asarray(p_WB).tolist()} m is not finite")
        self._sent_ns = time.time_ns()
        self._publisher.publish(messages.to_pose_stamped(self._sent_ns, np.ascontiguousarray(R_WB), p_WB))
        return self._sent_ns

    def cancel(self) -> str:
        """Give the goal up: the object comes to rest and is held there; returns what the stack says."""
        return self._call("cancel")

    def hold(self) -> str:
        """Leave the object to the bridge's hold; returns what the stack says."""
        return self._call("hold")

    def wait(self, timeout_s: float, watch: Callable[[GoalOutcome], None] | None = None) -> GoalOutcome:
        """Return what became of the goal that was sent last; "replaced" where another client sent a newer one.

        Raises
        ------
        StackError
            Nothing ended in time.
        """
        deadline, seen = time.monotonic() + timeout_s, False
        while True:
            outcome = self.status
            is_mine = outcome.goal_ns == self._sent_ns
            if watch is not None and is_mine:
                watch(outcome)
            if is_mine and outcome.has_ended:
                return outcome
            newest, sent = outcome.goal_ns, self._sent_ns
            is_newer = newest is not None and sent is not None and newest > sent
            if (seen and not is_mine) or is_newer:
                return replace(outcome, state="replaced", message="another goal came")
            if outcome.refused_ns == self._sent_ns:
                return replace(outcome, state="refused", message=outcome.refusal)
            seen |= is_mine
            if time.monotonic() > deadline:
                raise StackError(f"the goal has not ended within {timeout_s:g} s: {outcome.state}, {outcome.message}")

    # Connection.

    def _find(self, robot: str) -> str:
        """Return the namespace of the stack that takes goals."""
        deadline, found = time.monotonic() + CONNECT_S, set[str]()
        while time.monotonic() < deadline:
            self._spin(SLICE_S)
            names = [name for name, _ in self._node.get_topic_names_and_types() if name.endswith("/goal_status")]
            found = {name.removesuffix("/goal_status") for name in names}
            if (robot and f"/{robot}" in found) or (not robot and found):
                break
        if robot and f"/{robot}" not in found or not found:
            raise StackError(
                f"no stack takes goals{f' as /{robot}' if robot else ''} in ROS domain {self._domain}; start one with "
                "`contact-mpc run TASK --endless`, and give its --domain"
            )
        if not robot and len(found) > 1:
            raise StackError(f"several stacks take goals: {', '.join(sorted(found))}; choose one with --robot")
        return f"/{robot}" if robot else found.pop()

    def _connect(self) -> None:
        node, ns = self._node, self.namespace
        goal, status = TOPICS["goal_pose"], TOPICS["goal_status"]
        self._publisher = node.create_publisher(PoseStamped, f"{ns}/{goal.name}", qos_profile(goal.quality, "realtime"))
        node.create_subscription(
            DiagnosticStatus, f"{ns}/{status.name}", self._on_status, qos_profile(status.quality, "realtime")
        )
        self._services = {name: node.create_client(Trigger, f"{ns}/goal_server/{name}") for name in ("cancel", "hold")}
        self._wait_until(
            lambda: self._outcome is not None and self._publisher.get_subscription_count() > 0,
            f"{ns}/goal_server says nothing",
        )

    def _on_status(self, message: DiagnosticStatus) -> None:
        values: dict[str, Any] = dict(messages.values_of(message))
        wxyz, p = (np.array([float(item) for item in values[key].split()]) for key in ("quaternion_wxyz", "position_m"))
        self._outcome = GoalOutcome(
            values["state"], message.message, int(values["goal_ns"]) if values["goal_ns"] else None,
            float(values["progress"]), float(values["angle_error_deg"]), float(values["position_error_mm"]),
            quaternion_to_matrix(wxyz), p, {key: int(values[key]) for key in ("goals", *ENDED)},
            int(values["refused_ns"]) if values["refused_ns"] else None, values["refusal"],
        )  # fmt: skip

    def _call(self, name: str) -> str:
        service = self._services[name]
        self._wait_until(service.service_is_ready, f"no service {self.namespace}/goal_server/{name}")
        future = service.call_async(Trigger.Request())
        self._wait_until(future.done, f"no answer from {self.namespace}/goal_server/{name}")
        return str(future.result().message)

    def _wait_until(self, condition: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + CONNECT_S
        while not condition():
            self._spin(SLICE_S)
            if time.monotonic() > deadline:
                raise StackError(f"{otherwise} within {CONNECT_S:g} s")

    def _spin(self, timeout_s: float) -> None:
        self._executor.spin_once(timeout_sec=timeout_s)
