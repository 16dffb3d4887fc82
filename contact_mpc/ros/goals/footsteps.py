"""Where the references led since the object was at the task's start, so that a way back can lead along them.

Samples of configuration and commands, further apart than `NEAR_RAD`. A reference that comes near one of them again has
come back there: what lies between is forgotten, so that a way to and fro leaves nothing.
"""

import numpy as np

from contact_mpc.model.rotations import rotation_log
from contact_mpc.planning.way_back import Trail
from contact_mpc.ros.goals.running import Running
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig

NEAR_RAD = 0.02  # of the commands (m where joints are prismatic): the same place
START_RAD = 0.05  # of the joints: at the start
SAMPLE_S = 0.05


class Footsteps:
    """Samples of what was followed.

    Parameters
    ----------
    task : TaskConfig
        Its start is where the trail begins.
    """

    def __init__(self, task: TaskConfig) -> None:
        self._task = task
        self._q: list[FloatArray] = []
        self._u: list[FloatArray] = []
        self._seen_ns = 0

    def forget(self) -> None:
        """Know nothing: the object moved otherwise than by references."""
        self._q, self._u = [], []

    def begin(self, q: FloatArray) -> None:
        """Begin the trail where the measured configuration q (n_q,) is that of the task's start, if there is none."""
        if self._q or not self._is_at_start(q):
            return
        self._q, self._u = [self._task.start_q.copy()], [self._task.start_u.copy()]

    def follow(self, running: Running, t_ns: int) -> None:
        """Take what was followed until t_ns."""
        if not running.is_idle:
            first_s = max(running.time_s(self._seen_ns), 0.0)
            self._add(running, first_s, min(running.time_s(t_ns), running.end_s))
        self._seen_ns = t_ns

    def trail(self, running: Running, until_s: float | None = None) -> Trail | None:
        """Return the trail; with until_s also what will be followed by that time of what runs. None: not known."""
        if not self._q:
            return None
        kept = list(self._q), list(self._u)
        if until_s is not None:
            self._add(running, max(running.time_s(self._seen_ns), 0.0), until_s)
        trail = Trail(np.array(self._q), np.array(self._u))
        self._q, self._u = kept
        return trail

    def _add(self, running: Running, from_s: float, until_s: float) -> None:
        if not self._q or until_s <= from_s:
            return
        for t_s in np.linspace(from_s, until_s, 1 + int(np.ceil((until_s - from_s) / SAMPLE_S)))[1:]:
            self._step(*running.sample(float(t_s)))

    def _step(self, q: FloatArray, u: FloatArray) -> None:
        near = np.flatnonzero(np.abs(np.array(self._u) - u).max(axis=1) < NEAR_RAD)
        if len(near):
            del self._q[near[0] + 1 :], self._u[near[0] + 1 :]
        else:
            self._q.append(q.copy())
            self._u.append(u.copy())

    def _is_at_start(self, q: FloatArray) -> bool:
        task, system = self._task, self._task.system
        (R, p), (R_start, p_start) = system.object_pose(q), system.object_pose(task.start_q)
        angle = float(np.linalg.norm(rotation_log(np.ascontiguousarray(R @ R_start.T))))
        is_posture = np.abs(q - task.start_q)[system.n_q_u :].max() < START_RAD
        return bool(
            is_posture
            and np.rad2deg(angle) < task.tolerance_deg
            and 1e3 * np.linalg.norm(p - p_start) < task.tolerance_mm
        )
