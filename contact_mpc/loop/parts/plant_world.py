"""A plant as the world of a plan: it plays parts one after the other and never goes back.

Nothing stands between plan and plant: no noise, no delay, no bridge, and the true state is known between parts. So it
tells what planning again is worth by itself, and costs a fifth of `contact_mpc.loop.closed_loop`.
"""

import numpy as np

from contact_mpc.control.tracking.reorienter import REST_M_S, REST_RAD_S
from contact_mpc.loop.parts.confirmed_plan import LEAST_PAUSE_S, ROWS_S, SETTLE_S, Ways
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import STEP_S
from contact_mpc.plants.registry import make_plant
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

REST_ROWS = 5  # over which objects have to be slow


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

    def ways(self, _q: FloatArray, plan: Plan, settle_s: float = SETTLE_S, row_s: float = ROWS_S) -> Ways:
        """Play a plan from the present state, and hold its last command until objects rest, up to settle_s."""
        stride = max(1, round(row_s / STEP_S))
        rows = int(np.ceil((float(plan.times_s[-1]) + settle_s) / (stride * STEP_S)))
        times_s = STEP_S * np.arange(1, rows * stride + 1, dtype=np.float64)
        u = np.stack([np.interp(times_s, plan.times_s, column) for column in plan.u.T], axis=1)
        u += self._lead * np.gradient(u, STEP_S, axis=0)
        way: list[FloatArray] = []
        for k in range(rows):
            for command in u[k * stride : (k + 1) * stride]:
                self._plant.step(command)
            way.append(self.q)
            if times_s[(k + 1) * stride - 1] >= plan.times_s[-1] + LEAST_PAUSE_S and self._is_at_rest(way, row_s):
                break
        return Ways(times_s[stride - 1 :: stride][: len(way)], np.array(way)[None])

    def _is_at_rest(self, way: list[FloatArray], row_s: float) -> bool:
        """Whether objects were slow over the last rows."""
        system, rows = self._system, min(REST_ROWS, len(way) - 1)
        turns = system.tree.dof_kind[: system.n_v_u] == REVOLUTE
        moved = np.abs(system.difference(way[-1 - rows], way[-1])[: system.n_v_u])
        return rows > 0 and bool(np.all(moved <= rows * row_s * np.where(turns, REST_RAD_S, REST_M_S)))
