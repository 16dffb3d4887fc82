"""Roll-outs in MuJoCo for the sampling MPC: the nominal system, many command sequences at the same time.

The model is that of `contact_mpc.plants.mujoco.plant` with the controller's friction and time step, nominal sizes and
masses, a position actuator (Kp, Kd) per joint with its effort limit, and robots that carry their own weight.
"""

import mujoco
import numpy as np
from mujoco import rollout

from contact_mpc.control.tracking.comparison.sampling import SamplingConfig
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.settings.arrays import FloatArray


class MujocoRollouts:
    """The `Rollouts` of `contact_mpc.control.tracking.comparison.sampling` by `mujoco.rollout` on its own threads.

    Parameters
    ----------
    system : System
        Nominal system.
    friction : float
        Friction coefficient of every contact.
    h_s : float
        Time of a step of the commands, s; between its ends they are linear.
    config : SamplingConfig
        Time step and threads.
    """

    def __init__(self, system: System, friction: float, h_s: float, config: SamplingConfig) -> None:
        self._plant = MujocoPlant(system, "position", PlantPerturbation(friction=friction), gravity_compensation=True)
        self._model, _ = self._plant.actuated_copy(is_complete=True)
        self._model.opt.timestep = config.step_s
        self._steps = max(1, round(h_s / config.step_s))
        self._data = [mujoco.MjData(self._model) for _ in range(config.threads)]
        self._fractions = np.arange(1, self._steps + 1) / self._steps

    def roll_out(self, q: FloatArray, u_before: FloatArray, u: FloatArray) -> FloatArray:
        """See `Rollouts.roll_out`."""
        (samples, T, n_a), plant = u.shape, self._plant
        start = np.concatenate([np.broadcast_to(u_before, (samples, 1, n_a)), u[:, :-1]], axis=1)
        path = start[:, :, None] + self._fractions[:, None] * (u - start)[:, :, None]
        plant.reset(q)
        state = np.empty(mujoco.mj_stateSize(self._model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        self._data[0].qpos[:], self._data[0].qvel[:], self._data[0].time = plant.qpos, 0.0, 0.0
        mujoco.mj_getState(self._model, self._data[0], state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        states, _ = rollout.rollout(
            self._model, self._data, initial_state=state, control=path.reshape(samples, T * self._steps, n_a)
        )
        at_stages = states[:, self._steps - 1 :: self._steps, 1 : 1 + self._model.nq]
        return np.asarray(plant.q_from_qpos(at_stages))
