"""Whether the commands of a start hold the object in physics: MuJoCo, several plants, the joint impedance at rest.

A start counts where the object stays, not where a balance of forces says that it should: a ball that lies 3 mm beside
where the fingers expect it falls through a grasp that balances it. Each plant has friction, mass, size and offset of
its own. The object counts as held if after `HOLD_S` it is within `MOST_M` and `MOST_DEG` of the start. Drake takes no
part: it judges what was chosen here.
"""

from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco import rollout

from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.settings.arrays import FloatArray

STEP_S = 0.002  # a third of the contacts' time constant
HOLD_S = 0.4  # free fall takes it 0.8 m
MOST_M, MOST_DEG = 0.008, 20.0


class StartHolding:
    """Holds starts of one system in plants that deviate from it.

    Parameters
    ----------
    system : System
        The nominal system.
    plants : sequence of PlantPerturbation
        One per plant; imperfect drives are left out.
    """

    def __init__(self, system: System, plants: Sequence[PlantPerturbation]) -> None:
        self._system = system
        self._plants = [MujocoPlant(system, "position", item, gravity_compensation=True) for item in plants]
        self._models = [plant.actuated_copy(is_complete=True)[0] for plant in self._plants]
        for model in self._models:
            model.opt.timestep = STEP_S
        self._data = mujoco.MjData(self._models[0])

    def share(self, q: FloatArray, u: FloatArray) -> float:
        """Return the share of the plants in which the commands u (n_a,) hold the object from rest at q (n_q,)."""
        R, p = self._system.object_pose(q)
        return float(np.mean([self._is_near(R, p, end) for end in self.ends(q, u)]))

    def ends(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """Return where each plant is after `HOLD_S` (plants, n_q)."""
        size = mujoco.mj_stateSize(self._models[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        first = np.empty((len(self._models), size))
        for plant, model, state in zip(self._plants, self._models, first, strict=True):
            plant.reset(q)
            mujoco.mj_resetData(model, self._data)
            self._data.qpos[:] = plant.qpos
            mujoco.mj_getState(model, self._data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        control = np.tile(u, (len(self._models), round(HOLD_S / STEP_S), 1))
        states, _ = rollout.rollout(self._models, [self._data], initial_state=first, control=control)
        return np.asarray(self._plants[0].q_from_qpos(states[:, -1, 1 : 1 + self._models[0].nq]))

    def _is_near(self, R: FloatArray, p: FloatArray, q: FloatArray) -> bool:
        R_end, p_end = self._system.object_pose(q)
        turn = np.linalg.norm(rotation_log(np.ascontiguousarray(R_end @ R.T)))
        return bool(np.linalg.norm(p_end - p) < MOST_M and np.rad2deg(turn) < MOST_DEG)
