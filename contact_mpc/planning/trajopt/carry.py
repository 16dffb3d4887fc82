"""Commands that push: the link nearest to the object first closes its gap, then moves as if it were welded to it.

What the object does then is left to the optimisation: a push is not held by forces that balance, so there is nothing to
roll along.
"""

import numpy as np

from contact_mpc.dynamics.smoothed.newton import measure_gaps
from contact_mpc.errors import PlanError
from contact_mpc.geometry.reach import LinkFrame, reach
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Pose
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.settings.arrays import FloatArray

STEPS = 10  # of inverse kinematics per instant


def carried_commands(system: System, q_ref: FloatArray, closing_share: float) -> FloatArray:
    """Return joint positions (T, n_a) at the instants 1 .. T of q_ref (T + 1, n_q), the objects' path from its start.

    The gap is closed in the first closing_share of them.

    Raises
    ------
    PlanError
        No link of a robot can touch the object.
    """
    q, T = q_ref[0].copy(), len(q_ref) - 1
    frame, closing_O = _pushing_link(system, q)
    X_WO, X_WT = _object(system, q), frame.pose(system, q)
    X_OT = Pose(X_WO.R.T @ X_WT.R, X_WO.R.T @ (X_WT.p - X_WO.p))
    found = []
    for k in range(1, T + 1):
        share = min(1.0, k / max(1.0, closing_share * T))
        X_WT = _object(system, q_ref[k]) @ Pose(X_OT.R, X_OT.p + share * closing_O)
        q, _ = reach(system, q, frame, X_WT, STEPS)
        found.append(q[system.n_q_u :].copy())
    return np.array(found)


def _pushing_link(system: System, q: FloatArray) -> tuple[LinkFrame, FloatArray]:
    """Return the middle of the robots' shape nearest to the object, and how it moves to touch, m, in the object."""
    scene = make_scene(system)
    gaps = np.array(measure_gaps(scene.model, scene.newton, q))
    gaps[scene.fingers < 0] = np.inf
    nearest = int(np.argmin(gaps))
    if not np.isfinite(gaps[nearest]):
        raise PlanError(f"{system.path}: no link of a robot has a shape that can push the object")
    item = system.geometries[system.pairs[system.contacts[nearest].pair].geometry_b]
    towards = scene.model.pairs.sign[nearest] * scene.newton.con.n[nearest]
    closing_W = max(0.0, gaps[nearest]) * towards
    return LinkFrame(item.body, item.X_BG), _object(system, q).R.T @ closing_W


def _object(system: System, q: FloatArray) -> Pose:
    return Pose(*system.object_pose(q))
