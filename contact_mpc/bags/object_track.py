"""The object's way through a run against the task: goal, reference, truth, estimate and their errors over time.

The truth is `plant/object_odom`. A bag without it (hardware) is judged by the estimate, and says so. The object frame
at the start is that of the task's start posture, not the measured one, so that a start offset counts as an error.

Where the reference stood still because the bridge held, it is compared with as late, and a run in realtime, which goes
on for as much longer, is judged as much later; in lockstep a run has its length.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contact_mpc.bags.poses import IntArray, angles_deg, interpolate, interpolate_quaternions, rotation_vectors
from contact_mpc.bags.record import OdometrySeries, RunRecord
from contact_mpc.errors import BagError
from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.task import TaskConfig
from contact_mpc.task.waiting import read_waiting

COMPLETION_TOLERANCE_NS = 50_000_000  # a realtime run may stop a few steps before the end of the hold


@dataclass(frozen=True)
class PoseTrack:
    """Poses of the object at stamps t_ns: quaternions wxyz (n, 4) and positions (n, 3), m, in W."""

    t_ns: IntArray
    quaternion_wxyz: FloatArray
    position_m: FloatArray

    def at(self, t_ns: IntArray) -> "PoseTrack":
        """Return the poses interpolated at other stamps, held constant outside."""
        return PoseTrack(
            t_ns,
            interpolate_quaternions(t_ns, self.t_ns, self.quaternion_wxyz),
            interpolate(t_ns, self.t_ns, self.position_m),
        )


@dataclass(frozen=True)
class ObjectEvaluation:
    """The object's tracks and errors.

    Attributes
    ----------
    start, goal : PoseTrack
        One pose each: the task's start and goal.
    reference, estimate, truth : PoseTrack or None
        None where the bag has no such topic; the reference with the times at which it stood still.
    source : str
        "plant" or "estimate": which track is judged.
    start_ns, motion_end_ns, end_ns : int
        Stamps of the start of the motion, its end, and the end of the hold.
    waited_s : float
        For how long the reference stood still, because the bridge held.
    goal_angle_deg, goal_distance_m : (n,) array
        Error of the judged track against the goal.
    reference_distance_m : (n,) array
        Distance of the judged track from the reference at the same time (from the goal without a reference).
    """

    start: PoseTrack
    goal: PoseTrack
    reference: PoseTrack | None
    estimate: PoseTrack | None
    truth: PoseTrack | None
    source: str
    start_ns: int
    motion_end_ns: int
    end_ns: int
    waited_s: float
    goal_angle_deg: FloatArray
    goal_distance_m: FloatArray
    reference_distance_m: FloatArray

    @property
    def judged(self) -> PoseTrack:
        """The track that the errors belong to."""
        track = self.truth if self.source == "plant" else self.estimate
        assert track is not None
        return track

    @property
    def final_index(self) -> int:
        """Index of the last judged sample that is not after the end of the hold."""
        return max(int(np.searchsorted(self.judged.t_ns, self.end_ns, side="right")) - 1, 0)

    @property
    def turn_axis_W(self) -> FloatArray:
        """Unit axis in W of the turn from start to goal; z where the goal has the orientation of the start."""
        vector = rotation_vectors(self.goal.quaternion_wxyz, self.start.quaternion_wxyz)[0]
        angle = float(np.linalg.norm(vector))
        return vector / angle if angle > 1e-9 else np.array([0.0, 0.0, 1.0])

    @property
    def is_complete(self) -> bool:
        """Whether the bag reaches the end of the hold."""
        return bool(self.judged.t_ns[-1] >= self.end_ns - COMPLETION_TOLERANCE_NS)


def evaluate_object(record: RunRecord, task: TaskConfig) -> ObjectEvaluation:
    """Compare the object's recorded way with the task.

    Raises
    ------
    BagError
        The bag holds neither the true nor the estimated pose of the object.
    """
    truth, estimate = _track(record.plant_odom), _track(record.estimated_odom)
    judged = truth if truth is not None else estimate
    if judged is None:
        raise BagError(
            f"{record.path}: no messages on plant/object_odom or state_estimator/object_odom, so the object's way is "
            f"unknown; it has {', '.join(record.topics)}; record one of the two"
        )
    start, goal = task_poses(task)
    started = [message.stamp_ns for message in record.references if len(message.times_s)]
    start_ns = started[-1] if started else int(judged.t_ns[0])
    waited_ns = _waited_ns(record, start_ns, judged.t_ns)
    reference = _reference(record, judged.t_ns, waited_ns)
    hold_ns = round(task.hold_s * NS_PER_S)
    motion_end_ns = start_ns + round(task.duration_s * NS_PER_S)
    end_ns = motion_end_ns + hold_ns
    if record.metadata.get("clock") == "realtime":
        motion_end_ns, end_ns = (_later_ns(instant, judged.t_ns, waited_ns) for instant in (motion_end_ns, end_ns))
    goal_angle_deg = angles_deg(judged.quaternion_wxyz, goal.quaternion_wxyz)
    goal_distance_m = np.linalg.norm(judged.position_m - goal.position_m, axis=1)
    if task.has_open_end:
        is_met = (goal_angle_deg <= task.tolerance_deg) & (1e3 * goal_distance_m <= task.tolerance_mm)
        settled_ns = _settled_ns(judged.t_ns, is_met, hold_ns)
        motion_end_ns, end_ns = min(motion_end_ns, settled_ns), min(end_ns, settled_ns + hold_ns)
    followed = goal if reference is None else reference
    return ObjectEvaluation(
        start=start,
        goal=goal,
        reference=reference,
        estimate=estimate,
        truth=truth,
        source="plant" if truth is not None else "estimate",
        start_ns=start_ns,
        motion_end_ns=motion_end_ns,
        end_ns=end_ns,
        waited_s=float(waited_ns[-1]) / NS_PER_S,
        goal_angle_deg=goal_angle_deg,
        goal_distance_m=goal_distance_m,
        reference_distance_m=np.linalg.norm(judged.position_m - followed.at(judged.t_ns).position_m, axis=1),
    )


def _settled_ns(t_ns: IntArray, is_met: NDArray[np.bool_], hold_ns: int) -> int:
    """Return from when on the goal was met at t_ns (n,) for hold_ns, for the last time; the end of time where never."""
    unmet = np.flatnonzero(~is_met)
    first = int(unmet[-1]) + 1 if len(unmet) else 0
    held = first < len(t_ns) and int(t_ns[-1]) - int(t_ns[first]) >= hold_ns
    return int(t_ns[-1]) - hold_ns if held else int(np.iinfo(np.int64).max)


def task_poses(task: TaskConfig) -> tuple[PoseTrack, PoseTrack]:
    """Return start and goal of the object, one pose each."""
    start, goal = (_single_pose(*task.goal_pose(fraction)) for fraction in (0.0, 1.0))
    return start, goal


def _single_pose(R_WB: FloatArray, p_WB: FloatArray) -> PoseTrack:
    wxyz = matrix_to_quaternion(np.ascontiguousarray(R_WB))
    return PoseTrack(np.zeros(1, dtype=np.int64), wxyz[None], np.array(p_WB)[None])


def _track(series: OdometrySeries | None) -> PoseTrack | None:
    if series is None or not len(series):
        return None
    return PoseTrack(series.t_ns, series.quaternion_wxyz, series.position_m)


def _waited_ns(record: RunRecord, start_ns: int, t_ns: IntArray) -> IntArray:
    """Return for how long the reference that starts at start_ns had stood still at t_ns (n,), ns.

    Between two solves of which the later one says so it stood still for the last part of the time.
    """
    solves = [(item.stamp_ns, read_waiting(item.values)) for item in record.solve_status if item.stamp_ns is not None]
    said = sorted((stamp, waiting[1]) for stamp, waiting in solves if waiting is not None and waiting[0] == start_ns)
    if not said:
        return np.zeros(len(t_ns), dtype=np.int64)
    stamps, waited_ns = np.array(said, dtype=np.int64).T
    later = np.minimum(np.searchsorted(stamps, t_ns), len(stamps) - 1)
    before = np.where(later > 0, waited_ns[np.maximum(later - 1, 0)], 0)
    return np.where(t_ns < stamps[0], 0, np.maximum(waited_ns[later] - np.maximum(stamps[later] - t_ns, 0), before))


def _later_ns(instant_ns: int, t_ns: IntArray, waited_ns: IntArray) -> int:
    """Return when a motion that had waited by t_ns (n,) for waited_ns (n,) is where it else had been at an instant."""
    reached = np.flatnonzero(t_ns - waited_ns >= instant_ns)
    return instant_ns + int(waited_ns[reached[0] if len(reached) else -1])


def _reference(record: RunRecord, t_ns: IntArray, waited_ns: IntArray) -> PoseTrack | None:
    """Return the last object reference that was started; one without points cancels, it moves nothing.

    One that had stood still by t_ns (n,) for waited_ns (n,) is given at those stamps.
    """
    started = [message for message in record.object_references if len(message.times_s)]
    if not started:
        return None
    last = started[-1]
    planned_ns = last.stamp_ns + np.round(last.times_s * NS_PER_S).astype(np.int64)
    planned = PoseTrack(planned_ns, last.quaternion_wxyz[:, 0], last.position_m[:, 0])
    if not waited_ns.any():
        return planned
    return replace(planned.at(t_ns - waited_ns), t_ns=t_ns)


def configurations(record: RunRecord, system: System, evaluation: ObjectEvaluation, t_ns: IntArray) -> FloatArray:
    """Return q (n, n_q) of measured joints and judged objects."""
    states = record.joint_states
    assert states is not None
    q_a = interpolate(t_ns, states.t_ns, states.select("position", system.joint_names))
    track, q, rows = evaluation.judged.at(t_ns), np.array(system.q_default), []
    for k in range(len(t_ns)):
        q[system.n_q_u :] = q_a[k]
        R_WO = quaternion_to_matrix(track.quaternion_wxyz[k])
        q[: system.n_q_u] = system.q_from_object_pose(R_WO, track.position_m[k], q)
        rows.append(q.copy())
    return np.array(rows)
