"""Shapes at rest in the world for Drake's plant, and the points with which objects stand on a half-space.

Drake's point contact gives one point per pair of shapes. A box on the ground would stand on its deepest corner, another
one at every step, and rock. So, as in the model (`contact_mpc.model.contact_points`), a box touches a half-space with
its corners, a capsule with its ends and a cylinder with points of its rims: small spheres on the object that collide
with nothing else, while the shape itself does not collide with the half-space.
"""

from pydrake.geometry import (
    AddContactMaterial,
    Box,
    Capsule,
    CollisionFilterDeclaration,
    Cylinder,
    GeometryId,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from pydrake.geometry import Shape as DrakeShape
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import CoulombFriction, MultibodyPlant
from pydrake.multibody.tree import ModelInstanceIndex

from contact_mpc.model.contact_points import surface_points
from contact_mpc.model.kinematic_tree import Geometry
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Shape
from contact_mpc.settings.arrays import FloatArray

STIFFNESS_N_PER_M = 2.0e4
RELAXATION_TIME_S = 0.002
POINT_RADIUS_M = 1e-6  # of a corner; Drake knows no sphere of radius 0


def contact_properties(mu: float) -> ProximityProperties:
    """Return stiffness, damping and friction of one shape, half of what a pair has.

    Drake combines k = k_A k_B / (k_A + k_B) and tau = tau_A + tau_B.
    """
    properties = ProximityProperties()
    AddContactMaterial(None, 2.0 * STIFFNESS_N_PER_M, CoulombFriction(mu, mu), properties)
    properties.AddProperty("material", "relaxation_time", 0.5 * RELAXATION_TIME_S)
    return properties


def register_fixed(plant: MultibodyPlant, item: Geometry, properties: ProximityProperties) -> GeometryId:
    """Add a shape at rest to the world of a plant that is not finalised yet."""
    X_WG = RigidTransform(RotationMatrix(item.X_BG.R), item.X_BG.p)
    shape = _drake_shape(item.shape)
    return plant.RegisterCollisionGeometry(plant.world_body(), X_WG, shape, f"{item.owner}_at_rest", properties)


def _drake_shape(shape: Shape) -> DrakeShape:
    kinds = {"half_space": HalfSpace, "sphere": Sphere, "box": Box, "capsule": Capsule, "cylinder": Cylinder}
    return kinds[shape.kind](*shape.size)


def add_ground_points(
    plant: MultibodyPlant,
    system: System,
    instances: dict[str, ModelInstanceIndex],
    friction: list[float],
    size_scale: float,
) -> list[GeometryId]:
    """Put the points with which objects stand on half-spaces on the objects' bodies; call it before ids are looked up.

    Drake hands out ids as references into a body's list, which adding a geometry invalidates.

    Parameters
    ----------
    friction : list
        Coefficient of every `system.geometries`.
    size_scale : float
        Factor on the shapes of the objects.
    """
    points: list[GeometryId] = []
    for index in _standing(system):
        item = system.geometries[index]
        body = plant.GetBodyByName(item.link, instances[item.owner])
        radius = item.shape.size[0] if item.shape.kind == "capsule" else POINT_RADIUS_M
        for number, p_BP in enumerate(_points_of(item.shape)):
            points.append(plant.RegisterCollisionGeometry(
                body, RigidTransform(size_scale * p_BP), Sphere(size_scale * radius), f"point_{index}_{number}",
                contact_properties(friction[index]),
            ))  # fmt: skip
    return points


def filter_ground_points(
    scene_graph: SceneGraph, system: System, ids: list[GeometryId], points: list[GeometryId]
) -> None:
    """Let the points touch half-spaces alone, and their shapes no longer; ids are those of `system.geometries`."""
    grounds = [one for one, item in zip(ids, system.geometries, strict=True) if item.shape.kind == "half_space"]
    others = [one for one, item in zip(ids, system.geometries, strict=True) if item.shape.kind != "half_space"]
    _exclude(scene_graph, [ids[index] for index in _standing(system)], grounds)
    _exclude(scene_graph, points, others)
    scene_graph.collision_filter_manager().Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(points)))


def _standing(system: System) -> list[int]:
    """Return the geometries of objects, spheres apart, that may touch a half-space."""
    shapes = [item.shape.kind for item in system.geometries]
    pairs = [pair for pair in system.pairs if shapes[pair.geometry_b] == "half_space"]
    return sorted({pair.geometry_a for pair in pairs if shapes[pair.geometry_a] != "sphere"})


def _points_of(shape: Shape) -> list[FloatArray]:
    """Return the points of a shape in the frame of its link, m; Drake's bodies are links."""
    return [shape.X_LG.R @ p + shape.X_LG.p for kind, _, p in surface_points(shape) if kind == "sphere"]


def _exclude(scene_graph: SceneGraph, first: list[GeometryId], second: list[GeometryId]) -> None:
    declaration = CollisionFilterDeclaration().ExcludeBetween(GeometrySet(first), GeometrySet(second))
    scene_graph.collision_filter_manager().Apply(declaration)
