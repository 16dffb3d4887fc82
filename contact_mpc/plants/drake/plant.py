"""Drake's MultibodyPlant as plant: discrete at 1 ms, SAP solver, compliant point contact.

Contact of a pair: f_n = k phi (1 + tau dphi/dt) for a penetration phi, with k = STIFFNESS_N_PER_M and
tau = RELAXATION_TIME_S of `plants.drake.fixed_shapes`. At 2e4 N/m a fingertip that presses with 2.5 N sinks in by
0.13 mm, and a ball of 0.1 kg rings at 71 Hz, which steps of 1 ms resolve. Drake's default relaxation time of 0.1 s
would make contact act much softer in transients than its stiffness says; with 2 ms that ringing has a damping ratio of
(tau + 1 ms) omega / 2 = 0.7.

Friction is Coulomb's without rolling or torsional friction. A stuck contact creeps by 2 micrometres a second. Where it
is wrong: SAP's convex friction turns slip into lift, about mu v (tau + 1 ms), and contact hops once that exceeds the
penetration. A slider of 1 kg keeps touching up to 0.29 m/s (0.15 m/s with 5 ms), a fingertip pressed with 1 N only up
to about 0.02 m/s by the same formula. While it hops, friction and normal force are right on average over some hops.
"""

import numpy as np
from pydrake.geometry import (
    CollisionFilterDeclaration,
    GeometryId,
    GeometrySet,
    RoleAssign,
    SceneGraph,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import (
    AddMultibodyPlant,
    MultibodyPlantConfig,
    PointPairContactInfo,
)
from pydrake.multibody.tree import BodyIndex, ModelInstanceIndex
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from contact_mpc.errors import ModelError
from contact_mpc.model.contact_points import ContactPair
from contact_mpc.model.system import System, check_vector
from contact_mpc.plants.common.actuation import Actuation, JointTorques
from contact_mpc.plants.common.mimic_joints import MimicJoint, locate, mimic_joints
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import NO_CONTACTS, STEP_NS, STEP_S, T0_NS, PlantState
from contact_mpc.plants.common.plant_model import (
    JointSlot,
    PlantPart,
    actuated_slots,
    build_parts,
    fixed_names,
    joint_slots,
)
from contact_mpc.plants.drake.fixed_shapes import (
    add_ground_points,
    contact_properties,
    filter_ground_points,
    register_fixed,
)
from contact_mpc.settings.arrays import FloatArray

FRICTION_TOLERANCE = 1e-9
_NO_OBJECT = 1_000_000  # ranks after every object


class DrakePlant:
    """A `Plant` by Drake; see the module for its contact parameters and `plants.common.plant.Plant` for its use."""

    def __init__(
        self, system: System, interface: str, perturbation: PlantPerturbation, gravity_compensation: bool
    ) -> None:
        self._system, self._perturbation = system, perturbation
        self._actuation = Actuation(system, interface, perturbation, gravity_compensation)
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=STEP_S, discrete_contact_approximation="sap", contact_model="point")
        self._plant, scene_graph = AddMultibodyPlant(config, builder)
        parts = build_parts(system, perturbation)
        self._instances = {part.owner: self._add_part(part) for part in parts}
        self._set_contact(scene_graph)
        self._add_actuators(parts)
        coupled = mimic_joints(system)
        for item in coupled:
            self._couple(item)
        self._plant.mutable_gravity_field().set_gravity_vector(system.config.gravity_m_s2)
        self._plant.Finalize()
        self._map_indices(parts)
        self._mimic_rows = locate(coupled, self._joint_rows)
        self._diagram = builder.Build()
        self._simulator = Simulator(self._diagram)
        self.reset(system.q_default)

    def _add_part(self, part: PlantPart) -> ModelInstanceIndex:
        text = part.urdf_text.replace('filename="/', 'filename="file:///')  # Drake takes no bare paths in a string
        (instance,) = Parser(self._plant).AddModelsFromString(text, "urdf")
        if not part.is_free:
            root = self._plant.GetBodyByName(part.root, instance)
            X_WR = RigidTransform(RotationMatrix(part.X_WR.R), part.X_WR.p)
            self._plant.WeldFrames(self._plant.world_frame(), root.body_frame(), X_WR)
        return instance

    def _add_actuators(self, parts: list[PlantPart]) -> None:
        """Add one actuator per joint, in the system's order; the limits are kept by `Actuation`."""
        for slot, inertia in zip(actuated_slots(self._system, parts), self._system.reflected_inertia, strict=True):
            joint = self._plant.GetJointByName(slot.joint, self._instances[slot.owner])
            actuator = self._plant.AddJointActuator(slot.joint, joint)
            actuator.set_default_rotor_inertia(inertia)
            actuator.set_default_gear_ratio(1.0)

    def _couple(self, item: MimicJoint) -> None:
        """Hold a mimic joint to its leader by a constraint of the solver."""
        instance = self._instances[item.owner]
        mimic, leader = (self._plant.GetJointByName(name, instance) for name in (item.joint, item.leader))
        self._plant.AddCouplerConstraint(mimic, leader, item.ratio, item.offset)

    def _joint_rows(self, owner: str, name: str) -> tuple[int, int]:
        joint = self._plant.GetJointByName(name, self._instances[owner])
        return joint.position_start(), joint.velocity_start()

    def _set_contact(self, scene_graph: SceneGraph) -> None:
        """Give every shape its stiffness and friction; leave only contacts of objects with other parts."""
        system, plant = self._system, self._plant
        friction = solve_friction(system, self._perturbation.pair_friction(system))
        ids: dict[str, list[GeometryId]] = {}
        points = add_ground_points(plant, system, self._instances, friction, self._perturbation.size_scale)
        for geometry, mu in zip(system.geometries, friction, strict=True):
            seen = ids.setdefault(f"{geometry.owner}/{geometry.link}", [])
            if geometry.owner in fixed_names(system):
                seen.append(register_fixed(plant, geometry, contact_properties(mu)))
                continue
            body = plant.GetBodyByName(geometry.link, self._instances[geometry.owner])
            geometry_id = plant.GetCollisionGeometriesForBody(body)[len(seen)]
            seen.append(geometry_id)
            scene_graph.AssignRole(plant.get_source_id(), geometry_id, contact_properties(mu), RoleAssign.kReplace)
        self._filter_contacts(scene_graph, ids)
        filter_ground_points(scene_graph, system, [one for group in ids.values() for one in group], points)

    def _filter_contacts(self, scene_graph: SceneGraph, ids: dict[str, list[GeometryId]]) -> None:
        objects = set(self._system.object_names)
        groups: dict[str, list[GeometryId]] = {}
        for key, members in ids.items():
            owner = key.split("/")[0]
            groups.setdefault(owner if owner in objects else "robots", []).extend(members)
        for members in groups.values():
            declaration = CollisionFilterDeclaration().ExcludeWithin(GeometrySet(members))
            scene_graph.collision_filter_manager().Apply(declaration)

    def _map_indices(self, parts: list[PlantPart]) -> None:
        """Fill the maps q_drake[q_map[i]] = q[i] and v_drake[v_map[i]] = v[i]; free objects have Drake's order."""
        self._q_map = np.zeros(self._system.n_q, dtype=np.int64)
        self._v_map = np.zeros(self._system.n_v, dtype=np.int64)
        for part in parts:
            for slot in joint_slots(self._system, part):
                q0, v0, n_q, n_v = self._locate(part, slot)
                self._q_map[slot.i_q : slot.i_q + n_q] = q0 + np.arange(n_q)
                self._v_map[slot.i_v : slot.i_v + n_v] = v0 + np.arange(n_v)
        self._a_map = self._v_map[self._system.n_v_u :]
        self._object_of_body = {
            int(body): index
            for index, name in enumerate(self._system.object_names)
            for body in self._plant.GetBodyIndices(self._instances[name])
        }

    def _locate(self, part: PlantPart, slot: JointSlot) -> tuple[int, int, int, int]:
        """Return the first index in Drake's q and v, and the number of positions and velocities."""
        instance = self._instances[part.owner]
        if slot.joint is None:
            body = self._plant.GetBodyByName(part.root, instance)
            return body.floating_positions_start(), body.floating_velocities_start_in_v(), 7, 6
        joint = self._plant.GetJointByName(slot.joint, instance)
        return joint.position_start(), joint.velocity_start(), joint.num_positions(), joint.num_velocities()

    @property
    def time_ns(self) -> int:
        """Simulated time, ns."""
        return T0_NS + self._steps * STEP_NS

    def reset(self, q: FloatArray, v: FloatArray | None = None) -> None:
        """See `Plant.reset`; a new context, so that nothing of the last run is left."""
        system = self._system
        q = self._perturbation.displace_objects(system, system.check_q(q))
        v = np.zeros(system.n_v) if v is None else check_vector("v", v, system.n_v)
        root = self._diagram.CreateDefaultContext()
        self._context = self._plant.GetMyMutableContextFromRoot(root)
        q_drake, v_drake = np.empty(self._plant.num_positions()), np.empty(self._plant.num_velocities())
        q_drake[self._q_map], v_drake[self._v_map] = q, v
        self._mimic_rows.follow(q_drake, v_drake)
        self._plant.SetPositions(self._context, q_drake)
        self._plant.SetVelocities(self._context, v_drake)
        self._torque_input = self._plant.get_actuation_input_port().FixValue(self._context, np.zeros(system.n_a))
        self._simulator.reset_context(root)
        self._simulator.Initialize()
        self._steps = 0
        self._torques = JointTorques(np.zeros(system.n_a), np.zeros(system.n_a))
        self._actuation.reset(q[system.n_q_u :])

    def step(self, command: FloatArray) -> None:
        """See `Plant.step`; the torque acts explicitly, joint damping and contact implicitly."""
        q_a = self._plant.GetPositions(self._context)[self._q_map[self._system.n_q_u :]]
        v_a = self._plant.GetVelocities(self._context)[self._a_map]
        gravity = self._compute_gravity() if self._actuation.needs_gravity else None
        self._torques = self._actuation.compute(command, q_a, v_a, gravity)
        tau = self._torques.applied + self._torques.disturbance
        self._torque_input.GetMutableData().get_mutable_value().set_value(tau)
        self._steps += 1
        self._simulator.AdvanceTo(self._steps * STEP_S)

    def _compute_gravity(self) -> FloatArray:
        """Torques (n_a,) that carry the robot's own weight, N m."""
        weight = -self._plant.CalcGravityGeneralizedForces(self._context)
        self._mimic_rows.gather(weight)
        return weight[self._a_map]

    def state(self, *, with_contacts: bool = True) -> PlantState:
        """See `Plant.state`."""
        q = self._plant.GetPositions(self._context)[self._q_map]
        v = self._plant.GetVelocities(self._context)[self._v_map]
        contacts = self._read_contacts() if with_contacts else NO_CONTACTS
        return PlantState(self.time_ns, q, v, *self._torques, contacts)

    def _read_contacts(self) -> FloatArray:
        """Contacts (k, 7) that the last step solved; Drake's sampled output port keeps them."""
        if self._steps == 0:
            return np.zeros((0, 7))
        results = self._plant.get_contact_results_output_port().Eval(self._context)
        rows = np.empty((results.num_point_pair_contacts(), 7))
        for row, index in zip(rows, range(len(rows)), strict=True):
            info = results.point_pair_contact_info(index)
            first, second = (self._object_of_body.get(int(body), _NO_OBJECT) for body in _bodies(info))
            row[:3] = info.contact_point()
            row[3:6] = info.contact_force() if second < first else -info.contact_force()  # Drake's acts on body B
            row[6] = info.point_pair().depth
        return rows


def _bodies(info: PointPairContactInfo) -> tuple[BodyIndex, BodyIndex]:
    return info.bodyA_index(), info.bodyB_index()


def solve_friction(system: System, mu: FloatArray) -> list[float]:
    """Return one coefficient per geometry such that Drake's combination of two gives mu (n_pairs,) for every pair.

    Drake takes 2 mu_A mu_B / (mu_A + mu_B). Of geometries linked by pairs the object's with the largest mu gets
    just that; the others follow from pair to pair.

    Raises
    ------
    ModelError
        No such coefficients, e.g. a geometry has different friction with different geometries of one body.
    """
    found: dict[int, float] = {}
    open_pairs = sorted(zip(mu.tolist(), system.pairs, strict=True), key=lambda item: -item[0])
    while open_pairs:
        known = [item for item in open_pairs if found.keys() & _ends(item[1])]
        open_pairs = [item for item in open_pairs if not found.keys() & _ends(item[1])]
        if not known:
            value, pair = open_pairs[0]
            found[pair.geometry_a] = value
            continue
        for value, pair in known:
            if not _follow(found, value, pair):
                links = [system.geometries[index].link for index in (pair.geometry_a, pair.geometry_b)]
                raise ModelError(
                    f"{system.path}: friction: Drake cannot give {links[0]} - {links[1]} mu = {value:g} and the other "
                    f"pairs of {links[1]} theirs; use one mu per link, or the plant 'mujoco'"
                )
    return [found.get(index, 0.0) for index in range(len(system.geometries))]


def _ends(pair: ContactPair) -> set[int]:
    return {pair.geometry_a, pair.geometry_b}


def _follow(found: dict[int, float], value: float, pair: ContactPair) -> bool:
    """Set the coefficient of a pair's other geometry from the one that is known; False if both disagree with value."""
    known, other = (
        (pair.geometry_a, pair.geometry_b) if pair.geometry_a in found else (pair.geometry_b, pair.geometry_a)
    )
    mu = found[known]
    if 2.0 * mu <= value:
        return value == 0.0  # mu = 0 against anything slides
    needed = value * mu / (2.0 * mu - value)
    return abs(found.setdefault(other, needed) - needed) <= FRICTION_TOLERANCE
