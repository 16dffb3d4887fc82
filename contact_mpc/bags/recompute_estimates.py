"""Recompute the state estimates of a bag and compare them with the recorded ones.

The inputs go to the same StateEstimator in the order in which the node takes them: before a joint state the object
poses that it names in `header.frame_id` (lockstep), or those received before it (realtime and foreign bags, where the
order at the recorder is only close to that at the estimator).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from contact_mpc.bags.record import RunRecord
from contact_mpc.errors import InputError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.state_estimator import StateEstimator
from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.object_motion import object_motion

Advance = Callable[[int], None]


@dataclass
class EstimateDifferences:
    """Largest absolute differences by quantity, and how many estimates were compared.

    Attributes
    ----------
    max_abs : dict
        By "q_a" (rad), "v_a" (rad/s), "rotation" (quaternion), "position" (m), "twist" (rad/s, m/s).
    compared, missing : int
        Estimates compared; recorded ones that the recomputation does not have.
    first_mismatch : str
        Where the tolerance was first exceeded; "" if nowhere.
    """

    max_abs: dict[str, float] = field(default_factory=dict)
    compared: int = 0
    missing: int = 0
    first_mismatch: str = ""

    @property
    def largest(self) -> float | None:
        """Largest of `max_abs`; None where nothing was compared."""
        return max(self.max_abs.values()) if self.compared else None


def recompute_estimates(
    record: RunRecord, system: System, config: EstimatorConfig, rate_hz: int, advance: Advance
) -> Iterator[EstimatedState]:
    """Yield the estimates that the node would publish at `rate_hz`; `advance` is told each joint state's number."""
    states = record.joint_states
    assert states is not None
    q_a = states.select("position", system.joint_names)
    v_a = states.select("velocity", system.joint_names) if states.velocity.shape[1] else None
    tau = states.select("effort", system.joint_names) if states.effort.shape[1] else None
    estimator, poses = StateEstimator(system, config), _PoseFeed(record)
    period_ns, last_tick = NS_PER_S // rate_hz, -1
    for row, t_ns in enumerate(states.t_ns.tolist()):
        poses.feed(estimator, int(states.pose_stamp_ns[row]), int(states.receive_ns[row]))
        tick = t_ns // period_ns
        if tick != last_tick or v_a is None:
            try:
                estimator.update_joints(
                    t_ns, q_a[row], None if v_a is None else v_a[row], None if tau is None else tau[row]
                )
            except InputError:
                continue  # the node refuses it too, and goes on
        if tick != last_tick:
            last_tick = tick
            state = estimator.estimate(t_ns)
            if state is not None:
                yield state
        advance(row)


def compare_estimates(
    record: RunRecord, system: System, states: Iterator[EstimatedState], tolerance: float
) -> EstimateDifferences:
    """Compare recomputed estimates with the recorded ones of the same stamp."""
    joints, odometry = record.estimated_joints, record.estimated_odom
    assert joints is not None and odometry is not None
    rows = {stamp: row for row, stamp in enumerate(joints.t_ns.tolist())}
    poses = {stamp: row for row, stamp in enumerate(odometry.t_ns.tolist())}
    q_a, v_a = joints.select("position", system.joint_names), joints.select("velocity", system.joint_names)
    found = EstimateDifferences()
    for state in states:
        if state.t_ns not in rows or state.t_ns not in poses:
            continue
        row, pose = rows[state.t_ns], poses[state.t_ns]
        motion = object_motion(system, state)
        wxyz = matrix_to_quaternion(motion.R_WB)
        recorded = odometry.quaternion_wxyz[pose]
        differences = {
            "q_a": state.q[system.n_q_u :] - q_a[row],
            "v_a": state.v[system.n_v_u :] - v_a[row],
            "rotation": wxyz * np.sign(wxyz @ recorded) - recorded,
            "position": motion.p_WB - odometry.position_m[pose],
            "twist": np.roll(motion.V_WB, 3) - odometry.twist[pose],
        }
        _note(found, state.t_ns, differences, tolerance)
        if joints.notes[row] not in ("", state.status) and not found.first_mismatch:
            found.first_mismatch = _at(state.t_ns) + f"status is {state.status}, recorded {joints.notes[row]}"
    found.missing = len(rows) - found.compared
    return found


def _note(found: EstimateDifferences, t_ns: int, differences: dict[str, FloatArray], tolerance: float) -> None:
    found.compared += 1
    for key, difference in differences.items():
        largest = float(np.max(np.abs(difference)))
        found.max_abs[key] = max(found.max_abs.get(key, 0.0), largest)
        if not largest <= tolerance and not found.first_mismatch:
            found.first_mismatch = _at(t_ns) + f"{key} differs by {largest:.3g}"


def _at(t_ns: int) -> str:
    return f"estimate at {t_ns * 1e-9:.3f} s: "


class _PoseFeed:
    """Hands the recorded object poses to an estimator in the order in which the node took them."""

    def __init__(self, record: RunRecord) -> None:
        series = record.object_pose
        assert series is not None
        self._series = series
        self._next = 0

    def feed(self, estimator: StateEstimator, named_ns: int, receive_ns: int) -> None:
        """Hand over the poses up to the stamp that a joint state names, or received before it where it names none."""
        series = self._series
        while self._next < len(series):
            row = self._next
            is_due = series.t_ns[row] <= named_ns if named_ns >= 0 else series.receive_ns[row] <= receive_ns
            if not is_due:
                return
            self._next += 1
            wxyz = series.quaternion_wxyz[row]
            try:
                R_WB = quaternion_to_matrix(wxyz / float(np.linalg.norm(wxyz)))
                estimator.update_object_pose(int(series.t_ns[row]), R_WB, series.position_m[row])
            except InputError:
                continue  # the node refuses it too, and goes on
