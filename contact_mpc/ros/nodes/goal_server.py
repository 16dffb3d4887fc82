"""Node that takes goals for the object while the stack runs: `goal_pose` in, references for the tracker out.

Where the package of `interfaces/` is built, `move_object` is an action, too. What becomes of a goal stands on
`goal_status`, latched: state, progress, error to go, and why one was refused. `~/cancel` lets the object come to rest
on its way, `~/hold` leaves it to the bridge until the next goal. Plans are searched by another process; nothing here or
in the bridge waits for it.
"""

import sys
import time
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from pydantic import Field
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.planning.goal import require_goals
from contact_mpc.ros.goals.desk import GoalDesk
from contact_mpc.ros.goals.goal import HandOver, ObjectGoal
from contact_mpc.ros.goals.move_object import MoveObjectServer, find_action_type
from contact_mpc.ros.goals.search import PlanSearch
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import TOPICS
from contact_mpc.ros.messages.references import to_object_reference, to_reference
from contact_mpc.ros.messages.serialized import deserialize, read_stamp_ns
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import run_node
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.tunable import TUNABLE
from contact_mpc.task.loop_records import CommandPlan
from contact_mpc.task.object_motion import state_from_motion
from contact_mpc.task.task import load_task
from contact_mpc.task.waiting import read_waiting

TURN_S = 0.05
STATUS_PERIOD_S = 0.2  # while nothing but the error changes
SILENCE_S = 3.0  # realtime: without a new estimate for so long, nothing more is known of the object
STALE = ("pose_stale", "joints_stale")  # of estimates
FRAMES = ("world", "")
NEWEST = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
LEVELS = {"refused": DiagnosticStatus.WARN, "missed": DiagnosticStatus.WARN, "lost": DiagnosticStatus.ERROR}


class GoalServerConfig(NodeConfig):
    """Parameters of the goal server."""

    task: str = Field(min_length=1, description="task whose planner, tolerances and speed goals have")
    speed_share: float = Field(
        default=1.0, ge=0.1, le=1.0, description="share of the task's speed at which goals are gone to by one grasp",
        json_schema_extra={"unit": "1", TUNABLE: True},
    )  # fmt: skip


class GoalServerNode(ContactNode):
    """Takes goals, searches plans and hands them to the tracker."""

    config_class = GoalServerConfig

    def __init__(self) -> None:
        super().__init__("goal_server")
        self._desk: GoalDesk | None = None
        self._search: PlanSearch | None = None
        self._action: MoveObjectServer | None = None
        for name in ("cancel", "hold"):
            self.create_service(Trigger, f"~/{name}", lambda request, answer, name=name: self._on_request(name, answer))
        self.create_steady_timer(TURN_S, self._turn)

    def configure(self) -> None:
        """Start the search's process and connect."""
        task = load_task(self.config.task)
        require_goals(task)
        self._task, self._system = task, task.system
        self._order = messages.JointOrder(self._system.joint_names)
        self._q_guess, self._u = task.start_q, task.start_u.copy()
        self._search = PlanSearch(self.config.task)
        self._desk = GoalDesk(task, self._search)
        self._desk.speed_share = self.config.speed_share
        action_type = find_action_type()
        if action_type is not None:
            self._action = MoveObjectServer(self, action_type, self._on_action, self._cancel)
        self._halves: dict[type, bytes] = {}
        self._plan: CommandPlan | None = None
        self._tracker_status, self._said, self._next_status_s = "", ("", "", 0), 0.0
        self._newest_ns, self._heard_s, self._estimate_status = -1, time.monotonic(), ""
        self._reference = self.publish_topic("reference")
        self._object_reference = self.publish_topic("object_reference")
        self._status = self.publish_topic("goal_status")
        self.subscribe_topic("goal_pose", self._on_goal)
        self._listen("state_estimator/joint_states", lambda data: self._halves.update({JointState: data}), raw=True)
        self._listen("state_estimator/object_odom", lambda data: self._halves.update({Odometry: data}), raw=True)
        self._listen("mpc_tracker/plan", self._on_plan)
        self._listen("mpc_tracker/solve_status", self._on_solve)

    def activate(self) -> None:
        """Begin to take goals; the object is held until the first."""
        self._publish_goal_status()

    def cleanup(self) -> None:
        """End the search's process."""
        if self._search is not None:
            self._search.close()
        self._search = self._desk = None
        if self._action is not None:
            self._action.destroy()
        self._action = None

    def tune(self, _changes: dict[str, Any]) -> None:
        """Search the next ways at another speed."""
        if self._desk is not None:
            self._desk.speed_share = self.config.speed_share

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return state and counts of the goals."""
        if not self.is_active or self._desk is None:
            return super().diagnose()
        ledger = self._desk.ledger
        return DiagnosticStatus.OK, f"{ledger.state}: {ledger.message}", dict(ledger.counts)

    def _listen(self, name: str, callback: Any, raw: bool = False) -> None:
        """Subscribe to the newest message of a topic: what was missed does not matter here, in no clock."""
        topic = TOPICS[name]
        self.add_topic_entity(self.create_subscription(topic.msg_type, topic.name, callback, NEWEST, raw=raw))

    # Inputs.

    def _on_goal(self, message: PoseStamped) -> None:
        self._take(messages.from_stamp(message.header.stamp), message)

    def _take(self, stamp_ns: int, message: PoseStamped, tolerance_deg: float = 0.0, tolerance_mm: float = 0.0) -> None:
        if not self.is_active or self._desk is None:
            return
        try:
            if message.header.frame_id not in FRAMES:
                raise InputError(f"frame '{message.header.frame_id}' is not known here; send poses in 'world'")
            if not (0.0 <= tolerance_deg < 360.0 and 0.0 <= tolerance_mm < 1e4):
                raise InputError(
                    f"tolerances {tolerance_deg:g} deg, {tolerance_mm:g} mm; expected 0 (the task's) or more"
                )
            goal = ObjectGoal(stamp_ns, *messages.read_pose(message.pose), tolerance_deg, tolerance_mm)
            self._desk.take_goal(goal)
        except InputError as error:
            self._desk.ledger.refuse(stamp_ns, str(error))

    def _on_action(self, stamp_ns: int, request: Any) -> None:
        self._take(stamp_ns, request.goal, request.tolerance_deg, request.tolerance_mm)

    def _cancel(self) -> None:
        if self._desk is not None:
            self._hand_over(self._desk.cancel())

    def _on_plan(self, message: JointTrajectory) -> None:
        try:
            plan = messages.read_plan(message, self._order)
        except InputError:
            return  # the bridge refuses it and says so
        if not plan.is_hold:
            self._plan = plan

    def _on_solve(self, message: DiagnosticStatus) -> None:
        self._tracker_status = message.message.partition(":")[0]
        waiting = read_waiting(messages.values_of(message))
        if self._desk is not None and waiting is not None:
            self._desk.wait(*waiting)

    def _read_state(self) -> tuple[int, FloatArray] | None:
        """Return stamp and configuration of the newest estimate whose halves have the same stamp, within a tick."""
        joints, odometry = self._halves.get(JointState), self._halves.get(Odometry)
        if joints is None or odometry is None:
            return None
        try:
            t_ns, message = read_stamp_ns(joints), deserialize(joints, JointState)
            position = messages.read_joint_state(message, self._order)[0]
            motion = messages.read_odometry(deserialize(odometry, Odometry))
        except InputError:
            return None  # the tracker refuses it and says so
        rest = np.zeros(self._system.n_a)
        state = state_from_motion(self._system, t_ns, motion, (position, rest, rest), self._q_guess)
        self._q_guess, self._estimate_status = state.q, message.header.frame_id
        return t_ns, state.q

    # Turns.

    def _turn(self) -> None:
        if not self.is_active or self._desk is None:
            return
        state, now_s = self._read_state(), time.monotonic()
        if state is not None and state[0] != self._newest_ns:
            self._newest_ns, self._heard_s = state[0], now_s
        if self.config.clock == "realtime" and now_s - self._heard_s > SILENCE_S:
            self._desk.lose(f"no new estimate of the object for {SILENCE_S:g} s: see the state estimator")
        elif state is not None:
            u = self._task.start_u if self._plan is None else self._plan.sample_u(state[0])
            unseen = f"the estimate is {self._estimate_status}" if self._estimate_status in STALE else ""
            self._hand_over(self._desk.update(*state, u, self._tracker_status, unseen))
        ledger = self._desk.ledger
        if self._action is not None:
            self._action.look(ledger, self._desk.way)
        said = (ledger.state, ledger.message, ledger.counts["goals"])
        if said != self._said or now_s >= self._next_status_s:
            self._said, self._next_status_s = said, now_s + STATUS_PERIOD_S
            self._publish_goal_status()

    def _hand_over(self, handed: HandOver | None) -> None:
        if handed is None:
            return
        if handed.plan is None:
            empty = np.zeros((0, self._system.n_a))
            names = self._system.joint_names
            self._object_reference.publish(MultiDOFJointTrajectory(joint_names=list(self._system.object_names)))
            self._reference.publish(messages.to_trajectory(handed.start_ns, names, np.zeros(0), empty, None, empty))
            return
        self._tracker_status = ""
        self._object_reference.publish(to_object_reference(self._system, handed.plan, handed.start_ns))
        self._reference.publish(to_reference(self._system, handed.plan, handed.start_ns))

    def _on_request(self, name: str, response: Trigger.Response) -> Trigger.Response:
        response.success = self.is_active and self._desk is not None
        response.message = "the goal server is not active; activate it first"
        if response.success and self._desk is not None:
            if name == "cancel":
                self._cancel()
            else:
                self._hand_over(self._desk.hold())
            response.message = self._desk.ledger.message
        return response

    def _publish_goal_status(self) -> None:
        assert self._desk is not None
        ledger, way = self._desk.ledger, self._desk.way
        R, p = self._system.object_pose(self._q_guess)
        values: dict[str, object] = {
            "state": ledger.state, "goal_ns": ledger.goal_ns or "",
            "refused_ns": ledger.refused_ns or "", "refusal": ledger.refusal,
            "progress": way.progress, "angle_error_deg": way.angle_deg, "position_error_mm": way.distance_mm,
            "position_m": " ".join(repr(float(value)) for value in p),
            "quaternion_wxyz": " ".join(repr(float(value)) for value in matrix_to_quaternion(np.ascontiguousarray(R))),
        }  # fmt: skip
        level = LEVELS.get(ledger.state, DiagnosticStatus.OK)
        self._status.publish(messages.to_status(level, "goal_server", ledger.message, values | ledger.counts))


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(GoalServerNode))


if __name__ == "__main__":
    main()
