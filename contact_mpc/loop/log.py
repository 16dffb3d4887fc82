"""What happened in a closed loop, step by step, and how the task ended in the true pose of the object."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from contact_mpc.control.bridge.status import BridgeCommand, BridgeMode
from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.plants.common.plant import PlantState
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.interpolation import interpolate_rows
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

IntArray = NDArray[np.int64]
CHECK_STEPS = 10  # of 1 ms, from one look at the object to the next


@dataclass(frozen=True)
class ClosedLoopResult:
    """One run of the loop; n steps of 1 ms, m estimates, k plans.

    Attributes
    ----------
    t_ns : (n,) array
        Stamps of the plant's states, ns.
    q, v : (n, n_q), (n, n_v) array
        True state.
    tau : (n, n_a) array
        Torque of the drives in the step before, N m.
    commands : (n, n_a) array
        What the bridge sent: torque, N m, or position, rad.
    u : (n, n_a) array
        Position command after the guard, rad.
    estimate_t_ns, estimate_q : (m,), (m, n_q) array
        What the tracker was told.
    plan_t_ns, solve_ms, solve_cpu_ms, iterations : (k,) array
        Of each solve: stamp, wall time, CPU time of the process, iterations.
    plan_status, plan_note : tuple of str
        Of each solve: how it ended, and what else the tracker saw.
    plans : tuple of CommandPlan
        What the bridge was given.
    holds : tuple of (int, str)
        Stamps and descriptions of the bridge's changes of mode after it first became ACTIVE.
    angle_error_deg, position_error_mm : float
        At the end of the hold, or where the run was ended.
    dropped : bool
        The object was further than the task allows from its reference.
    reached_s : float
        Time of the motion from which on the object was within the tolerances until the run ended; NaN if it was not.
    is_complete : bool
        The run lasted to the end of the hold, or until the object had been at the goal for that long.
    reasons : tuple of str
        Why the goal was not met; empty if it was.
    """

    t_ns: IntArray
    q: FloatArray
    v: FloatArray
    tau: FloatArray
    commands: FloatArray
    u: FloatArray
    estimate_t_ns: IntArray
    estimate_q: FloatArray
    plan_t_ns: IntArray
    solve_ms: FloatArray
    solve_cpu_ms: FloatArray
    iterations: IntArray
    plan_status: tuple[str, ...]
    plan_note: tuple[str, ...]
    plans: tuple[CommandPlan, ...]
    holds: tuple[tuple[int, str], ...]
    angle_error_deg: float
    position_error_mm: float
    dropped: bool
    reached_s: float
    is_complete: bool
    reasons: tuple[str, ...]

    @property
    def goal_met(self) -> bool:
        """Whether the run ended within the task's tolerances."""
        return not self.reasons


@dataclass
class LoopLog:
    """Collects a run; `result` judges it.

    Parameters
    ----------
    system, task, plan
        What is run.
    start_ns : int
        Stamp at which the plan starts.
    """

    system: System
    task: TaskConfig
    plan: Plan
    start_ns: int
    dropped: bool = False
    _steps: list[tuple[PlantState, FloatArray, FloatArray]] = field(default_factory=list)
    _estimates: list[tuple[int, FloatArray]] = field(default_factory=list)
    _plans: list[tuple[CommandPlan, float, float, int, str, str]] = field(default_factory=list)
    _holds: list[tuple[int, str]] = field(default_factory=list)
    _reached_ns: int | None = None
    _last_ns: int = 0
    _safety: object = None
    _was_active: bool = False

    def __post_init__(self) -> None:
        self._R_goal, self._p_goal = self.task.goal_pose()
        self._path = np.array([self.system.object_pose(q)[1] for q in self.plan.q])

    @property
    def end_ns(self) -> int:
        """Stamp of the end of the hold."""
        return self.start_ns + round((self.task.duration_s + self.task.hold_s) * NS_PER_S)

    @property
    def reached_s(self) -> float:
        """Time of the motion since which the object has been within the task's tolerances; NaN where it is not."""
        return np.nan if self._reached_ns is None else (self._reached_ns - self.start_ns) * 1e-9

    @property
    def has_settled(self) -> bool:
        """Whether the object has been within the task's tolerances for the time of its hold."""
        return self._reached_ns is not None and self._last_ns - self._reached_ns >= round(self.task.hold_s * NS_PER_S)

    def add_step(self, state: PlantState, command: BridgeCommand) -> None:
        """Take one step: the state and the command that answers it."""
        if len(self._steps) % CHECK_STEPS == 0:
            self.check(state.t_ns, *self.system.object_pose(state.q))
        self._steps.append((state, command.data.copy(), command.applied_q.copy()))
        if command.safety is not self._safety:
            self._safety = command.safety
            if self._was_active:
                self._holds.append((state.t_ns, command.safety.describe()))
            self._was_active |= command.safety.mode is BridgeMode.ACTIVE

    def check(self, t_ns: int, R_WB: FloatArray, p_WB: FloatArray) -> None:
        """See from the object's true pose whether it is lost, and since when it is at its goal."""
        self._last_ns = t_ns
        self.dropped |= self.is_far(t_ns, p_WB)
        angle_deg, distance_mm = self.errors_of(R_WB, p_WB)
        if angle_deg > self.task.tolerance_deg or distance_mm > self.task.tolerance_mm:
            self._reached_ns = None
        elif self._reached_ns is None:
            self._reached_ns = max(t_ns, self.start_ns)

    def add_estimate(self, state: EstimatedState) -> None:
        """Take an estimate that the tracker was told."""
        self._estimates.append((state.t_ns, state.q))

    def add_plan(
        self,
        plan: CommandPlan,
        status: str,
        solve_ms: float = 0.0,
        solve_cpu_ms: float = 0.0,
        iterations: int = 0,
        note: str = "",
    ) -> None:
        """Take a plan as the bridge receives it, and what the solve took and reports."""
        self._plans.append((plan, solve_ms, solve_cpu_ms, iterations, status, note))

    def result(self) -> ClosedLoopResult:
        """Judge the run as it is now."""
        states = [state for state, *_ in self._steps]
        angle_deg, distance_mm = self.errors_of(*self.system.object_pose(states[-1].q))
        return ClosedLoopResult(
            t_ns=np.array([state.t_ns for state in states], dtype=np.int64),
            q=np.array([state.q for state in states]),
            v=np.array([state.v for state in states]),
            tau=np.array([state.tau_applied for state in states]),
            commands=np.array([step[1] for step in self._steps]),
            u=np.array([step[2] for step in self._steps]),
            estimate_t_ns=np.array([t_ns for t_ns, _ in self._estimates], dtype=np.int64),
            estimate_q=np.array([q for _, q in self._estimates]),
            plan_t_ns=np.array([item[0].stamp_ns for item in self._plans], dtype=np.int64),
            solve_ms=np.array([item[1] for item in self._plans]),
            solve_cpu_ms=np.array([item[2] for item in self._plans]),
            iterations=np.array([item[3] for item in self._plans], dtype=np.int64),
            plan_status=tuple(item[4] for item in self._plans),
            plan_note=tuple(item[5] for item in self._plans),
            plans=tuple(item[0] for item in self._plans),
            holds=tuple(self._holds),
            angle_error_deg=angle_deg,
            position_error_mm=distance_mm,
            dropped=self.dropped,
            reached_s=self.reached_s,
            is_complete=states[-1].t_ns >= self.end_ns or self.has_settled,
            reasons=self.reasons(states[-1].t_ns, angle_deg, distance_mm),
        )

    def errors_of(self, R_WB: FloatArray, p_WB: FloatArray) -> tuple[float, float]:
        """Return angle, deg, and distance, mm, of a pose of the object to the goal."""
        angle = np.linalg.norm(rotation_log(np.ascontiguousarray(R_WB @ self._R_goal.T)))
        return float(np.degrees(angle)), 1e3 * float(np.linalg.norm(p_WB - self._p_goal))

    def is_far(self, t_ns: int, p_WB: FloatArray) -> bool:
        """Whether the object at p_WB (3,), m, is so far from its reference at t_ns that it counts as dropped."""
        return bool(np.linalg.norm(p_WB - self._reference_position(t_ns)) > self.task.drop_distance_m)

    def _reference_position(self, t_ns: int) -> FloatArray:
        t_s = (t_ns - self.start_ns) * 1e-9
        return interpolate_rows(t_s, self.plan.times_s, self._path)

    def reasons(self, last_ns: int, angle_deg: float, distance_mm: float) -> tuple[str, ...]:
        """Return why the goal was not met by a run that ended at last_ns with these errors."""
        task = self.task
        checks = (
            (not self.dropped, f"dropped: further than {100 * self.task.drop_distance_m:.0f} cm from the reference"),
            (self.dropped or self.has_settled or last_ns >= self.end_ns, "ended before the hold did"),
            (angle_deg <= task.tolerance_deg, f"angle error {angle_deg:.2f} deg > {task.tolerance_deg:g} deg"),
            (distance_mm <= task.tolerance_mm, f"position error {distance_mm:.2f} mm > {task.tolerance_mm:g} mm"),
        )
        return tuple(text for passed, text in checks if not passed)
