"""Recompute the tracker's command plans of a bag from its recorded estimates and references, and compare.

One solve per recorded plan, from the estimate with the plan's stamp, in their order, by the same Tracker. What makes
the node hold (no reference, a stale estimate, an unusable message) makes a hold here too.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from contact_mpc.bags.recompute_estimates import Advance
from contact_mpc.bags.record import ObjectTrajectoryMessage, RunRecord, TrajectoryMessage
from contact_mpc.bags.sources import node_config, node_parameters
from contact_mpc.control.controller import ControllerSetup, Patience
from contact_mpc.control.motion_time import MotionTime
from contact_mpc.control.tracking.comparison.config import ComparisonConfig
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import Reference
from contact_mpc.control.tracking.reorienter import PLANNING
from contact_mpc.errors import BagError, InputError
from contact_mpc.loop.controllers import make_controller
from contact_mpc.model.rotations import quaternion_to_matrix
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.tunable import REFERENCE_START, TUNED
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.object_motion import ObjectMotion, state_from_motion
from contact_mpc.task.plan import Plan

ReferenceMessage = TrajectoryMessage | ObjectTrajectoryMessage
STALE = ("joints_stale", "pose_stale")
ROTATION_FIRST = np.array([3, 4, 5, 0, 1, 2])


@dataclass
class PlanDifferences:
    """Largest absolute differences of the plans' quantities.

    Attributes
    ----------
    max_abs : dict
        By "times_s" (s), "u" (rad), "du" (rad/s), "tau_ff" (N m); infinite where one plan holds and the other does not.
    compared, holds, missing : int
        Plans compared, how many of them hold, and plans whose estimate is not in the bag.
    first_mismatch : str
        Where the tolerance was first exceeded; "" if nowhere.
    """

    max_abs: dict[str, float] = field(default_factory=dict)
    compared: int = 0
    holds: int = 0
    missing: int = 0
    first_mismatch: str = ""

    @property
    def largest(self) -> float | None:
        """Largest of `max_abs`; None where nothing was compared."""
        return max(self.max_abs.values(), default=0.0) if self.compared else None


def recompute_plans(
    record: RunRecord, system: System, config: TrackerConfig, advance: Advance
) -> Iterator[tuple[TrajectoryMessage, CommandPlan | None]]:
    """Yield every recorded plan with the recomputed one, None where the estimate is missing."""
    setup = _setup(record, system, config)
    tracker, estimates = make_controller(setup), _Estimates(record, system)
    references, changes = _References(record, system), _parameter_changes(record, config)
    searching = {item.stamp_ns for item in record.solve_status if item.message == PLANNING}
    followed = {item.stamp_ns: item.values.get(REFERENCE_START) for item in record.solve_status}
    assert setup.patience is not None
    tracker.warm_up()
    tracker.reset()
    last_ns = -1
    for number, recorded in enumerate(record.plans):
        if recorded.stamp_ns < last_ns:  # a simulation started again
            tracker.reset()
            estimates.restart()
        last_ns = recorded.stamp_ns
        if last_ns in changes:
            tracker.tune(changes[last_ns])
        setup.patience.mode = "leave" if last_ns in searching else "wait"
        yield recorded, _recompute(tracker, estimates, references, last_ns, followed.get(last_ns))
        advance(number)


def _setup(record: RunRecord, system: System, config: TrackerConfig) -> ControllerSetup:
    """Return what the recorded controller was built from."""
    comparison = node_config(record, "mpc_tracker", ComparisonConfig, key="comparison")
    seed = node_parameters(record, "mpc_tracker").get("seed", 0)
    if not isinstance(seed, int) or seed < 0:
        raise BagError(f"{record.path}: the tracker's seed is {seed!r:.100}; expected a whole number, 0 or more")
    return ControllerSetup(system, config, comparison, seed, Patience("wait"))


def _parameter_changes(record: RunRecord, config: TrackerConfig) -> dict[int | None, dict[str, float]]:
    """Return the tracker's parameters that were changed while it ran, by the stamp of the first solve with them."""
    changes: dict[int | None, dict[str, float]] = {}
    for item in record.solve_status:
        if TUNED not in item.values:
            continue
        try:
            changes[item.stamp_ns] = dict(json.loads(item.values[TUNED]))
            TrackerConfig.model_validate(config.model_dump() | changes[item.stamp_ns])
        except (ValueError, TypeError, RecursionError) as error:
            raise BagError(
                f"{record.path}: the tracker says that parameters were changed to {item.values[TUNED]:.100}, which it "
                f"cannot have: {str(error).splitlines()[0]:.200}"
            ) from error
    return changes


def compare_plans(
    pairs: Iterator[tuple[TrajectoryMessage, CommandPlan | None]], system: System, tolerance: float
) -> PlanDifferences:
    """Compare recorded and recomputed plans."""
    found = PlanDifferences()
    for recorded, plan in pairs:
        if plan is None:
            found.missing += 1
            continue
        found.compared += 1
        found.holds += not len(recorded.times_s)
        for key, largest in _differences(recorded, plan, system).items():
            found.max_abs[key] = max(found.max_abs.get(key, 0.0), largest)
            if not largest <= tolerance and not found.first_mismatch:
                found.first_mismatch = _explain(recorded, plan, key, largest)
    return found


def read_reference(system: System, commands: TrajectoryMessage, objects: ObjectTrajectoryMessage) -> Plan:
    """Return the plan that the two messages of a reference describe.

    Raises
    ------
    InputError
        The object or the times are not those of the other message or of the system.
    """
    if objects.names != system.object_names:
        raise InputError(f"object_reference names {', '.join(objects.names)}, not {', '.join(system.object_names)}")
    if not np.array_equal(commands.times_s, objects.times_s):
        raise InputError("reference and object_reference have different times; publish them from one plan")
    u, tau_ff = _columns(commands, commands.position, system), _columns(commands, commands.effort, system)
    q, guess = np.empty((len(u), system.n_q)), system.q_default
    for i in range(len(u)):
        R_WB = _rotation(objects.quaternion_wxyz[i, 0])
        q[i, : system.n_q_u] = system.q_from_object_pose(R_WB, objects.position_m[i, 0], guess)
        q[i, system.n_q_u :] = u[i]
        guess = q[i]
    du = _columns(commands, commands.velocity, system) if commands.velocity.size else None
    return Plan(commands.times_s, q, u, tau_ff, np.zeros((len(u), 0, 3)), {"source": "reference topics"}, du)


def _recompute(
    tracker: MotionTime, estimates: "_Estimates", references: "_References", stamp_ns: int, followed: str | None
) -> CommandPlan | None:
    received_ns = estimates.received_ns(stamp_ns)
    if received_ns is None:
        return None
    references.apply(tracker, received_ns, followed)
    state = estimates.read(stamp_ns)
    if state is None or state.status in STALE:
        tracker.hold(stamp_ns)  # as the node does
        return CommandPlan.hold(stamp_ns, tracker.system.n_a)
    return tracker.step(state).plan


def _differences(recorded: TrajectoryMessage, plan: CommandPlan, system: System) -> dict[str, float]:
    keys = ("times_s", "u", "du", "tau_ff")
    if len(recorded.times_s) != len(plan.times_s):
        return dict.fromkeys(keys, float("inf"))
    if plan.is_hold:
        return {}
    rows = (recorded.times_s, *(_columns(recorded, values, system) for values in _values(recorded)))
    return {key: float(np.max(np.abs(getattr(plan, key) - row))) for key, row in zip(keys, rows, strict=True)}


def _explain(recorded: TrajectoryMessage, plan: CommandPlan, key: str, largest: float) -> str:
    where = f"plan at {recorded.stamp_ns * 1e-9:.3f} s"
    if len(recorded.times_s) != len(plan.times_s):
        return f"{where}: recorded with {len(recorded.times_s)} points, recomputed with {len(plan.times_s)}"
    return f"{where}: {key} differs by {largest:.3g}"


def _values(message: TrajectoryMessage) -> tuple[FloatArray, FloatArray, FloatArray]:
    return message.position, message.velocity, message.effort


def _columns(message: TrajectoryMessage, values: FloatArray, system: System) -> FloatArray:
    """Return values (n, n_a) in the order of the system's joints; zeros where the message has none."""
    missing = [name for name in system.joint_names if name not in message.names]
    if missing:
        raise BagError(
            f"a plan or reference has no joint {', '.join(missing)}; it has {', '.join(message.names)}; "
            "choose the system that the bag was recorded with"
        )
    if values.shape[1] == 0:
        return np.zeros((len(message.times_s), system.n_a))
    return values[:, [message.names.index(name) for name in system.joint_names]]


def _rotation(wxyz: FloatArray) -> FloatArray:
    return quaternion_to_matrix(wxyz / float(np.linalg.norm(wxyz)))


class _Estimates:
    """The recorded estimates by stamp, as the tracker reads them."""

    def __init__(self, record: RunRecord, system: System) -> None:
        joints, odometry = record.estimated_joints, record.estimated_odom
        assert joints is not None and odometry is not None
        self._system, self._series, self._odometry = system, joints, odometry
        n = len(joints)
        self._q = joints.select("position", system.joint_names)
        self._v = joints.select("velocity", system.joint_names) if joints.velocity.shape[1] else np.zeros_like(self._q)
        unknown = np.full((n, system.n_a), np.nan)
        self._tau = joints.select("effort", system.joint_names) if joints.effort.shape[1] else unknown
        self._rows = {stamp: row for row, stamp in enumerate(joints.t_ns.tolist())}
        self._poses = {stamp: row for row, stamp in enumerate(odometry.t_ns.tolist())}
        self.restart()

    def restart(self) -> None:
        """Forget the last configuration."""
        self._q_guess = self._system.q_default

    def received_ns(self, stamp_ns: int) -> int | None:
        """Return when the estimate was received; None where half of it is not in the bag."""
        if stamp_ns not in self._rows or stamp_ns not in self._poses:
            return None
        return int(self._series.receive_ns[self._rows[stamp_ns]])

    def read(self, stamp_ns: int) -> EstimatedState | None:
        """Return the state; None where the tracker refuses the messages."""
        row, pose = self._rows[stamp_ns], self._poses[stamp_ns]
        odometry = self._odometry
        covariance = odometry.covariance[pose][np.ix_(ROTATION_FIRST, ROTATION_FIRST)]
        R_WB = _rotation(odometry.quaternion_wxyz[pose])
        motion = ObjectMotion(R_WB, odometry.position_m[pose], odometry.twist[pose][ROTATION_FIRST], covariance)
        joints = (self._q[row], self._v[row], self._tau[row])
        if not all(np.isfinite(values).all() for values in (R_WB, motion.p_WB, motion.V_WB, covariance, *joints[:2])):
            return None
        state = state_from_motion(self._system, stamp_ns, motion, joints, self._q_guess)
        self._q_guess = state.q
        return EstimatedState(state.t_ns, state.q, state.v, state.tau, state.covariance_u, self._series.notes[row])


class _References:
    """Gives the tracker the references that were received before a tick, as the node pairs them.

    The recorder may receive one long before the tracker, whose status names what it follows.
    """

    def __init__(self, record: RunRecord, system: System) -> None:
        self._system = system
        messages: list[ReferenceMessage] = [*record.references, *record.object_references]
        self._waiting = sorted(messages, key=lambda message: message.receive_ns)
        self._commands: TrajectoryMessage | None = None
        self._objects: ObjectTrajectoryMessage | None = None
        self._start = ""  # of the reference that is followed, ns

    def apply(self, tracker: MotionTime, until_ns: int, followed: str | None) -> None:
        """Hand over what was received until then.

        followed is when the one starts that the tracker had, ns, "" where it had none, None in bags that do not say.
        """
        while self._waiting and self._waiting[0].receive_ns <= until_ns and self._start != followed:
            message = self._waiting.pop(0)
            if isinstance(message, ObjectTrajectoryMessage):
                self._objects = message
            elif len(message.times_s):
                self._commands = message
            else:
                self._drop(tracker)
                continue
            self._pair(tracker)

    def _pair(self, tracker: MotionTime) -> None:
        commands, objects = self._commands, self._objects
        if commands is None or objects is None or commands.stamp_ns != objects.stamp_ns:
            return
        try:
            tracker.set_reference(Reference(commands.stamp_ns, read_reference(self._system, commands, objects)))
            self._start = str(commands.stamp_ns)
        except InputError:
            self._drop(tracker)  # the node refuses it too

    def _drop(self, tracker: MotionTime) -> None:
        self._commands = self._objects = None
        self._start = ""
        tracker.set_reference(None)
