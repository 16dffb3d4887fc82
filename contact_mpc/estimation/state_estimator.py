"""State of the whole system from joint states and delayed, noisy object poses.

Joints are taken as measured; each object has its own pose filter (contact_mpc.estimation.pose_filter), which lives
at the stamps of the poses and is carried to the time asked for, by its own velocity and by what the joints' motion says
through the contacts (contact_mpc.estimation.carried_motion). The estimate is a pure function of the sequence of
inputs and their stamps: no wall clock, no randomness, so that a recorded run gives the same estimates again.
"""

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.estimation.camera_timing import CameraTiming
from contact_mpc.estimation.carried_history import CarriedHistory
from contact_mpc.estimation.carried_motion import ContactCarry
from contact_mpc.estimation.charts import build_charts
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.joint_filter import JointFilter, JointSample
from contact_mpc.estimation.pose_filter import Carried, PoseFilter
from contact_mpc.estimation.touch_correction import TouchCorrection
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import EstimatedState

ORTHONORMALITY_TOLERANCE = 1e-6  # a rotation from a quaternion rounded to float32 is orthonormal to about 1e-7
HISTORY_S = 1.0  # of carried motion beyond the longest dropout: for poses that come late
SPEED_MARGIN, JOINT_SLACK = (
    2.0,
    0.01,
)  # of velocity limits, -, and rad (m): what moves further between two states is untrue
WARM_UP_NS = (0, 10_000_000, 20_000_000)


class StateEstimator:
    """Estimates q and v of all objects and robots in the world frame.

    Parameters
    ----------
    system : System
        Names, index maps and object kinematics.
    config : EstimatorConfig
        Noise, gates and time limits.
    """

    def __init__(self, system: System, config: EstimatorConfig | None = None) -> None:
        self._system = system
        self._config = config or EstimatorConfig()
        self.time_jumps = 0
        self.late_joints = 0
        self._carry = ContactCarry(system, self._config.carry_reach_m) if self._config.contact_carry else None
        self._touch = None
        if self._config.touch:
            self._touch = TouchCorrection(system, self._config.touch_torque_noise_nm, self._config.touch_noise_m)
        self.reset()

    def warm_up(self) -> EstimatedState:
        """Compile, or load what is compiled, by measurements at the default configuration, and forget them.

        Returns the last estimate, for the warm-up of what comes after it.
        """
        system, q = self._system, self._system.q_default
        for t_ns in WARM_UP_NS:
            self.update_joints(t_ns, q[system.n_q_u :], None, None)
            for index in range(len(system.object_names)):
                self.update_object_pose(t_ns, *system.object_pose(q, index), index)
            state = self.estimate(t_ns)
        assert state is not None
        if self._carry is not None:
            self._carry.warm_up()
        if self._touch is not None:
            self._touch.warm_up()
        self.reset()
        return state

    def reset(self) -> None:
        """Forget all measurements; the counters of time jumps and late joints stay."""
        self._joints = JointFilter(self._system.joint_names, self._config.joint_velocity_filter_s)
        self._carried = CarriedHistory(self._system.n_v_u, self._config.carry_through_s + HISTORY_S)
        self.timings = [CameraTiming() for _ in self._system.object_names]
        charts = build_charts(self._system)
        stops = np.cumsum([chart.n for chart in charts]).tolist()
        self._slices = [slice(stop - chart.n, stop) for chart, stop in zip(charts, stops, strict=True)]
        self._filters = [
            PoseFilter(chart, self._config, self._carried_part(part), timing)
            for chart, part, timing in zip(charts, self._slices, self.timings, strict=True)
        ]
        self._verdicts = ["accepted"] * len(self._filters)

    @property
    def outliers(self) -> int:
        """Count of poses left out by the gate."""
        return sum(item.outliers for item in self._filters)

    @property
    def late_poses(self) -> int:
        """Count of poses left out because a newer one had been taken."""
        return sum(item.late for item in self._filters)

    def update_joints(
        self, t_ns: int, q_a: FloatArray, v_a: FloatArray | None = None, tau: FloatArray | None = None
    ) -> None:
        """Take a joint state in the order of `System.joint_names`.

        Parameters
        ----------
        t_ns : int
            Its stamp. One not newer than the last is left out and counted; one further back than
            `clock_tolerance_s` restarts the estimator (a simulation that started again).
        q_a : (n_a,) array
            Position, rad (m).
        v_a : (n_a,) array, optional
            Velocity, rad/s; None, empty or all NaN: derived from q_a.
        tau : (n_a,) array, optional
            Torque, N m; None, empty or all NaN: unknown, reported as NaN.

        Raises
        ------
        InputError
            Wrong length or not finite; nothing is taken then.
        """
        last = self._joints.sample
        if last is not None and t_ns <= last.t_ns:
            if last.t_ns - t_ns <= self._config.clock_tolerance_s * NS_PER_S:
                self.late_joints += 1
                return
            self.time_jumps += 1
            self.reset()
        self._joints.update(t_ns, q_a, v_a, tau)
        if last is not None and self._joints.sample is not None and self._carry is not None:
            self._carry_objects(last, self._joints.sample)

    def _carried_part(self, part: slice) -> Carried:
        def carried(from_ns: int, to_ns: int) -> tuple[FloatArray, float]:
            displacement, known = self._carried.between(from_ns, to_ns)
            return displacement[part], known

        return carried

    def _carry_objects(self, before: JointSample, now: JointSample) -> None:
        """Note how the joints' motion since the last sample carries the objects; a longer gap carries nothing.

        Nor does a motion that no joint can make: displacements are summed up, and one of 1e300 rad would stay for ever.
        """
        elapsed_s = (now.t_ns - before.t_ns) / NS_PER_S
        is_gap = elapsed_s > self._config.joints_stale_after_s
        is_untrue = np.any(np.abs(now.q - before.q) > SPEED_MARGIN * self._system.v_max * elapsed_s + JOINT_SLACK)
        if self._carry is None or is_gap or is_untrue or any(item.state is None for item in self._filters):
            return
        x = [item.predict_mean(before.t_ns) for item in self._filters]
        q = np.concatenate([*x, 0.5 * (before.q + now.q)])
        dx = self._carry.displacement(q, now.q - before.q)
        if dx is not None:
            self._carried.add(before.t_ns, now.t_ns, dx)

    def update_object_pose(
        self,
        stamp_ns: int,
        R_WB: FloatArray,
        p_WB: FloatArray,
        object_index: int = 0,
        deviations: tuple[float, float] | None = None,
    ) -> None:
        """Take a pose X_WB = (R_WB (3, 3), p_WB (3,) m) measured at stamp_ns, whenever it arrives.

        Its standard deviations per axis, rad and m, are those of the config unless the camera says them.

        Raises
        ------
        InputError
            No such object, wrong shape, not finite, no rotation, or stamped further ahead of the joint states than
            `clock_tolerance_s`; nothing is taken then.
        """
        name = self._object_name(object_index)
        R, p = _check_pose(name, R_WB, p_WB)
        last = self._joints.sample
        if last is not None and self.is_ahead(stamp_ns):
            raise InputError(
                f"pose of '{name}' is stamped {(stamp_ns - last.t_ns) * 1e-9:.3f} s ahead of the joint states, allowed "
                f"clock_tolerance_s = {self._config.clock_tolerance_s} s; synchronise the clocks of camera and robot"
            )
        self.timings[object_index].note(stamp_ns, None if last is None else last.t_ns)
        self._verdicts[object_index] = self._filters[object_index].update(stamp_ns, R, p, deviations)

    def is_ahead(self, stamp_ns: int) -> bool:
        """Whether a stamp is further ahead of the newest joint state than clocks may be apart."""
        last = self._joints.sample
        return last is not None and stamp_ns - last.t_ns > self._config.clock_tolerance_s * NS_PER_S

    def estimate(self, t_ns: int) -> EstimatedState | None:
        """Return the state at t_ns; None until joints and a pose of every object were seen.

        The status is "ok" or the first that holds of "joints_stale", "pose_stale" (poses are missing, and nothing else
        tells where an object is), "pose_carried" (they are missing, and contacts tell), "pose_outlier",
        "pose_restarted". Robot joints are those of the newest joint state; objects are predicted to t_ns.
        """
        joints = self._joints.sample
        if joints is None or any(item.state is None for item in self._filters):
            return None
        predicted = [item.predict(t_ns) for item in self._filters]
        q = np.concatenate([x for x, _, _ in predicted] + [joints.q])
        v = np.concatenate([rate for _, rate, _ in predicted] + [joints.v])
        v[: self._system.n_v_u] += self._carried.velocity(t_ns)
        covariance = _block_diagonal([P for _, _, P in predicted])
        if self._touch is not None:
            q, covariance = self._touch.correct(q, covariance, joints.tau)
        status = self._status(t_ns, joints, [P for _, _, P in predicted])
        return EstimatedState(t_ns, q, v, joints.tau, covariance, status)

    def _status(self, t_ns: int, joints: JointSample, covariances: list[FloatArray]) -> str:
        if t_ns - joints.t_ns > self._config.joints_stale_after_s * NS_PER_S:
            return "joints_stale"
        stale = [(item, P) for item, P in zip(self._filters, covariances, strict=True) if item.is_stale(t_ns)]
        if stale:
            return "pose_carried" if all(item.is_carried(t_ns, P) for item, P in stale) else "pose_stale"
        for verdict in ("outlier", "restarted"):
            if verdict in self._verdicts:
                return f"pose_{verdict}"
        return "ok"

    def _object_name(self, index: int) -> str:
        names = self._system.object_names
        if not 0 <= index < len(names):
            raise InputError(f"object_index {index} is outside 0..{len(names) - 1} of {', '.join(names)}")
        return names[index]


def _check_pose(name: str, R_WB: FloatArray, p_WB: FloatArray) -> tuple[FloatArray, FloatArray]:
    R, p = np.array(R_WB, dtype=float), np.array(p_WB, dtype=float)
    if R.shape != (3, 3) or p.shape != (3,):
        raise InputError(f"pose of '{name}': R {R.shape}, p {p.shape}; expected (3, 3) and (3,)")
    if not (np.isfinite(R).all() and np.isfinite(p).all()):
        raise InputError(f"pose of '{name}' is not finite: R = {R.tolist()}, p = {p.tolist()}")
    if np.abs(R @ R.T - np.eye(3)).max() > ORTHONORMALITY_TOLERANCE or np.linalg.det(R) < 0.0:
        raise InputError(f"pose of '{name}': R = {R.tolist()} is no rotation; normalise the quaternion first")
    return R, p


def _block_diagonal(blocks: list[FloatArray]) -> FloatArray:
    if len(blocks) == 1:
        return blocks[0]
    n = sum(block.shape[0] for block in blocks)
    result, start = np.zeros((n, n)), 0
    for block in blocks:
        stop = start + block.shape[0]
        result[start:stop, start:stop] = block
        start = stop
    return result
