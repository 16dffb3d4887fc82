"""The way to a goal: error to go, share that is done, whether the object has arrived and stays, or was dropped."""

import numpy as np

from contact_mpc.model.rotations import rotation_log
from contact_mpc.ros.goals.goal import ObjectGoal
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig

LEAST_WAY = 1e-6  # deg or mm, by which the progress of a way of nothing is divided


class Way:
    """How the object fares on its way.

    Parameters
    ----------
    task : TaskConfig
        Its tolerances say when a goal is reached, drop_distance_m how far off its way it was dropped.
    settle_ns : int
        Within the tolerances for so long: arrived; as long off the way: dropped.

    Attributes
    ----------
    goal : ObjectGoal or None
        The goal that is gone to.
    angle_deg, distance_mm, progress : float
        Error to it, and the share of the way done, 0 to 1; NaN where there is none.
    off_m : float
        Distance of the object from the straight line between where it set off and its goal; NaN where there is none.
    """

    def __init__(self, task: TaskConfig, settle_ns: int) -> None:
        self._task, self._settle_ns = task, settle_ns
        self._whole = (1.0, 1.0)
        self._within_ns: int | None = None
        self._off_ns: int | None = None
        self._from_p = np.zeros(3)
        self.forget()

    def forget(self) -> None:
        """Go nowhere."""
        self.goal: ObjectGoal | None = None
        self.angle_deg = self.distance_mm = self.progress = self.off_m = float("nan")

    def set_off(self, goal: ObjectGoal, q: FloatArray) -> None:
        """Begin a way at the configuration q (n_q,)."""
        self.goal, self._within_ns, self._off_ns = goal, None, None
        self._from_p = self._task.system.object_pose(q)[1]
        angle_deg, distance_mm = self._errors(goal, q)
        self._whole = max(angle_deg, LEAST_WAY), max(distance_mm, LEAST_WAY)

    def measure(self, t_ns: int, q: FloatArray) -> None:
        """Take the configuration q (n_q,) at t_ns."""
        if self.goal is None:
            return
        self.angle_deg, self.distance_mm = self._errors(self.goal, q)
        left = max(self.angle_deg / self._whole[0], self.distance_mm / self._whole[1])
        self.progress = float(np.clip(1.0 - left, 0.0, 1.0))
        self._within_ns = (self._within_ns or t_ns) if self.is_within else None
        self.off_m = self._distance_from_way(self.goal, q)
        self._off_ns = (self._off_ns or t_ns) if self.off_m > self._task.drop_distance_m else None

    def lose_sight(self) -> None:
        """Note that nobody sees the object: it has neither arrived nor fallen before it has been seen there."""
        self._within_ns = self._off_ns = None

    @property
    def is_within(self) -> bool:
        """Whether the object is within the tolerances of its goal."""
        angle_deg, distance_mm = self.tolerances
        return self.angle_deg <= angle_deg and self.distance_mm <= distance_mm

    @property
    def tolerances(self) -> tuple[float, float]:
        """Of the goal, deg and mm; the task's where it has none."""
        goal, task = self.goal, self._task
        own = (0.0, 0.0) if goal is None else (goal.tolerance_deg, goal.tolerance_mm)
        return own[0] or task.tolerance_deg, own[1] or task.tolerance_mm

    def has_arrived(self, t_ns: int) -> bool:
        """Whether it has been within the tolerances for long enough."""
        return self._within_ns is not None and t_ns - self._within_ns >= self._settle_ns

    def has_dropped(self, t_ns: int) -> bool:
        """Whether it has been further than the task's drop_distance_m from its way for long enough."""
        return self._off_ns is not None and t_ns - self._off_ns >= self._settle_ns

    def __str__(self) -> str:
        return f"{self.angle_deg:.1f} deg and {self.distance_mm:.1f} mm from the goal"

    def _errors(self, goal: ObjectGoal, q: FloatArray) -> tuple[float, float]:
        R, p = self._task.system.object_pose(q)
        turn = rotation_log(np.ascontiguousarray(goal.R @ R.T))
        return float(np.rad2deg(np.linalg.norm(turn))), 1e3 * float(np.linalg.norm(goal.p - p))

    def _distance_from_way(self, goal: ObjectGoal, q: FloatArray) -> float:
        """Return how far the object is from the segment between where it set off and the goal, m."""
        p, whole = self._task.system.object_pose(q)[1] - self._from_p, goal.p - self._from_p
        done = float(np.clip(p @ whole / max(float(whole @ whole), np.finfo(float).tiny), 0.0, 1.0))
        return float(np.linalg.norm(p - done * whole))
