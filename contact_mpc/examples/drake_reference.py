"""The model of an example in Drake's MultibodyPlant: second order, SAP solver, any time step.

The same masses, springs, gravity, friction and contact points: corners of boxes touch the ground as spheres of radius
0, as in `contact_mpc.model.contact_points` (Drake by itself gives a box on a half-space one contact, which jumps). The
joints are driven by Drake's implicit PD control Kp (u - q) + Kd (du - dq), without their own weight.
Contact is as stiff and as damped as in `plants.drake.plant`; a stiffer ground would make a box that slides at
0.1 m/s hop.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from logging import ERROR, getLogger
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant_model import build_parts, joint_slots
from contact_mpc.settings.arrays import FloatArray

STIFFNESS_N_PER_M = 2.0e4
RELAXATION_TIME_S = 0.002  # of a pair


@dataclass(frozen=True)
class Reference:
    """A run in Drake: end of steps (N,), s; q (N, n_q); force of the ground (N, 3) and of robots (N, 3) on objects, N.

    wall_s is what the steps took, s.
    """

    times_s: FloatArray
    q: FloatArray
    ground_force: FloatArray
    robot_force: FloatArray
    wall_s: float


def require_drake() -> None:
    """Raise ConfigError where Drake is not installed."""
    if find_spec("pydrake") is None:
        raise ConfigError("this example compares with Drake; install it with: pip install 'contact_mpc[drake]'")


def simulate_drake(
    system: System, q_start: FloatArray, command: Callable[[float], FloatArray], duration_s: float, h_s: float
) -> Reference:
    """Simulate from rest with the command taken at the end of each step, as `trajectory.simulate` does."""
    require_drake()
    from pydrake.systems.analysis import Simulator

    diagram, plant, desired, q_map = _build(system, h_s)
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    q_drake = np.zeros(plant.num_positions())
    q_drake[q_map] = q_start
    plant.SetPositions(context, q_drake)
    simulator.Initialize()
    rows, wall_s = [], 0.0
    for k in range(round(duration_s / h_s)):
        u, u_before = command((k + 1) * h_s), command(k * h_s)
        desired.FixValue(context, np.concatenate([u, (u - u_before) / h_s]))
        begin = time.perf_counter()
        simulator.AdvanceTo((k + 1) * h_s)
        wall_s += time.perf_counter() - begin
        rows.append((plant.GetPositions(context)[q_map], *_forces(plant, context, system)))
    q, ground, robot = (np.array([row[i] for row in rows]) for i in range(3))
    times_s = np.asarray(h_s * np.arange(1, len(rows) + 1), dtype=np.float64)
    return Reference(times_s, q, ground, robot, wall_s)


def _build(system: System, h_s: float) -> tuple[Any, Any, Any, NDArray[np.int64]]:
    """Return diagram, plant, the port of desired joint states, and q_drake[q_map] = q."""
    getLogger("drake").setLevel(ERROR)  # it warns that half-spaces do not touch deformable bodies
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    config = MultibodyPlantConfig(time_step=h_s, discrete_contact_approximation="sap", contact_model="point")
    plant, scene_graph = AddMultibodyPlant(config, builder)
    parts, instances = build_parts(system, PlantPerturbation()), {}
    for part in parts:
        (instances[part.owner],) = Parser(plant).AddModelsFromString(part.urdf_text, "urdf")
        if not part.is_free:
            root = plant.GetBodyByName(part.root, instances[part.owner]).body_frame()
            plant.WeldFrames(plant.world_frame(), root, RigidTransform(RotationMatrix(part.X_WR.R), part.X_WR.p))
        if part.is_robot:
            plant.set_gravity_enabled(instances[part.owner], False)
    _add_drives(plant, system, instances)
    _add_contact(plant, scene_graph, system, instances)
    plant.mutable_gravity_field().set_gravity_vector(system.config.gravity_m_s2)
    plant.Finalize()
    (robot,) = (item.name for item in system.config.robots)
    q_map = _map(plant, system, parts, instances)
    return builder.Build(), plant, plant.get_desired_state_input_port(instances[robot]), q_map


def _add_drives(plant: Any, system: System, instances: dict[str, Any]) -> None:
    from pydrake.multibody.tree import PdControllerGains

    if len(system.config.robots) != 1:
        raise ModelError(f"{system.path}: the Drake reference drives one robot, found {len(system.config.robots)}")
    robot = system.config.robots[0].name
    for name, kp, kd in zip(system.joint_names, system.kp, system.kd, strict=True):
        actuator = plant.AddJointActuator(name, plant.GetJointByName(name, instances[robot]))
        actuator.set_controller_gains(PdControllerGains(p=kp, d=kd))


def _add_contact(plant: Any, scene_graph: Any, system: System, instances: dict[str, Any]) -> None:
    """Give every shape its material, add the ground and the points that touch it."""
    from pydrake.geometry import CollisionFilterDeclaration, GeometrySet, HalfSpace, RoleAssign, Sphere
    from pydrake.math import RigidTransform, RotationMatrix

    mus = {pair.mu for pair in system.pairs}
    if len(mus) != 1 or any(item.shape != "half_space" for item in system.config.fixed):
        raise ModelError(f"{system.path}: the Drake reference has one mu, found {sorted(mus)}, and fixed half-spaces")
    mu, ground, shapes, points = mus.pop(), [], [], []
    for item in system.config.fixed:
        (g,) = (k for k, geometry in enumerate(system.geometries) if geometry.owner == item.name)
        X_WG = RigidTransform(RotationMatrix(system.tree.R_BG[g]), system.tree.p_BG[g])
        ground.append(plant.RegisterCollisionGeometry(plant.world_body(), X_WG, HalfSpace(), item.name, _material(mu)))
    for instance in instances.values():
        for body in plant.GetBodyIndices(instance):
            for geometry_id in plant.GetCollisionGeometriesForBody(plant.get_body(body)):
                shapes.append(geometry_id)
                scene_graph.AssignRole(plant.get_source_id(), geometry_id, _material(mu), RoleAssign.kReplace)
    is_point = {c.geometry_a for c in system.contacts if c.geometry_a >= len(system.geometries)}
    for g in sorted(is_point):
        (owner, link), frame = next(
            (key, X_BL) for key, (b, X_BL) in system.links.items() if b == system.tree.geom_body[g]
        )
        body = plant.GetBodyByName(link, instances[owner])
        p_LG = frame.R.T @ (system.tree.p_BG[g] - frame.p)
        sphere = Sphere(float(system.tree.geom_size[g, 0]))
        points.append(plant.RegisterCollisionGeometry(body, RigidTransform(p_LG), sphere, f"point_{g}", _material(mu)))
    manager = scene_graph.collision_filter_manager()
    if points:
        declaration = CollisionFilterDeclaration()
        manager.Apply(declaration.ExcludeWithin(GeometrySet(shapes + points)).AllowWithin(GeometrySet(shapes)))
    manager.Apply(CollisionFilterDeclaration().ExcludeBetween(GeometrySet(shapes), GeometrySet(ground)))


def _material(mu: float) -> Any:
    from pydrake.geometry import AddContactMaterial, ProximityProperties
    from pydrake.multibody.plant import CoulombFriction

    properties = ProximityProperties()
    AddContactMaterial(None, 2.0 * STIFFNESS_N_PER_M, CoulombFriction(mu, mu), properties)
    properties.AddProperty("material", "relaxation_time", 0.5 * RELAXATION_TIME_S)
    return properties


def _map(plant: Any, system: System, parts: list[Any], instances: dict[str, Any]) -> NDArray[np.int64]:
    q_map = np.zeros(system.n_q, dtype=np.int64)
    for part in parts:
        for slot in joint_slots(system, part):
            if slot.joint is None:
                body = plant.GetBodyByName(part.root, instances[part.owner])
                q_map[slot.i_q : slot.i_q + 7] = body.floating_positions_start() + np.arange(7)
            else:
                q_map[slot.i_q] = plant.GetJointByName(slot.joint, instances[part.owner]).position_start()
    return q_map


def _forces(plant: Any, context: Any, system: System) -> tuple[FloatArray, FloatArray]:
    """Return the force of the ground and of the robot on the objects in the last step (3,), N."""
    objects = {int(b) for name in system.object_names for b in plant.GetBodyIndices(plant.GetModelInstanceByName(name))}
    results = plant.get_contact_results_output_port().Eval(context)
    forces = {True: np.zeros(3), False: np.zeros(3)}
    for i in range(results.num_point_pair_contacts()):
        info = results.point_pair_contact_info(i)
        a, b = int(info.bodyA_index()), int(info.bodyB_index())
        other, sign = (a, 1.0) if b in objects else (b, -1.0)
        forces[other == int(plant.world_body().index())] += sign * info.contact_force()
    return forces[True], forces[False]
