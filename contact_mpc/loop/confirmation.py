"""Where a plan leads in physics: its commands rolled out in MuJoCo, in several draws of friction, mass and size.

The planner's model proposes commands; each draw is a plant of `contact_mpc.plants.mujoco.plant` whose joints are held
by the joint impedance, with their effort limits, and which carries its robots' weight. A roll-out begins at rest in a
state of the plan, or in a measured one, and ends with the last command held for `SETTLE_S`. Drake takes no part: it
judges what was confirmed here.
"""

import mujoco
import numpy as np
from mujoco import rollout

from contact_mpc.loop.confirmed_plan import SETTLE_S
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

STEP_S = 0.002  # of the roll-outs, s: a third of the contacts' time constant
# Friction and mass as factors on the system's, size as one on the objects' shapes: the nominal plant first.
DRAWS = ((1.0, 1.0, 1.0), (0.75, 1.1, 0.99), (0.65, 0.9, 1.01), (0.85, 1.0, 1.0))


class MujocoConfirmation:
    """Rolls plans out in MuJoCo.

    Parameters
    ----------
    system : System
        The nominal system.
    draws : sequence of (friction, mass, size)
        Factors of each draw.
    has_velocity_reference : bool
        Whether the joint impedance damps about the velocity of the command (a bridge that sends efforts), or about
        rest (a robot that takes positions).
    """

    def __init__(
        self,
        system: System,
        draws: tuple[tuple[float, float, float], ...] = DRAWS,
        has_velocity_reference: bool = True,
    ) -> None:
        self._system = system
        perturbations = [PlantPerturbation(friction_scale=f, mass_scale=m, size_scale=s) for f, m, s in draws]
        self._plant = MujocoPlant(system, "position", PlantPerturbation(), gravity_compensation=True)
        self._models = []
        for item in perturbations:
            plant = MujocoPlant(system, "position", item, gravity_compensation=True)
            model, _ = plant.actuated_copy(is_complete=True)
            model.opt.timestep = STEP_S
            self._models.append(model)
        self._data = [mujoco.MjData(self._models[0])]
        self._lead = system.kd / system.kp if has_velocity_reference else np.zeros(system.n_a)

    def follow(self, q: FloatArray, plan: Plan) -> FloatArray:
        """Return where the plan's commands lead from rest at q (n_q,): (draws, n_q)."""
        return self.ways(q, plan)[:, -1]

    def ways(self, q: FloatArray, plan: Plan, settle_s: float = SETTLE_S, row_s: float = 1.0) -> FloatArray:
        """Return the motions (draws, n, n_q), n rows row_s apart or a little less, the last at the end."""
        rows = max(1, int(np.ceil((float(plan.times_s[-1]) + settle_s) / row_s)))
        stride = max(1, round((float(plan.times_s[-1]) + settle_s) / (rows * STEP_S)))
        times_s = STEP_S * np.arange(1, rows * stride + 1)
        u = np.stack([np.interp(times_s, plan.times_s, column) for column in plan.u.T], axis=1)
        u += self._lead * np.gradient(u, STEP_S, axis=0)
        model, data, count = self._models[0], self._data[0], len(self._models)
        self._plant.reset(q)
        mujoco.mj_resetData(model, data)
        data.qpos[:] = self._plant.qpos
        state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        states, _ = rollout.rollout(
            self._models, self._data, initial_state=np.tile(state, (count, 1)), control=np.tile(u, (count, 1, 1))
        )
        return np.asarray(self._plant.q_from_qpos(states[:, stride - 1 :: stride, 1 : 1 + model.nq]))
