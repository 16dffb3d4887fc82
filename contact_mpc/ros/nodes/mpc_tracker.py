"""Node around the tracker: estimated states and references in, one command plan per tick out.

Ticks are the stamps that `mpc_rate_hz` divides (realtime: the first pair of messages in each period). A tick without
something to follow, or that the tracker refuses, gives a plan without points, on which the bridge holds. Messages
between ticks are passed over unread. The two messages of an estimate are paired by their stamp, as are the two of a
reference.
"""

import json
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from pydantic import Field
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from contact_mpc.control.controller import ControllerSetup, Patience
from contact_mpc.control.tracking.comparison.config import ComparisonConfig
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import LAGGING, NO_REFERENCE, Reference
from contact_mpc.errors import InputError
from contact_mpc.loop.controllers import make_controller
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.references import read_reference
from contact_mpc.ros.messages.serialized import deserialize, read_stamp_ns
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.node_process import freeze_garbage, run_node
from contact_mpc.ros.runtime.parameters import NodeConfig, SessionConfig
from contact_mpc.settings.tunable import REFERENCE_START, TUNED, WAITED
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.object_motion import state_from_motion

MAX_UNPAIRED = 16
WARN_PERIOD_S = 1.0
STALE = ("joints_stale", "pose_stale")
JOINTS, ODOMETRY = 0, 1


class MpcTrackerConfig(NodeConfig, SessionConfig, TrackerConfig):
    """Parameters of the tracker node."""

    seed: int = Field(default=0, ge=0, description="of a controller that draws at random")
    comparison: ComparisonConfig = ComparisonConfig()


class MpcTrackerNode(ContactNode):
    """Runs the tracker at its rate."""

    config_class = MpcTrackerConfig

    def __init__(self) -> None:
        super().__init__("mpc_tracker")
        self._level, self._message = DiagnosticStatus.OK, "inactive"
        self._reference_start_ns: int | None = None
        self._solves = self._holds = self._refused = 0
        self._waited_s = 0.0
        self._tuned: dict[str, float] = {}  # since the last tick
        self.create_service(Trigger, "~/reset", self._on_reset)

    def configure(self) -> None:
        """Build and compile the tracker and connect it."""
        config: MpcTrackerConfig = self.config
        self._system = load_system(config.system)
        self._order = messages.JointOrder(self._system.joint_names)
        self._tracker = make_controller(self._setup())
        self._tracker.warm_up()
        self._period_ns = self._tracker.period_ns
        self._reset()
        self._plan = self.publish_topic("mpc_tracker/plan")
        self._status = self.publish_topic("mpc_tracker/solve_status")
        self._half_references: dict[type, Any] = {}
        self._reference_start_ns = None
        self.subscribe_topic("reference", self._on_reference)
        self.subscribe_topic("object_reference", self._take_half_reference)
        self.subscribe_topic("state_estimator/joint_states", lambda data: self._on_state(data, JOINTS), raw=True)
        self.subscribe_topic("state_estimator/object_odom", lambda data: self._on_state(data, ODOMETRY), raw=True)

    def _setup(self) -> ControllerSetup:
        """Return what the controller is built from; where a clock runs no tick waits for a search.

        A process of its own searches in lockstep, too: its roundings are those of a replay.
        """
        config: MpcTrackerConfig = self.config
        patience = Patience("look" if config.clock == "realtime" else "wait")
        return ControllerSetup(self._system, config, config.comparison, config.seed, patience)

    def activate(self) -> None:
        """Begin without memory of earlier states; a reference that was received stays."""
        self._reset()
        self.wait_for_subscribers(self._plan, 1)
        freeze_garbage()

    def tune(self, changes: dict[str, Any]) -> None:
        """Solve with other weights and bounds from the next tick on; its status tells which, for who recomputes it."""
        self._tuned |= changes
        self._tracker.tune(changes)

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """Return the outcome of the last tick and counts."""
        values: dict[str, object] = {
            REFERENCE_START: "" if self._reference_start_ns is None else self._reference_start_ns,
            WAITED: round(self._waited_s, 3),
            "solves": self._solves,
            "holds": self._holds,
            "refused_messages": self._refused,
        }
        return (self._level, self._message, values) if self.is_active else (DiagnosticStatus.OK, "inactive", values)

    def _reset(self) -> None:
        self._tracker.reset()
        self._q_guess = self._system.q_default
        self._pending: dict[int, dict[int, bytes]] = {}
        self._last_tick = -1
        self._level, self._message = DiagnosticStatus.OK, "no state yet"

    # States.

    def _on_state(self, data: bytes, kind: int) -> None:
        """Keep the halves of an estimate that a tick needs until both are there."""
        if not self.is_active:
            return
        try:
            t_ns = read_stamp_ns(data)
        except InputError as error:
            self._refuse(error)
            return
        if not self._is_tick(t_ns):
            return
        halves = self._pending.setdefault(t_ns, {})
        halves[kind] = data
        if len(halves) == 2:
            del self._pending[t_ns]
            self._last_tick = t_ns // self._period_ns
            self._tick(t_ns, halves)
        elif len(self._pending) > MAX_UNPAIRED:
            del self._pending[min(self._pending)]

    def _is_tick(self, t_ns: int) -> bool:
        if self.config.clock == "lockstep":
            return t_ns % self._period_ns == 0
        tick = t_ns // self._period_ns
        if tick < self._last_tick:  # the clock went back: a simulation started again
            self._reset()
        return tick > self._last_tick

    def _tick(self, t_ns: int, halves: dict[int, bytes]) -> None:
        followed: object = "" if self._reference_start_ns is None else self._reference_start_ns
        values: dict[str, object] = {"stamp_ns": t_ns, REFERENCE_START: followed}
        if self._tuned:
            values[TUNED] = json.dumps(self._tuned)
            self._tuned = {}
        plan = CommandPlan.hold(t_ns, self._system.n_a)
        try:
            state = self._read_state(t_ns, halves)
            if state.status in STALE:
                self._tracker.hold(t_ns)
                self._level, self._message = DiagnosticStatus.WARN, f"estimate is {state.status}"
            else:
                plan = self._solve(state, values)
        except InputError as error:
            self._tracker.hold(t_ns)
            self._refuse(error)
        self._tell_waiting(t_ns, values)
        self._holds += plan.is_hold
        self._plan.publish(messages.to_plan_message(plan, self._system.joint_names, self.config.session))
        self._status.publish(messages.to_status(self._level, "mpc_tracker", self._message, values))

    def _tell_waiting(self, t_ns: int, values: dict[str, object]) -> None:
        """Say for how long the reference has stood still, and warn when it has again."""
        waited_s = self._tracker.waited_ns(t_ns) / NS_PER_S if self._reference_start_ns is not None else 0.0
        if waited_s > self._waited_s:
            self.get_logger().warning(
                f"the bridge held for want of plans or of estimates: the motion waited, {waited_s:.2f} s so far",
                throttle_duration_sec=WARN_PERIOD_S,
            )
        self._waited_s = values[WAITED] = waited_s

    def _refuse(self, error: InputError) -> None:
        self._refused += 1
        self._level, self._message = DiagnosticStatus.WARN, f"estimate refused: {error}"
        self.get_logger().warning(self._message, throttle_duration_sec=WARN_PERIOD_S)

    def _solve(self, state: EstimatedState, values: dict[str, object]) -> CommandPlan:
        output = self._tracker.step(state)
        names = ("iterations", "residual", "object_error_deg", "object_error_mm")
        values.update({name: getattr(output, name) for name in names})
        if not output.plan.is_hold:
            values["solve_ms"] = output.solve_ms
        if output.part:
            values["part"] = output.part
        self._solves += 1
        is_fine = output.status == NO_REFERENCE or not (output.plan.is_hold or output.status == LAGGING)
        self._level = DiagnosticStatus.OK if is_fine else DiagnosticStatus.WARN
        self._message = output.status
        if output.note:
            self._level, self._message = DiagnosticStatus.WARN, f"{output.status}: {output.note}"
            self.get_logger().warning(self._message, throttle_duration_sec=WARN_PERIOD_S)
        return output.plan

    def _read_state(self, t_ns: int, halves: dict[int, bytes]) -> EstimatedState:
        joints = deserialize(halves[JOINTS], JointState)
        position, velocity, effort = messages.read_joint_state(joints, self._order)
        n_a = self._system.n_a
        velocity = np.zeros(n_a) if velocity is None else velocity
        effort = np.full(n_a, np.nan) if effort is None else effort
        motion = messages.read_odometry(deserialize(halves[ODOMETRY], Odometry))
        state = state_from_motion(self._system, t_ns, motion, (position, velocity, effort), self._q_guess)
        self._q_guess = state.q
        return replace(state, status=joints.header.frame_id)

    # References.

    def _on_reference(self, message: JointTrajectory) -> None:
        if message.points:
            self._take_half_reference(message)
        else:
            self._drop_reference("reference cancelled")

    def _take_half_reference(self, message: JointTrajectory | MultiDOFJointTrajectory) -> None:
        """Keep the newest half of each kind, and follow them once their stamps agree."""
        self._half_references[type(message)] = message
        commands = self._half_references.get(JointTrajectory)
        objects = self._half_references.get(MultiDOFJointTrajectory)
        if commands is None or objects is None or commands.header.stamp != objects.header.stamp:
            return
        try:
            plan = read_reference(self._system, self._order, commands, objects)
            start_ns = messages.from_stamp(commands.header.stamp)
            self._tracker.set_reference(Reference(start_ns, plan))
        except InputError as error:
            self._refused += 1
            self.get_logger().error(f"reference refused: {error}")
            self._drop_reference("reference refused")
            return
        self._reference_start_ns = start_ns
        self.publish_diagnostics()

    def _drop_reference(self, reason: str) -> None:
        self._half_references.clear()
        self._reference_start_ns = None
        self._tracker.set_reference(None)
        self._level, self._message = DiagnosticStatus.OK, reason
        self.publish_diagnostics()

    # Requests.

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.is_active
        response.message = "tracker reset" if self.is_active else "the tracker is not active; activate it first"
        if self.is_active:
            self._reset()
        return response


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(MpcTrackerNode))


if __name__ == "__main__":
    main()
