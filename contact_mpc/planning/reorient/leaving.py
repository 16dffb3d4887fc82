"""Fingers that let an object go and touch it anew, whatever its size.

Nominal shapes are off by half of what an object's size is off: fingers that hold a larger one are at a gap from the
nominal. That gap, measured while they hold, is how far from the nominal object they touch. What moves them away adds
it, and so does what brings them to the next grasp: they leave as far, and press as much, as on the nominal object.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.geometry.fingers import closest_pair_per_finger, contact_jacobian
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.pressing import press_with_all
from contact_mpc.planning.grasp.scene import Scene
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
STEPS = 100  # away from the object, at most


class LeavingFingers:
    """The fingers of one grasp, on their way from an object and to it.

    Parameters
    ----------
    system, scene : System, Scene
        Hand and object; the scene's workspace is overwritten.
    grips : (n,) array of int
        Contacts that hold in the grasp, one per finger.
    config : ReorientationConfig
        Steps, and the largest gap at which a finger may touch.
    """

    def __init__(self, system: System, scene: Scene, grips: IntArray, config: ReorientationConfig) -> None:
        self._system, self._scene, self._grips, self._config = system, scene, grips, config
        self._links = tuple(np.flatnonzero(scene.links == scene.links[c]) for c in grips)

    def touch_gaps(self, q: FloatArray) -> FloatArray:
        """Return the gaps (n_c,), m, of nominal shapes at which the fingers that hold at q (n_q,) really touch.

        An object that is larger than the nominal one is touched at a gap: to leave it, fingers go that much further.
        """
        fingers, touch_m = self._scene.fingers, np.zeros(len(self._scene.fingers))
        for c, gap_m in zip(self._grips, self._closest(q), strict=True):
            if abs(gap_m) < self._config.most_touch_gap_m:
                touch_m[fingers == fingers[c]] = gap_m
        return touch_m

    def fit(self, q: FloatArray, touch_m: FloatArray) -> FloatArray:
        """Return q (n_q,), which touches the nominal object, with fingers that touch at gaps `touch_m` (n_c,) instead.

        As it is where they do not reach there.
        """
        system, fitted, gap_m = self._system, q.copy(), self._closest(q) + touch_m[self._grips]
        return fitted if press_with_all(system, self._scene, fitted, np.arange(system.n_a), self._links, gap_m) else q

    def _closest(self, q: FloatArray) -> FloatArray:
        """Return the gap (n,), m, of each link that grips, at q (n_q,)."""
        gaps = self._scene.gaps(q)
        return np.array([gaps[rows].min() for rows in self._links])

    def leave(self, q: FloatArray, clearance_m: float, touch_m: FloatArray) -> FloatArray:
        """Return q (n_q,) with every finger moved away from the object, straight along the normals of its contacts.

        It ends `clearance_m` over the gaps at which it touches, `touch_m` (n_c,). Each link is moved on its own: a
        knuckle that can hardly leave must not keep the tip from it.
        """
        system, q = self._system, q.copy()
        first = system.n_q_u
        for _ in range(STEPS):
            gaps = np.where(self._scene.fingers >= 0, self._scene.gaps(q) - touch_m, np.inf)
            near = closest_pair_per_finger(self._scene.links, gaps, clearance_m)
            if not len(near):
                break
            for c in near:
                J = contact_jacobian(self._scene.model.pairs, self._scene.newton.con, c, system.n_v)[:, system.n_v_u :]
                step = self._config.retreat_step_m * self._scene.newton.con.n[c]
                q[first:] += J.T @ np.linalg.solve(J @ J.T + self._config.retreat_damping_m2 * np.eye(3), step)
            q[first:] = np.clip(q[first:], system.q_min, system.q_max)
        return q
