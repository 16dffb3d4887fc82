"""One run of a task: the stack from the first process to the last message of the bag."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_msgs.msg import UInt64

from contact_mpc.errors import InputError, StackError
from contact_mpc.model.rotations import rotation_log
from contact_mpc.plants.common.plant import T0_NS
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.stack.run_parameters import DEFAULT_START_DELAY_S, SEARCH_S
from contact_mpc.ros.stack.stack import HERE, Placement, Stack, StackSpec
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.task import TaskConfig
from contact_mpc.task.waiting import later_ns

POLL_S = 0.1
STALL_TIMEOUT_S = 60.0
SPARE_NS = NS_PER_S // 10  # that an open end comes after the hold: clock and pose are not of one instant
DRAIN_S = 0.2  # for the answers to the last state, on their way to the recorder
NEWEST = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)


@dataclass(frozen=True)
class RunProgress:
    """Where a run is: simulated time since its start, s; object error against the goal, degrees and mm.

    `real_time_factor` is simulated over wall time since the clock was heard first, later than the run's start; `part`
    says which part of a long way is under way.
    """

    simulated_s: float
    real_time_factor: float
    angle_error_deg: float
    position_error_mm: float
    part: str = ""


class RunSession:
    """Starts the stack for a task and follows it to its end.

    Parameters
    ----------
    task : TaskConfig
        What is run.
    parameters : dict
        Parameters of every node.
    folder : Path
        Existing folder for bag, logs and parameters.
    domain : int, optional
        ROS domain; by default one that is free.
    placement : Placement
        Where the nodes run.
    """

    def __init__(
        self,
        task: TaskConfig,
        parameters: dict[str, dict[str, Any]],
        folder: Path,
        domain: int | None = None,
        placement: Placement = HERE,
    ) -> None:
        self._task = task
        self._end_ns = T0_NS + round(parameters["plant"]["run_for_s"] * NS_PER_S)
        self._is_lockstep = parameters["plant"]["clock"] == "lockstep"
        self._goal = task.goal_pose()
        self._clock_ns = self._written_ns = 0
        delay_s = parameters["trajectory_server"].get("start_delay_s", DEFAULT_START_DELAY_S)
        self._start_ns = T0_NS + round(delay_s * NS_PER_S)
        self._met_ns: int | None = None  # since when the goal of a task with an open end is met
        self._stall_s = STALL_TIMEOUT_S + (SEARCH_S if task.has_open_end else 0.0)
        self._part = ""
        self._later_ns = 0  # by which the run ends later, since its motion waited
        self._pose: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        namespace = "/" + task.system.config.robots[0].name
        self.stack = Stack(StackSpec(namespace, parameters, folder, domain, placement=placement))

    def __enter__(self) -> "RunSession":
        return self

    def __exit__(self, *_error: object) -> None:
        self.stack.stop()

    def start(self) -> None:
        """Start the processes; they import their libraries while the caller may go on with something else."""
        self.stack.start()

    def run(self, report: Callable[[RunProgress], None]) -> None:
        """Configure, activate and follow the run to its end; `report` is called several times a second.

        Raises
        ------
        StackError
            A node refused, died or stopped answering; names the node.
        """
        self.stack.bring_up()
        node = self.stack.node
        node.create_subscription(Clock, "/clock", self._on_clock, NEWEST)
        node.create_subscription(Odometry, "plant/object_odom", self._on_odometry, NEWEST)
        node.create_subscription(DiagnosticStatus, "mpc_tracker/solve_status", self._on_solve, NEWEST)
        node.create_subscription(UInt64, "recorder/written_until", self._on_written, NEWEST)
        self._follow(report)

    def _follow(self, report: Callable[[RunProgress], None]) -> None:
        first_s = progress_s = time.monotonic()
        first_ns = newest_ns = 0
        while not self._is_finished():
            time.sleep(POLL_S)
            for _ in range(4):
                self.stack.spin(0.0)
            now_s = time.monotonic()
            if not first_ns:
                first_ns, first_s = self._clock_ns, now_s
            if self._clock_ns + self._written_ns > newest_ns:
                newest_ns, progress_s = self._clock_ns + self._written_ns, now_s
            elif now_s - progress_s > self._stall_s:
                raise StackError(
                    f"simulated time stands still at {self._clock_ns * 1e-9:.3f} s; see the logs of the nodes"
                )
            factor = (self._clock_ns - first_ns) / NS_PER_S / (now_s - first_s) if now_s > first_s else 0.0
            report(self._progress(factor))
        time.sleep(DRAIN_S)

    def _is_finished(self) -> bool:
        """Whether the hold has ended: in realtime as much later as the motion waited, within bounds."""
        recorded_ns = self._written_ns if self._is_lockstep else self._clock_ns
        hold_ns = round(self._task.hold_s * NS_PER_S) + SPARE_NS
        end_ns = self._end_ns if self._is_lockstep else self._end_ns + self._later_ns
        end_ns = end_ns if self._met_ns is None else min(end_ns, self._met_ns + hold_ns)
        return min(self._clock_ns, recorded_ns) >= end_ns

    def _progress(self, real_time_factor: float) -> RunProgress:
        angle_deg = distance_mm = float("nan")
        if self._pose is not None:
            R_goal, p_goal = self._goal
            R_WB, p_WB = self._pose
            angle_deg = float(np.degrees(np.linalg.norm(rotation_log(np.ascontiguousarray(R_WB @ R_goal.T)))))
            distance_mm = 1e3 * float(np.linalg.norm(p_WB - p_goal))
        if self._task.has_open_end:
            is_met = angle_deg <= self._task.tolerance_deg and distance_mm <= self._task.tolerance_mm
            is_met &= self._clock_ns >= self._start_ns
            self._met_ns = (self._met_ns or self._clock_ns) if is_met else None
        simulated_s = max(self._clock_ns - T0_NS, 0) / NS_PER_S
        return RunProgress(simulated_s, real_time_factor, angle_deg, distance_mm, self._part)

    def _on_solve(self, message: DiagnosticStatus) -> None:
        values = messages.values_of(message)
        self._part, self._later_ns = values.get("part", ""), later_ns(values, self._later_ns)

    def _on_clock(self, message: Clock) -> None:
        self._clock_ns = messages.from_stamp(message.clock)

    def _on_written(self, message: UInt64) -> None:
        self._written_ns = int(message.data)

    def _on_odometry(self, message: Odometry) -> None:
        try:
            self._pose = messages.read_pose(message.pose.pose)
        except InputError:
            self._pose = None
