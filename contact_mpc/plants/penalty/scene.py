"""A system with a plant's perturbation as flat arrays: tree, joints, solids and the pairs that may overlap."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.kinematic_tree import Geometry, IntArray, Tree
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Link, Pose
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.penalty.meshes import TriangleMesh, check_mesh
from contact_mpc.plants.penalty.solids import FINGER_SUBDIVISIONS, SUBDIVISIONS, Solid, mesh_solid, solid_of
from contact_mpc.settings.arrays import FloatArray

CONVEX, CHAIN, BOOLEAN = 0, 1, 2  # how a pair's overlap is found: both convex, A any and B convex, any
LIMIT_RAD = 0.005  # how far a joint is pressed into its stop at its effort limit, rad (m)
LIMIT_RELAXATION_S = 1e-3
LEAST_LIMIT_NM = 1.0


class Scene(NamedTuple):
    """What does not change in a run.

    tree, gravity (3,);  joints (n_v, 6): reflected inertia, damping, lower and upper limit, stiffness and damping there
    pairs (n_p, 5): geometries A and B, their bodies, kind;  contact (n_p, 2): mu, m_A + m_B, kg
    corners (n, 9), facets (n, 4), planes (k, 4), spheres (n_g, 4), in the frames of bodies; starts (n_g + 1, 2) of the
    triangles and of the planes of each geometry
    """

    tree: Tree
    gravity: FloatArray
    joints: FloatArray
    pairs: IntArray
    contact: FloatArray
    corners: FloatArray
    facets: FloatArray
    planes: FloatArray
    spheres: FloatArray
    starts: IntArray


def build_scene(
    system: System, perturbation: PlantPerturbation, meshes: Mapping[str, TriangleMesh], only_booleans: bool = False
) -> tuple[Scene, list[Solid]]:
    """Return a system's scene and the solids of its geometries, in the frames of their bodies.

    Parameters
    ----------
    meshes : mapping
        Meshes (in the frame of the link) that take the place of the hulls of objects of one shape, by object.
    only_booleans : bool
        Whether every overlap is found by manifold3d.

    Raises
    ------
    ModelError
        A mesh is open, intersects itself or has no volume, or names an object that is not there or has many shapes.
    """
    _check_meshes(system, meshes)
    solids = [
        _place(_solid(system, item, meshes, perturbation.size_scale), _frame(item, system, perturbation.size_scale))
        for item in system.geometries
    ]
    tree = _perturbed_tree(system, perturbation)
    bodies = [item.body for item in system.geometries]
    pairs = np.array(
        [
            (pair.geometry_a, pair.geometry_b, bodies[pair.geometry_a], bodies[pair.geometry_b],
             _kind(solids[pair.geometry_a], solids[pair.geometry_b], only_booleans))
            for pair in system.pairs
        ],
        dtype=np.int64,
    ).reshape(-1, 5)  # fmt: skip
    mass = np.append(tree.mass, 0.0)  # the world's, at index -1
    contact = np.column_stack([perturbation.pair_friction(system), mass[pairs[:, 2]] + mass[pairs[:, 3]]])
    triangles = [corners_of(solid) for solid in solids]
    starts = np.zeros((len(solids) + 1, 2), dtype=np.int64)
    starts[1:, 0] = np.cumsum([len(item) for item in triangles])
    starts[1:, 1] = np.cumsum([len(solid.planes) for solid in solids])
    corners = np.concatenate([np.zeros((0, 9)), *triangles])
    return Scene(
        tree,
        np.array(system.config.gravity_m_s2, dtype=np.float64),
        _joints(system),
        pairs,
        contact.reshape(-1, 2),
        corners,
        _facets(corners),
        np.concatenate([np.zeros((0, 4)), *(solid.planes for solid in solids)]),
        np.array([_sphere(solid) for solid in solids]).reshape(-1, 4),
        starts,
    ), solids


def corners_of(solid: Solid) -> FloatArray:
    """Return the triangles (m, 9) of a solid."""
    return np.ascontiguousarray(solid.mesh.vertices[solid.mesh.triangles].reshape(-1, 9))


def _check_meshes(system: System, meshes: Mapping[str, TriangleMesh]) -> None:
    for name, mesh in meshes.items():
        count = sum(item.owner == name for item in system.geometries)
        if name not in system.object_names or count != 1:
            raise ModelError(
                f"mesh of '{name}': expected an object with one shape, found {count}; objects: "
                f"{', '.join(system.object_names)}"
            )
        check_mesh(mesh, f"mesh of '{name}'")


def _solid(system: System, item: Geometry, meshes: Mapping[str, TriangleMesh], size_scale: float) -> Solid:
    """Return one geometry in its own frame, scaled where an object owns it."""
    is_object = item.owner in system.object_names
    if item.owner in meshes:
        solid = mesh_solid(meshes[item.owner])
    else:
        solid = solid_of(item.shape, SUBDIVISIONS if is_object else FINGER_SUBDIVISIONS)
    if not is_object or size_scale == 1.0:
        return solid
    return Solid(solid.mesh.scaled(size_scale), solid.planes * np.array([1.0, 1.0, 1.0, size_scale]))


def _frame(item: Geometry, system: System, size_scale: float) -> Pose:
    """Return a geometry's pose in its body; shapes of objects are scaled about the frames of their links."""
    if item.body < 0:
        return item.X_BG
    _, X_BL = system.links[item.owner, item.link]
    X_LG = item.shape.X_LG
    scale = size_scale if item.owner in system.object_names else 1.0
    return X_BL @ Pose(X_LG.R, scale * X_LG.p)


def _place(solid: Solid, X: Pose) -> Solid:
    mesh = TriangleMesh(solid.mesh.vertices @ X.R.T + X.p, solid.mesh.triangles)
    normals = solid.planes[:, :3] @ X.R.T
    return Solid(mesh, np.column_stack([normals, solid.planes[:, 3] - normals @ X.p]))


def _kind(a: Solid, b: Solid, only_booleans: bool) -> int:
    if only_booleans or not b.is_convex:
        return BOOLEAN
    return CONVEX if a.is_convex else CHAIN


def _facets(corners: FloatArray) -> FloatArray:
    """Return the planes (m, 4) of triangles."""
    p = corners.reshape(-1, 3, 3)
    normals = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return np.column_stack([normals, -np.einsum("ij,ij->i", normals, p[:, 0])])


def _sphere(solid: Solid) -> FloatArray:
    vertices = solid.mesh.vertices
    centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    return np.append(centre, np.linalg.norm(vertices - centre, axis=1).max())


def _joints(system: System) -> FloatArray:
    rows = np.zeros((system.n_v, 6))
    rows[:, 2], rows[:, 3] = -np.inf, np.inf
    rows[system.n_v_u :, 0] = system.reflected_inertia
    for owner, urdf in system.urdfs.items():
        for joint in urdf.moving_joints:
            body, _ = system.links[owner, joint.child]
            stiffness = max(joint.effort, LEAST_LIMIT_NM) / LIMIT_RAD
            rows[system.tree.i_v[body], 1:] = (
                joint.damping, joint.lower, joint.upper, stiffness, stiffness * LIMIT_RELAXATION_S,
            )  # fmt: skip
        for joint, mimic in urdf.mimics.values():
            body, _ = system.links[owner, joint.child]
            rows[system.tree.i_v[body], 1] += mimic.multiplier**2 * joint.damping
    return rows


def _perturbed_tree(system: System, perturbation: PlantPerturbation) -> Tree:
    """Return the tree with the masses and sizes of the objects scaled."""
    tree = system.tree
    mass, p_BC, inertia = tree.mass.copy(), tree.p_BC.copy(), tree.inertia_BC.copy()
    for body in sorted({b for (owner, _), (b, _) in system.links.items() if owner in system.object_names and b >= 0}):
        parts = [
            (system.urdfs[owner].links[name], X_BL)
            for (owner, name), (b, X_BL) in system.links.items()
            if b == body and system.urdfs[owner].links[name].mass > 0.0
        ]
        if parts:
            mass[body], p_BC[body], inertia[body] = _combine(parts, perturbation.mass_scale, perturbation.size_scale)
    return tree._replace(mass=mass, p_BC=p_BC, inertia_BC=inertia)


def _combine(
    parts: list[tuple[Link, Pose]], mass_scale: float, size_scale: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return mass, centre and inertia about it of scaled links in one body."""
    masses = np.array([mass_scale * link.mass for link, _ in parts])
    centres = np.array([X.R @ (size_scale * link.p_LC) + X.p for link, X in parts])
    centre = masses @ centres / masses.sum()
    total = np.zeros((3, 3))
    for m, p, (link, X) in zip(masses, centres - centre, parts, strict=True):
        total += mass_scale * size_scale**2 * X.R @ link.inertia @ X.R.T
        total += m * (float(p @ p) * np.eye(3) - np.outer(p, p))
    return float(masses.sum()), centre, total
