"""What an object is put down on: the contacts that no finger moves, and where it lies on them."""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.system import System
from contact_mpc.planning.grasp.scene import Scene
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
ACCURACY_M = 1e-6  # of the gap to what it lies on
FURTHEST_M = 1.0  # below an object, of what it may lie on
STEPS = 200  # up and down, before it is said that it lies on nothing


def nearest_support(scene: Scene, q: FloatArray) -> tuple[float, FloatArray] | None:
    """Return the gap, m, to the nearest support at q (n_q,) and its normal (3,), in W, towards the object.

    None in a system where nothing but fingers can touch the object.
    """
    contacts = scene.supports
    if not len(contacts):
        return None
    gaps = scene.gaps(q)
    nearest = contacts[np.argmin(gaps[contacts])]
    return float(gaps[nearest]), scene.newton.con.n[nearest].copy()


def upwards(system: System, fingers: IntArray) -> FloatArray:
    """Return the direction (3,), in W, in which an object is lifted; 0 where nothing holds it up or draws it down.

    fingers is (n_c,) of `finger_of_pairs`.
    """
    gravity = np.array(system.config.gravity_m_s2)
    if not np.any(gravity) or not np.any(fingers < 0):
        return np.zeros(3)
    return np.asarray(-gravity / np.linalg.norm(gravity))


def lie_down(system: System, scene: Scene, q: FloatArray, gap_m: float) -> FloatArray:
    """Return q (n_q,) with the object lifted or lowered to `gap_m` over what is below it, not turned.

    It goes down by as much as it is away from all supports, so that it passes none. Where nothing is below, it stays.
    """
    up = upwards(system, scene.fingers)
    if not np.any(up):
        return q
    laid = q.copy()
    R, p = system.object_pose(q)
    for _ in range(STEPS):
        found = nearest_support(scene, laid)
        missing = gap_m - found[0] if found is not None else 0.0
        if abs(missing) < ACCURACY_M:
            return laid
        if missing < -FURTHEST_M:
            break
        p = p + missing * up
        laid[: system.n_q_u] = system.q_from_object_pose(R, p, laid)
    return q
