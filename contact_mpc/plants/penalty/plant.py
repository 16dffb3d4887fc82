"""The penalty engine of seeds/002 as plant: overlap volumes, Radau within each step of 1 ms.

A fingertip that presses with 3 N sinks into a ball of 6 cm by about 0.3 mm; a box of 0.2 kg on 5 cm x 5 cm by 1 um.
Friction is a function of velocity: what is held creeps with atanh(load / limit) / gamma, 0.5 mm/s at half of Coulomb's
limit (gamma = 1e3 s/m). Torques act constantly over a step, joints stop at springs. Round shapes are polytopes: a ball
has 1280 facets, whose corners it feels when it rolls. It is slow: docs/results/penalty.md.
"""

import numpy as np

from contact_mpc.model.system import System, check_vector
from contact_mpc.plants.common.actuation import Actuation, JointTorques
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import NO_CONTACTS, STEP_NS, STEP_S, T0_NS, PlantState
from contact_mpc.plants.penalty.clip import CENTRE, EXTENT
from contact_mpc.plants.penalty.engine import PenaltyEngine
from contact_mpc.settings.arrays import FloatArray


class PenaltyPlant:
    """A `Plant` by the penalty engine; see the module and `plants.common.plant.Plant` for its use."""

    def __init__(
        self, system: System, interface: str, perturbation: PlantPerturbation, gravity_compensation: bool
    ) -> None:
        self._system, self._perturbation = system, perturbation
        self._actuation = Actuation(system, interface, perturbation, gravity_compensation)
        self._engine = PenaltyEngine(system, perturbation=perturbation, integrator="Radau")
        self._engine.compile()  # now, not in the first step of a run
        self.reset(system.q_default)

    @property
    def time_ns(self) -> int:
        """Simulated time, ns."""
        return T0_NS + self._steps * STEP_NS

    def reset(self, q: FloatArray, v: FloatArray | None = None) -> None:
        """See `Plant.reset`; contacts that are there count as at rest."""
        system = self._system
        q = self._perturbation.displace_objects(system, system.check_q(q))
        self._engine.reset(q, np.zeros(system.n_v) if v is None else check_vector("v", v, system.n_v))
        self._steps = 0
        self._torques = JointTorques(np.zeros(system.n_a), np.zeros(system.n_a))
        self._actuation.reset(q[system.n_q_u :])

    def step(self, command: FloatArray) -> None:
        """See `Plant.step`."""
        system, engine = self._system, self._engine
        gravity = engine.gravity_torques()[system.n_v_u :] if self._actuation.needs_gravity else None
        self._torques = self._actuation.compute(command, engine.q[system.n_q_u :], engine.v[system.n_v_u :], gravity)
        drive = np.zeros(system.n_v)
        drive[system.n_v_u :] = self._torques.applied + self._torques.disturbance
        self._steps += 1
        engine.advance(self._steps * STEP_S - engine.t_s, drive)

    def state(self, *, with_contacts: bool = True) -> PlantState:
        """See `Plant.state`; contacts are those of the state itself."""
        contacts = self._read_contacts() if with_contacts else NO_CONTACTS
        return PlantState(self.time_ns, self._engine.q.copy(), self._engine.v.copy(), *self._torques, contacts)

    def _read_contacts(self) -> FloatArray:
        """Contacts (k, 7): one per pair that overlaps, at the centre of the overlap."""
        if self._steps == 0:
            return np.zeros((0, 7))
        wrenches, rows = self._engine.settle_forces(), self._engine.work.rows
        is_touching = np.any(wrenches[:, :3] != 0.0, axis=1)
        forces = wrenches[:, :3] + wrenches[:, 3:6]
        return np.column_stack([rows[:, CENTRE], forces, rows[:, EXTENT]])[is_touching]
