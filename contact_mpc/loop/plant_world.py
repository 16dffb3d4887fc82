"""A plant as the world of a plan: it plays parts one after the other and never goes back.

Nothing stands between plan and plant: no noise, no delay, no bridge, and the true state is known between parts. So it
tells what planning again is worth by itself, and costs a fifth of `contact_mpc.loop.closed_loop`.
"""

import numpy as np

from contact_mpc.loop.confirmed_plan import SETTLE_S
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import STEP_S
from contact_mpc.plants.registry import make_plant
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan


class PlantWorld:
    """Plays plans by joint impedance in one plant that goes on from where it is.

    Parameters
    ----------
    engine, system, perturbation
        The plant.
    q : (n_q,) array
        Where it starts, at rest.
    """

    def __init__(self, engine: str, system: System, q: FloatArray, perturbation: PlantPerturbation) -> None:
        self._system = system
        self._plant = make_plant(engine, system, "position", perturbation, gravity_compensation=True)
        self._plant.reset(q)
        self._lead = system.kd / system.kp

    @property
    def q(self) -> FloatArray:
        """The true configuration (n_q,) now, its quaternions of unit length (the engine's drift)."""
        q = self._plant.state(with_contacts=False).q
        return self._system.integrate(q, np.zeros(self._system.n_v))

    def ways(self, _q: FloatArray, plan: Plan, settle_s: float = SETTLE_S, row_s: float = 0.05) -> FloatArray:
        """Play a plan from the present state; return the motion (1, n, n_q), n rows row_s apart or a little less."""
        duration_s = float(plan.times_s[-1]) + settle_s
        rows = max(1, int(np.ceil(duration_s / row_s)))
        stride = max(1, round(duration_s / (rows * STEP_S)))
        times_s = STEP_S * np.arange(1, rows * stride + 1)
        u = np.stack([np.interp(times_s, plan.times_s, column) for column in plan.u.T], axis=1)
        u += self._lead * np.gradient(u, STEP_S, axis=0)
        way = []
        for k, command in enumerate(u):
            self._plant.step(command)
            if (k + 1) % stride == 0:
                way.append(self.q)
        return np.array(way)[None]
