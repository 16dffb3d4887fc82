"""Whether fingers that roll as planned keep the object in physics: MuJoCo, several plants, the joint impedance.

A start counts where the object stays and turns, not where a balance of forces says that it should: a ball that lies
3 mm beside where the fingers expect it falls through a grasp that balances it. Each plant has friction, mass, size and
offset of its own. It holds the start for `HOLD_S`, moves along the commands of rolling fingers in `TURN_S`, without
any correction, and counts if the object then is within `MOST_M`, more of large objects, and `MOST_DEG` of where rolling
would have brought it. Drake takes no part: it judges what was chosen here.
"""

import os
from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco import rollout

from contact_mpc.geometry.extent import times_usual
from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.settings.arrays import FloatArray

STEP_S = 0.002  # a third of the contacts' time constant
OFFSETS_SEED = 1  # of the commands' offsets, the same in every search
HOLD_S, TURN_S = 0.4, 1.2  # free fall takes it 0.8 m in the former
MOST_M, MOST_DEG = 0.012, 20.0  # of motion without feedback from a start that is up to 3 mm off


class StartHolding:
    """Holds starts of one system in plants that deviate from it.

    Parameters
    ----------
    system : System
        The nominal system.
    plants : sequence of PlantPerturbation
        One per plant. Imperfect drives are played as offsets of the commands: a joint with friction tau_c rests
        anywhere within tau_c / kp of where it was told to be, ripple moves it by as much as its amplitude.
    """

    def __init__(self, system: System, plants: Sequence[PlantPerturbation]) -> None:
        self._system = system
        self._most_m = MOST_M * times_usual(system)  # larger ones, whose size deviates by more, may be off by more
        self._plants = [MujocoPlant(system, "position", item, gravity_compensation=True) for item in plants]
        self._models = [plant.actuated_copy(is_complete=True)[0] for plant in self._plants]
        for model in self._models:
            model.opt.timestep = STEP_S
        self._data = [mujoco.MjData(self._models[0]) for _ in os.sched_getaffinity(0)]  # one per thread
        widths = np.array([item.hysteresis_fraction + item.torque_ripple_fraction for item in plants])
        rng = np.random.default_rng(OFFSETS_SEED)
        self._offsets = (
            widths[:, None] * rng.uniform(-1.0, 1.0, (len(plants), system.n_a)) * system.tau_max_nm / system.kp
        )

    def share(self, ways: Sequence[tuple[FloatArray, FloatArray]]) -> float:
        """Return the share of the plants that keep the object.

        Parameters
        ----------
        ways : sequence of ((n, n_q), (n, n_a) array)
            Configurations and commands of fingers that roll, per turn; all begin in the start. Plant k goes the way
            k mod their count.
        """
        kept = [
            self._is_near(ways[k % len(ways)][0][-1], end) for k, end in enumerate(self.ends(ways))
        ]  # fmt: skip
        return float(np.mean(kept))

    def ends(self, ways: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
        """Return where each plant is at the end of its way (plants, n_q)."""
        size = mujoco.mj_stateSize(self._models[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        first = np.empty((len(self._models), size))
        for plant, model, state in zip(self._plants, self._models, first, strict=True):
            plant.reset(ways[0][0][0])
            mujoco.mj_resetData(model, self._data[0])
            self._data[0].qpos[:] = plant.qpos
            mujoco.mj_getState(model, self._data[0], state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        commands = [_spread_out(u) for _, u in ways]
        control = np.array([commands[k % len(ways)] + offset for k, offset in enumerate(self._offsets)])
        states, _ = rollout.rollout(self._models, self._data, initial_state=first, control=control)
        return np.asarray(self._plants[0].q_from_qpos(states[:, -1, 1 : 1 + self._models[0].nq]))

    def _is_near(self, q: FloatArray, q_end: FloatArray) -> bool:
        (R, p), (R_end, p_end) = self._system.object_pose(q), self._system.object_pose(q_end)
        turn = np.linalg.norm(rotation_log(np.ascontiguousarray(R_end @ R.T)))
        return bool(np.linalg.norm(p_end - p) < self._most_m and np.rad2deg(turn) < MOST_DEG)


def _spread_out(u: FloatArray) -> FloatArray:
    """Return commands (steps, n_a) that hold the first row of u (n, n_a), then pass through all rows."""
    times_s = STEP_S * np.arange(1, round((HOLD_S + TURN_S) / STEP_S) + 1)
    stops_s = np.concatenate([[0.0], HOLD_S + np.linspace(0.0, TURN_S, len(u))])
    return np.stack([np.interp(times_s, stops_s, column) for column in np.vstack([u[:1], u]).T], axis=1)
