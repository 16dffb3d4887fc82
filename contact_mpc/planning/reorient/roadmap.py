"""The grasps of a task that turns by several of them, and which one takes an object where it lies.

Each grasp holds the object at an orientation of its own; fingers that roll from there hold it a little before and
after. What looks the same after some turns is held again there: a cube on its face needs grasps for a quarter turn, a
ball one grasp. Of those that fit where the object lies now, the one that turns it furthest comes first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.geometry.symmetry import object_symmetry
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.scene import Scene
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.planning.reorient.leaving import LeavingFingers
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class RoadmapGrasp:
    """A grasp: q (n_q,) that touches, commands u (n_a,) that hold, contacts `grips` (n,), one per finger that holds."""

    q: FloatArray
    u: FloatArray
    grips: NDArray[np.int64]
    fingers: LeavingFingers


class GraspRoadmap:
    """The grasps of one task, the start's first.

    Parameters
    ----------
    system, scene : System, Scene
        Hand and object; the scene's workspace is overwritten.
    starts : sequence of ((n_q,), (n_a,) array)
        Posture and commands of each grasp.
    config : ReorientationConfig
        How far fingers roll from a grasp's posture.
    """

    def __init__(
        self, system: System, scene: Scene, starts: list[tuple[FloatArray, FloatArray]], config: ReorientationConfig
    ) -> None:
        self._system, self._config, self.symmetry = system, config, object_symmetry(system)
        self.grasps = [self._make(scene, q, u) for q, u in starts]

    def _make(self, scene: Scene, q: FloatArray, u: FloatArray) -> RoadmapGrasp:
        config = self._config
        grips = compute_grasp(self._system, q, config.minimum_force_n, config.grasp_friction, scene=scene).pairs
        return RoadmapGrasp(q, u, grips, LeavingFingers(self._system, scene, grips, config))

    def turn_from(self, grasp: RoadmapGrasp, R: FloatArray) -> FloatArray:
        """Return the rotation vector (3,), rad, in W, from where a grasp holds the object to what looks like R."""
        return self.symmetry.turn_between(self._system.object_pose(grasp.q)[0], R)

    @property
    def has_choice(self) -> bool:
        """Whether there are several grasps."""
        return len(self.grasps) > 1

    def order(self, R: FloatArray, left: FloatArray, refused: RoadmapGrasp | None = None) -> list[RoadmapGrasp]:
        """Return the grasps for an object at R that shall turn by `left` (3,), the one that turns it furthest first.

        Of those that turn it as far it is the one with the least to roll until it fits. Where none reaches R, it is the
        nearest alone. One that is refused is left out.
        """
        grasps = [grasp for grasp in self.grasps if grasp is not refused]
        most, back = np.deg2rad([self._config.turn_deg, self._config.back_deg])
        offs = [self.turn_from(grasp, R) for grasp in grasps]
        rolled = [float(np.linalg.norm(off)) for off in offs]
        reach = [reach_along(off, left, most) for off in offs]
        fits = [k for k, angle in enumerate(rolled) if angle <= most + back]
        ranked = sorted(fits, key=lambda k: (-round(reach[k] / self._config.least_turn_rad), rolled[k]))
        return [grasps[k] for k in ranked or [int(np.argmin(rolled))]]


def reach_along(off: FloatArray, left: FloatArray, most_rad: float) -> float:
    """Return how far, rad, a grasp turns along `left` (3,) what it takes `off` (3,) ahead of its posture.

    min(|left|, most - off . left / |left|), and 0 where nothing is left.
    """
    whole = float(np.linalg.norm(left))
    return min(whole, most_rad - float(off @ left) / whole) if whole > 0.0 else 0.0
