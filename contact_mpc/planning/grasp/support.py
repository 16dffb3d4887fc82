"""What an object is put down on: the contacts that no finger moves, and where it lies on them."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from contact_mpc.dynamics.smoothed.newton import prepare_step
from contact_mpc.geometry.extent import to_all_sides
from contact_mpc.geometry.fingers import normal_jacobian
from contact_mpc.model.lengths import tangent_lengths
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.scene import Scene
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
ACCURACY_M = 1e-6  # of the gap to what it lies on
FURTHEST_M = 1.0  # below an object, of what it may lie on
STEPS = 200  # up and down, before it is said that it lies on nothing
TOUCHING_M = 2e-4  # further than the nearest contact: what an object lies on at once


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


def unbalanced_share(system: System, scene: Scene, q: FloatArray) -> float:
    """Return the share of the objects' weight that forces of what is nearest below leave unbalanced at q (n_q,), -.

    min over f_n >= 0 of |J_n' f_n + tau_u| / |tau_u|, without friction, torques over `tangent_lengths`: the sine of the
    slope under a ball, how far a box's centre of mass is beyond the edge. 1 where nothing is below.
    """
    model, ws, supports = scene.model, scene.newton, scene.supports
    if not len(supports):
        return 1.0
    prepare_step(model, ws, q, q[system.n_q_u :].copy(), np.zeros(len(model.mu)))
    gaps, lengths = ws.con.phi[supports], tangent_lengths(system)[: system.n_v_u]
    rows = supports[gaps < gaps.min() + TOUCHING_M]
    J_n = normal_jacobian(model.pairs, ws.con, rows, system.n_v)[:, : system.n_v_u] / lengths
    weight = ws.b[: system.n_v_u] / lengths
    return float(nnls(J_n.T, weight)[1] / np.linalg.norm(weight))


def is_at_rest(system: System, scene: Scene, q: FloatArray, gap_m: float, margin_m: float, most_share: float) -> bool:
    """Whether an object that lies at q (n_q,) stays there when all fingers go, and also where it is `margin_m` beside.

    Nothing is asked of it where nothing holds it up or draws it down.
    """
    up = upwards(system, scene.fingers)
    if not np.any(up):
        return True
    R, p = system.object_pose(q)
    for offset in to_all_sides(up, margin_m):
        moved = q.copy()
        moved[: system.n_q_u] = system.q_from_object_pose(R, p + offset, q)
        if unbalanced_share(system, scene, lie_down(system, scene, moved, gap_m)) > most_share:
            return False
    return True
