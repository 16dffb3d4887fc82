"""Inverse kinematics of a frame on a robot's link: damped least squares with clipped steps, within the joint limits."""

from dataclasses import dataclass

import numpy as np

from contact_mpc.model.kinematics import forward_kinematics, frame_jacobian
from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray

LENGTH_M = 0.1  # at which an angle counts as much as a distance
DAMPING = 1e-3  # of the squares
MOST_STEP_RAD = 0.2
ENOUGH = 1e-7  # weighted error, m


@dataclass(frozen=True)
class LinkFrame:
    """A frame T at rest in a body B of the tree."""

    body: int
    X_BT: Pose

    def pose(self, system: System, q: FloatArray) -> Pose:
        """Return X_WT at q (n_q,)."""
        R, p = forward_kinematics(system.tree, q)
        return Pose(R[self.body], p[self.body]) @ self.X_BT

    def jacobian(self, system: System, q: FloatArray) -> FloatArray:
        """Return J (6, n_a): turn and displacement of the frame in the world for a motion of the robots' joints."""
        return frame_jacobian(system.tree, q, self.body, self.X_BT.p)[:, system.n_v_u :]


def reach(
    system: System, q: FloatArray, frame: LinkFrame, X_WT: Pose, steps: int, free_axis: bool = False, room: float = 0.02
) -> tuple[FloatArray, float]:
    """Return q with the frame as near as can be to X_WT, and how far it stays off, m.

    Parameters
    ----------
    q : (n_q,) array
        Where the iteration begins.
    steps : int
        At most so many.
    free_axis : bool
        Whether the frame may turn about its own z axis.
    room : float
        Distance from the joint limits, rad (m).
    """
    first, q = system.n_q_u, q.copy()
    low, high = system.q_min + room, system.q_max - room
    off = np.inf
    for _ in range(steps + 1):
        found = frame.pose(system, q)
        turn = rotation_log(np.ascontiguousarray(X_WT.R @ found.R.T))
        rows = np.vstack([LENGTH_M * np.eye(3, 6), np.eye(3, 6, 3)])
        if free_axis:  # what turns about the frame's own z axis counts for nothing
            rows[:3, :3] -= LENGTH_M * np.outer(found.R[:, 2], found.R[:, 2])
        error = rows @ np.concatenate([turn, X_WT.p - found.p])
        off = float(np.linalg.norm(error))
        if off < ENOUGH:
            break
        J = rows @ frame.jacobian(system, q)
        step = J.T @ np.linalg.solve(J @ J.T + DAMPING * off * np.eye(6) + 1e-12 * np.eye(6), error)
        step *= min(1.0, MOST_STEP_RAD / max(float(np.max(np.abs(step))), 1e-12))
        q[first:] = np.clip(q[first:] + step, low, high)
    return q, off
