"""An arm that presses with several of its links at once: joints at which each of them is one gap from the object.

Gauss-Newton on the gaps phi_k of the nearest contact of every link, dq_a = -J^T (J J^T + lambda 1)^-1 (phi - gap), with
J = d phi / d q_a of the arm's own joints: of the postures that touch, one near where it began.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.geometry.fingers import normal_jacobian
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.scene import Scene
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
STEPS, STEP_RAD = 30, 0.3  # of Gauss-Newton, and the most that a joint moves in one of them
DAMPING = 1e-6  # lambda, m^2/rad^2
ACCURACY_M = 1e-5  # of a gap


def press_with_all(
    system: System,
    scene: Scene,
    q: FloatArray,
    joints: IntArray,
    links: tuple[IntArray, ...],
    gap_m: float | FloatArray,
) -> bool:
    """Move joints (n,) in q (n_q,) until each link is `gap_m` from the object; False, with q anywhere, if none do.

    Parameters
    ----------
    scene : Scene
        Of the arm's contacts.
    joints : (n,) array
        Indices into q_a.
    links : tuple of arrays
        Contacts of the scene, per link.
    gap_m : float or (n_links,) array
        One for all links, or one each.
    """
    low, high, first = system.q_min[joints], system.q_max[joints], system.n_q_u
    for _ in range(STEPS):
        gaps = scene.gaps(q)
        rows = np.array([contacts[np.argmin(gaps[contacts])] for contacts in links])
        missing = gaps[rows] - gap_m
        if np.all(np.abs(missing) < ACCURACY_M):
            return True
        J = normal_jacobian(scene.model.pairs, scene.newton.con, rows, system.n_v)[:, system.n_v_u + joints]
        step = J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(len(rows)), -missing)
        step *= min(1.0, STEP_RAD / max(float(np.abs(step).max()), 1e-12))
        q[first + joints] = np.clip(q[first + joints] + step, low, high)
    return False
