"""MuJoCo as plant: 1 ms, implicitfast, Newton solver, elliptic cones, an explicit contact for every pair of shapes.

Contact is MuJoCo's soft constraint with solref (SOLREF: time constant 6 ms, damping ratio 1) and solimp (SOLIMP:
impedance 0.95 to 0.99 over the first 0.1 mm of penetration). It is stiffer than Drake's: a slider of 1 kg sinks in by
0.012 mm on its own weight, in Drake by 0.49 mm. Friction is Coulomb's with condim 3 (no rolling or torsional
friction), as in Drake. MuJoCo's soft cones let a loaded contact creep; IMPRATIO 100 makes friction that much
harder than the normal direction, which leaves 4 micrometres a second.

Where it is wrong: slip turns into lift here too, and sooner than in Drake: a slider hops from 0.02 m/s on, with every
solref from 2 to 10 ms. Friction is then mu times the normal force at each touch, the normal force is the weight on
average, and the mean acceleration just above the cone is off by up to 6 % (up to 18 % with 2 ms).
"""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from contact_mpc.model.kinematic_tree import Geometry, half_sizes
from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix
from contact_mpc.model.system import System, check_vector
from contact_mpc.plants.common.actuation import Actuation, JointTorques
from contact_mpc.plants.common.mimic_joints import MimicJoint, locate, mimic_joints
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import NO_CONTACTS, STEP_NS, STEP_S, T0_NS, PlantState
from contact_mpc.plants.common.plant_model import (
    PlantPart,
    actuated_slots,
    build_parts,
    fixed_names,
    joint_slots,
)
from contact_mpc.settings.arrays import FloatArray

SOLREF = (0.006, 1.0)
SOLIMP = (0.95, 0.99, 1e-4, 0.5, 2.0)
IMPRATIO = 100.0
COUPLING_SOLREF = (2.0 * STEP_S, 1.0)  # time constant, s (the least that a step resolves), damping ratio
COUPLING_SOLIMP = (0.999, 0.9999, 1e-4, 0.5, 2.0)
FREE_BODY = "free"


class MujocoPlant:
    """A `Plant` by MuJoCo; see the module for its contact parameters and `plants.common.plant.Plant` for its use."""

    def __init__(
        self, system: System, interface: str, perturbation: PlantPerturbation, gravity_compensation: bool
    ) -> None:
        self._system, self._perturbation = system, perturbation
        self._actuation = Actuation(system, interface, perturbation, gravity_compensation)
        parts = build_parts(system, perturbation)
        spec = _build_spec(system, parts)
        _add_contact_pairs(spec, system, perturbation.pair_friction(system))
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._gravity_data = mujoco.MjData(self._model)
        self._map_indices(parts)
        self.reset(system.q_default)

    def _map_indices(self, parts: list[PlantPart]) -> None:
        """Fill q_mujoco[q_map[i]] = q[i], v_mujoco[v_map[i]] = v[i]; free objects have (p, quaternion), (dp, omega)."""
        system, model = self._system, self._model
        self._q_map = np.zeros(system.n_q, dtype=np.int64)
        self._v_map = np.zeros(system.n_v, dtype=np.int64)
        self._free: list[tuple[int, int]] = []
        for part in parts:
            for slot in joint_slots(system, part):
                joint = model.joint(f"{part.owner}/{slot.joint or FREE_BODY}")
                q0, v0 = int(joint.qposadr[0]), int(joint.dofadr[0])
                if slot.joint is None:
                    self._free.append((slot.i_q, slot.i_v))
                    self._q_map[slot.i_q : slot.i_q + 7] = q0 + np.array([3, 4, 5, 6, 0, 1, 2])
                    self._v_map[slot.i_v : slot.i_v + 6] = v0 + np.array([3, 4, 5, 0, 1, 2])
                else:
                    self._q_map[slot.i_q], self._v_map[slot.i_v] = q0, v0
        self._a_map = self._v_map[system.n_v_u :]
        self._mimic_rows = locate(mimic_joints(system), self._joint_rows)
        ranks = {name: index for index, name in enumerate(system.object_names)}
        self._rank = np.array([ranks.get(model.geom(i).name.split("/")[0], len(ranks)) for i in range(model.ngeom)])

    def _joint_rows(self, owner: str, name: str) -> tuple[int, int]:
        joint = self._model.joint(f"{owner}/{name}")
        return int(joint.qposadr[0]), int(joint.dofadr[0])

    @property
    def time_ns(self) -> int:
        """Simulated time, ns."""
        return T0_NS + self._steps * STEP_NS

    def reset(self, q: FloatArray, v: FloatArray | None = None) -> None:
        """See `Plant.reset`; the solver's warm start is cleared as well."""
        system, data = self._system, self._data
        q = self._perturbation.displace_objects(system, system.check_q(q))
        v = np.zeros(system.n_v) if v is None else np.array(check_vector("v", v, system.n_v))
        for i_q, i_v in self._free:
            v[i_v : i_v + 3] = quaternion_to_matrix(q[i_q : i_q + 4]).T @ v[i_v : i_v + 3]
        mujoco.mj_resetData(self._model, data)
        data.qpos[self._q_map] = q
        data.qvel[self._v_map] = v
        self._mimic_rows.follow(data.qpos, data.qvel)
        self._steps = 0
        self._torques = JointTorques(np.zeros(system.n_a), np.zeros(system.n_a))
        self._actuation.reset(q[system.n_q_u :])

    def step(self, command: FloatArray) -> None:
        """See `Plant.step`; the torque acts explicitly, joint damping and contact implicitly."""
        data = self._data
        q_a = data.qpos[self._q_map[self._system.n_q_u :]]
        gravity = self._compute_gravity() if self._actuation.needs_gravity else None
        self._torques = self._actuation.compute(command, q_a, data.qvel[self._a_map], gravity)
        data.qfrc_applied[self._a_map] = self._torques.applied + self._torques.disturbance
        mujoco.mj_step(self._model, data)
        self._steps += 1

    def _compute_gravity(self) -> FloatArray:
        """Torques (n_a,) that carry the robot's own weight, N m: inverse dynamics at rest."""
        data = self._gravity_data
        data.qpos[:] = self._data.qpos
        mujoco.mj_kinematics(self._model, data)
        mujoco.mj_comPos(self._model, data)
        torque = np.empty(self._model.nv)
        mujoco.mj_rne(self._model, data, 0, torque)
        self._mimic_rows.gather(torque)
        return torque[self._a_map]

    def state(self, *, with_contacts: bool = True) -> PlantState:
        """See `Plant.state`."""
        q, v = self._data.qpos[self._q_map], self._data.qvel[self._v_map]
        for i_q, i_v in self._free:
            v[i_v : i_v + 3] = quaternion_to_matrix(q[i_q : i_q + 4]) @ v[i_v : i_v + 3]
        contacts = self._read_contacts() if with_contacts else NO_CONTACTS
        return PlantState(self.time_ns, q, v, *self._torques, contacts)

    @property
    def qpos(self) -> FloatArray:
        """Configuration in MuJoCo's order."""
        return self._data.qpos

    def q_from_qpos(self, qpos: FloatArray) -> FloatArray:
        """Return configurations (..., n_q) in the system's order from MuJoCo's."""
        return qpos[..., self._q_map]

    def actuated_copy(self, *, is_complete: bool = False) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """Return model and data in this state, with a position actuator (Kp, Kd) per joint as inputs.

        With `is_complete` the actuators have the joints' effort limits and robots carry their own weight.
        """
        parts = build_parts(self._system, self._perturbation)
        spec = _build_spec(self._system, parts)
        _add_contact_pairs(spec, self._system, self._perturbation.pair_friction(self._system))
        system = self._system
        slots = actuated_slots(system, parts)
        for slot, kp, kd, limit in zip(slots, system.kp, system.kd, system.tau_max_nm, strict=True):
            joint = f"{slot.owner}/{slot.joint}"
            actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            actuator.set_to_position(kp=kp, kv=kd)
            if is_complete:
                actuator.forcelimited, actuator.forcerange = True, (-limit, limit)
        robots = {part.owner for part in parts if part.is_robot and is_complete}
        for body in spec.bodies:
            body.gravcomp = float(body.name.split("/")[0] in robots)
        model = spec.compile()
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = self._data.qpos, self._data.qvel
        return model, data

    def _read_contacts(self) -> FloatArray:
        """Contacts (k, 7) that the last step solved; MuJoCo's forces act on the second geometry."""
        if self._steps == 0:
            return np.zeros((0, 7))
        rows = np.empty((self._data.ncon, 7))
        force = np.empty(6)
        for index, row in enumerate(rows):
            contact = self._data.contact[index]
            mujoco.mj_contactForce(self._model, self._data, index, force)
            first, second = self._rank[contact.geom]
            row[:3] = contact.pos
            row[3:6] = (1.0 if second < first else -1.0) * (force[:3] @ contact.frame.reshape(3, 3))
            row[6] = -contact.dist
        return rows[rows[:, 6] >= 0.0]


def _build_spec(system: System, parts: list[PlantPart]) -> mujoco.MjSpec:
    """Return the world with every part attached; geometries are named owner/link/index and touch nothing yet."""
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP_S
    spec.option.gravity = system.config.gravity_m_s2
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = IMPRATIO
    for part in parts:
        child = mujoco.MjSpec.from_string(_with_paths(part.urdf_text))
        frame = spec.worldbody.add_frame(pos=part.X_WR.p, quat=matrix_to_quaternion(part.X_WR.R))
        spec.attach(child, prefix=f"{part.owner}/", frame=frame)
        if part.is_free:
            spec.body(f"{part.owner}/{part.root}").add_freejoint(name=f"{part.owner}/{FREE_BODY}")
    for body in spec.bodies:
        for index, geometry in enumerate(body.geoms):
            geometry.name = f"{body.name}/{index}"
            geometry.contype = geometry.conaffinity = 0
    for shape in (item for item in system.geometries if item.owner in fixed_names(system)):
        _add_fixed(spec, shape)
    for joint in spec.joints:
        joint.solref_limit, joint.solimp_limit = SOLREF, SOLIMP
    for slot, inertia in zip(actuated_slots(system, parts), system.reflected_inertia, strict=True):
        spec.joint(f"{slot.owner}/{slot.joint}").armature = inertia
    for item in mimic_joints(system):
        _couple(spec, item)
    return spec


def _couple(spec: mujoco.MjSpec, item: MimicJoint) -> None:
    """Hold a mimic joint to its leader by a constraint, as hard as MuJoCo's soft ones are at this step."""
    spec.add_equality(
        name=f"{item.owner}/{item.joint}",
        type=mujoco.mjtEq.mjEQ_JOINT,
        name1=f"{item.owner}/{item.joint}",
        name2=f"{item.owner}/{item.leader}",
        data=[item.offset, item.ratio, *([0.0] * (mujoco.mjNEQDATA - 2))],
        solref=COUPLING_SOLREF,
        solimp=COUPLING_SOLIMP,
    )


def _with_paths(urdf_text: str) -> str:
    """Return a URDF whose meshes MuJoCo looks for where their paths say, and not beside the URDF."""
    robot = ET.fromstring(urdf_text)
    ET.SubElement(ET.SubElement(robot, "mujoco"), "compiler", strippath="false")
    return ET.tostring(robot, encoding="unicode")


def _add_fixed(spec: mujoco.MjSpec, item: Geometry) -> None:
    """Add a shape at rest in the world, named like those of the parts; it touches nothing yet."""
    types = {
        "half_space": mujoco.mjtGeom.mjGEOM_PLANE, "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
        "box": mujoco.mjtGeom.mjGEOM_BOX, "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
        "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    }  # fmt: skip
    size = (0.0, 0.0, 1.0) if item.shape.kind == "half_space" else half_sizes(item.shape)  # a plane without end
    spec.worldbody.add_geom(
        name=f"{item.owner}/{item.link}/0",
        type=types[item.shape.kind],
        size=size,
        pos=item.X_BG.p,
        quat=matrix_to_quaternion(item.X_BG.R),
        contype=0,
        conaffinity=0,
    )


def _add_contact_pairs(spec: mujoco.MjSpec, system: System, mu: FloatArray) -> None:
    """Add one explicit contact pair per system.pairs, with its friction coefficient mu (n_pairs,)."""
    names: list[str] = []
    count: dict[str, int] = {}
    for geometry in system.geometries:
        link = f"{geometry.owner}/{geometry.link}"
        names.append(f"{link}/{count.get(link, 0)}")
        count[link] = count.get(link, 0) + 1
    for pair, value in zip(system.pairs, mu, strict=True):
        spec.add_pair(
            geomname1=names[pair.geometry_a],
            geomname2=names[pair.geometry_b],
            condim=3,
            friction=[value, value, 0.0, 0.0, 0.0],
            solref=SOLREF,
            solimp=SOLIMP,
            solreffriction=(0.0, 0.0),
        )
