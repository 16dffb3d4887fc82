"""Gazebo classic 11 with ODE as plant, in lockstep; see `plants.gazebo.world` for what its model leaves out.

ODE's torques and contact forces act implicitly in steps of 1 ms; contact is a stiff spring and damper. Gravity is
compensated by Pinocchio's model, since ODE has none.
"""

import weakref

import numpy as np

from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System, check_vector
from contact_mpc.plants.common.actuation import Actuation, JointTorques
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import NO_CONTACTS, STEP_NS, T0_NS, PlantState
from contact_mpc.plants.common.plant_model import build_parts, joint_slots
from contact_mpc.plants.gazebo.server import RESET, STEP, GazeboServer
from contact_mpc.plants.gazebo.world import build_world
from contact_mpc.settings.arrays import FloatArray

BODY_SIZE = 13  # position, quaternion, angular and linear velocity


class GazeboPlant:
    """A `Plant` by Gazebo classic; the server ends with this object or this process."""

    def __init__(
        self, system: System, interface: str, perturbation: PlantPerturbation, gravity_compensation: bool
    ) -> None:
        self._system, self._perturbation = system, perturbation
        self._actuation = Actuation(system, interface, perturbation, gravity_compensation)
        self._gravity = GravityTorque(system) if gravity_compensation else None
        self._map_indices()
        self._finalizer: weakref.finalize[..., GazeboPlant] | None = None
        self.reset(system.q_default)

    def _map_indices(self) -> None:
        """Fill, in the order of the world, the places of joints in q and v, and of free bodies."""
        self._joint_q: list[int] = []
        self._joint_v: list[int] = []
        self._free: list[tuple[int, int]] = []
        for part in build_parts(self._system, self._perturbation):
            for slot in joint_slots(self._system, part):
                if slot.joint is None:
                    self._free.append((slot.i_q, slot.i_v))
                else:
                    self._joint_q.append(slot.i_q)
                    self._joint_v.append(slot.i_v)
        self._is_actuated = np.array(self._joint_v) >= self._system.n_v_u
        self._force_row = np.array(self._joint_v)[self._is_actuated] - self._system.n_v_u

    @property
    def time_ns(self) -> int:
        """Simulated time, ns."""
        return T0_NS + self._steps * STEP_NS

    def _start(self) -> None:
        """Start a new server: setting joints anew in a used one repeats a run only to the last bit but one."""
        system, perturbation = self._system, self._perturbation
        if self._finalizer is not None:
            self._finalizer()
        self._server = GazeboServer(lambda port, plugin: build_world(system, perturbation, port, plugin).sdf)
        self._finalizer = weakref.finalize(self, self._server.close)

    def reset(self, q: FloatArray, v: FloatArray | None = None) -> None:
        """See `Plant.reset`; a new server, so that nothing of the last run is left."""
        self._start()
        system = self._system
        q = self._perturbation.displace_objects(system, system.check_q(q))
        v = np.zeros(system.n_v) if v is None else check_vector("v", v, system.n_v)
        numbers = [q[self._joint_q], v[self._joint_v]]
        for i_q, i_v in self._free:
            w_xyz_p, twist = q[i_q : i_q + 7], v[i_v : i_v + 6]
            numbers += [w_xyz_p[4:], w_xyz_p[:4], twist]
        self._numbers = self._server.request(RESET, np.concatenate(numbers))
        self._steps = 0
        self._torques = JointTorques(np.zeros(system.n_a), np.zeros(system.n_a))
        self._actuation.reset(q[system.n_q_u :])

    def step(self, command: FloatArray) -> None:
        """See `Plant.step`."""
        system = self._system
        q, v = self._read_motion()
        gravity = None
        if self._gravity is not None:
            gravity = np.zeros(system.n_a)
            self._gravity.compute(q[system.n_q_u :], gravity)
        self._torques = self._actuation.compute(command, q[system.n_q_u :], v[system.n_v_u :], gravity)
        forces = np.zeros(len(self._joint_q))
        forces[self._is_actuated] = (self._torques.applied + self._torques.disturbance)[self._force_row]
        self._numbers = self._server.request(STEP, forces)
        self._steps += 1

    def state(self, *, with_contacts: bool = True) -> PlantState:
        """See `Plant.state`."""
        q, v = self._read_motion()
        used = 1 + 2 * len(self._joint_q) + BODY_SIZE * len(self._free)
        contacts = self._numbers[used:].reshape(-1, 7).copy() if with_contacts and self._steps else NO_CONTACTS
        return PlantState(self.time_ns, q, v, *self._torques, contacts)

    def _read_motion(self) -> tuple[FloatArray, FloatArray]:
        """Return q (n_q,) and v (n_v,) of the last answer."""
        system, n = self._system, len(self._joint_q)
        q, v = np.empty(system.n_q), np.empty(system.n_v)
        q[self._joint_q], v[self._joint_v] = self._numbers[1 : 1 + n], self._numbers[1 + n : 1 + 2 * n]
        for index, (i_q, i_v) in enumerate(self._free):
            body = self._numbers[1 + 2 * n + BODY_SIZE * index :][:BODY_SIZE]
            q[i_q : i_q + 4], q[i_q + 4 : i_q + 7] = body[3:7], body[:3]
            v[i_v : i_v + 6] = body[7:]
        return q, v
