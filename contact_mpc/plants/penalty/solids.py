"""Shapes of a system as solids: a closed mesh, and the half-spaces whose intersection it is.

Spheres, capsules and cylinders become polytopes between the inscribed and the circumscribed one, of the volume of the
round shape: contacts of smooth shapes otherwise begin too late by the sagitta of a facet. A half-space has no mesh.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from contact_mpc.errors import ModelError
from contact_mpc.model.polytopes import outward_triangles
from contact_mpc.model.urdf import Shape
from contact_mpc.plants.penalty.meshes import TriangleMesh
from contact_mpc.settings.arrays import FloatArray

SUBDIVISIONS = 3  # of an icosahedron: 1280 triangles
FINGER_SUBDIVISIONS = 2  # 320 triangles
ROUND_SIDES = 48
PLANE_TOLERANCE = 1e-9
HALF_SPACE_M = 20.0


@dataclass(frozen=True)
class Solid:
    """A body's geometry in its own frame; planes (k, 4): n . x + d <= 0 inside, none where it is not convex."""

    mesh: TriangleMesh
    planes: FloatArray

    @property
    def is_convex(self) -> bool:
        """Whether it is the intersection of its half-spaces."""
        return len(self.planes) > 0


def solid_of(shape: Shape, subdivisions: int = SUBDIVISIONS) -> Solid:
    """Return a shape in its own frame; `subdivisions` counts for spheres and for the ends of capsules."""
    if shape.kind == "half_space":
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-1.0, 0.0)])
        return convex_solid(HALF_SPACE_M * corners)
    if shape.kind == "sphere":
        points = shape.size[0] * unit_sphere(subdivisions)
        return _round_hull(points, 4.0 / 3.0 * np.pi * shape.size[0] ** 3)
    if shape.kind == "capsule":
        return _capsule(shape.size[0], shape.size[1], subdivisions)
    if shape.kind == "cylinder":
        return _cylinder(shape.size[0], shape.size[1])
    if shape.kind == "box":
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        return convex_solid(corners * np.array(shape.size))
    if shape.kind == "hull":
        return convex_solid(shape.vertices)
    raise ModelError(f"the plant 'penalty' knows no shape '{shape.kind}'; use a primitive or a mesh")


def convex_solid(points: FloatArray) -> Solid:
    """Return the convex hull of points (n, 3)."""
    hull = ConvexHull(points)
    vertices = np.ascontiguousarray(points[hull.vertices])
    return Solid(TriangleMesh(vertices, outward_triangles(vertices).astype(np.int64)), distinct_planes(hull.equations))


def mesh_solid(mesh: TriangleMesh) -> Solid:
    """Return a mesh as a solid without half-spaces: it is clipped by others, or meets them through manifold3d."""
    return Solid(mesh, np.zeros((0, 4)))


def distinct_planes(planes: FloatArray) -> FloatArray:
    """Return planes (k, 4) without repetitions to PLANE_TOLERANCE: triangles of one face have one plane."""
    _, first = np.unique(np.round(planes / PLANE_TOLERANCE), axis=0, return_index=True)
    return np.ascontiguousarray(planes[np.sort(first)])


def unit_sphere(subdivisions: int) -> FloatArray:
    """Return the vertices of an icosahedron of radius 1, each edge halved `subdivisions` times."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    points = np.array([[0.0, a, b * golden] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    points = np.vstack([points, np.roll(points, 1, axis=1), np.roll(points, 2, axis=1)])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for _ in range(subdivisions):
        simplices = ConvexHull(points).simplices
        edges = np.unique(np.sort(np.vstack([simplices[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1), axis=0)
        middles = points[edges].sum(axis=1)
        points = np.vstack([points, middles / np.linalg.norm(middles, axis=1, keepdims=True)])
    return points


def _capsule(radius: float, length: float, subdivisions: int) -> Solid:
    ball = radius * unit_sphere(subdivisions)
    shift = np.array([0.0, 0.0, 0.5 * length])
    points = np.vstack([ball[ball[:, 2] >= -1e-12] + shift, ball[ball[:, 2] <= 1e-12] - shift])
    return _round_hull(points, np.pi * radius**2 * (length + 4.0 / 3.0 * radius), length)


def _cylinder(radius: float, length: float) -> Solid:
    angle = 2.0 * np.pi * np.arange(ROUND_SIDES) / ROUND_SIDES
    # of the area of the circle
    outer = radius * np.sqrt(2.0 * np.pi / (ROUND_SIDES * np.sin(2.0 * np.pi / ROUND_SIDES)))
    ring = outer * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(ROUND_SIDES)])
    shift = np.array([0.0, 0.0, 0.5 * length])
    return convex_solid(np.vstack([ring + shift, ring - shift]))


def _round_hull(points: FloatArray, volume: float, length: float = 0.0) -> Solid:
    """Return the hull of points, swelled about the segment of this length along z to the volume of the round shape."""
    core = np.column_stack([np.zeros((len(points), 2)), np.clip(points[:, 2], -0.5 * length, 0.5 * length)])
    factor = 1.0
    for _ in range(20):
        found = ConvexHull(core + factor * (points - core)).volume
        factor *= (volume / found) ** (1.0 / 3.0)
    return convex_solid(core + factor * (points - core))
