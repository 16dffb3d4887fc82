"""Cores of shapes as polytopes in flat arrays: vertices, faces with their corners, and what is incident to a vertex.

A sphere is a vertex with a radius, a capsule a segment with a radius, a box and a hull are polytopes of radius 0. Faces
of a hull whose triangles lie in one plane (to COPLANAR) are one face. Of a face with more than `FACE_CORNERS` corners
as many are kept, spread evenly: only the contacts of faces that lie on each other are drawn from them.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from contact_mpc.model.urdf import Shape
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
COPLANAR = 1e-6  # sine of the angle between normals, and offset against the size of the hull
FACE_CORNERS = 8


class Polytopes(NamedTuple):
    """Polytopes of geometries g, one after the other; indices of vertices and faces count over all of them.

    radius : (n_g,) of the sphere that is swept over the core, m;  reach : (n_g,) bounding sphere about `centre`, m
    vertex_start (n_g + 1,), vertices (n, 3) : m, in the geometry's frame; none for cylinders and half-spaces
    normals (n_f, 3), corner_start (n_f + 1,), corners : vertices of a face in counter-clockwise order
    face_start (n + 1,), faces : faces at a vertex;  edge_start (n + 1,), edges : vertices at the other end of its edges
    """

    radius: FloatArray
    centre: FloatArray
    reach: FloatArray
    vertex_start: IntArray
    vertices: FloatArray
    normals: FloatArray
    corner_start: IntArray
    corners: IntArray
    face_start: IntArray
    faces: IntArray
    edge_start: IntArray
    edges: IntArray


@dataclass
class _Topology:
    """Vertices (n, 3) with the faces (normal, corners in order, all members) of one polytope."""

    vertices: FloatArray
    normals: list[FloatArray] = field(default_factory=list)
    corners: list[list[int]] = field(default_factory=list)
    edges: set[tuple[int, int]] = field(default_factory=set)

    def add_face(self, normal: FloatArray, members: list[int]) -> None:
        """Add the face with these vertices, in any order."""
        centre = self.vertices[members].mean(axis=0)
        x = self.vertices[members[0]] - centre
        x = x / np.linalg.norm(x)
        y = np.cross(normal, x)
        angle = np.arctan2((self.vertices[members] - centre) @ y, (self.vertices[members] - centre) @ x)
        ordered = [members[i] for i in np.argsort(angle)]
        self.normals.append(normal)
        self.corners.append(ordered)
        for i, j in zip(ordered, ordered[1:] + ordered[:1], strict=True):
            self.edges |= {(i, j), (j, i)}


def build_polytopes(shapes: list[Shape]) -> Polytopes:
    """Lay out the cores of shapes, in their order."""
    found = [_topology(shape) for shape in shapes]
    starts = np.cumsum([0] + [len(item.vertices) for item in found])
    normals: list[FloatArray] = []
    corners: list[list[int]] = []
    faces: list[list[int]] = []
    edges: list[list[int]] = []
    for start, item in zip(starts, found, strict=False):
        for v in range(len(item.vertices)):
            faces.append([len(normals) + f for f, members in enumerate(item.corners) if v in members])
            edges.append([int(start) + j for i, j in sorted(item.edges) if i == v])
        normals += item.normals
        corners += [[int(start) + v for v in _spread(members)] for members in item.corners]
    bounds = [_bound(shape, item.vertices) for shape, item in zip(shapes, found, strict=True)]
    return Polytopes(
        np.array([shape.size[0] if shape.kind in ("sphere", "capsule") else 0.0 for shape in shapes]),
        np.array([centre for centre, _ in bounds]).reshape(-1, 3),
        np.array([reach for _, reach in bounds]),
        starts,
        np.concatenate([np.zeros((0, 3)), *(item.vertices for item in found)]),
        np.array(normals).reshape(-1, 3),
        *_rows(corners),
        *_rows(faces),
        *_rows(edges),
    )


def _rows(lists: list[list[int]]) -> tuple[IntArray, IntArray]:
    """Return where each list starts, and all of them in a row."""
    values = np.array([value for row in lists for value in row], dtype=np.int64)
    return np.cumsum([0] + [len(row) for row in lists]), values


def _spread(members: list[int]) -> list[int]:
    count = len(members)
    return members if count <= FACE_CORNERS else [members[i * count // FACE_CORNERS] for i in range(FACE_CORNERS)]


def _topology(shape: Shape) -> _Topology:
    if shape.kind == "sphere":
        return _Topology(np.zeros((1, 3)))
    if shape.kind == "capsule":
        ends = np.array([[0.0, 0.0, -0.5 * shape.size[1]], [0.0, 0.0, 0.5 * shape.size[1]]])
        return _Topology(ends, edges={(0, 1), (1, 0)})
    if shape.kind == "box":
        return _faces_of(0.5 * np.array(shape.size) * np.array(list(product((-1.0, 1.0), repeat=3))))
    return _faces_of(shape.vertices) if shape.kind == "hull" else _Topology(np.zeros((0, 3)))


def _faces_of(vertices: FloatArray) -> _Topology:
    """Return the faces of the convex hull of vertices, all of which are on it."""
    topology = _Topology(vertices)
    hull = ConvexHull(vertices)
    size = float(np.ptp(vertices, axis=0).max())
    left = list(range(len(hull.simplices)))
    while left:
        plane = hull.equations[left[0]]
        same = [
            f
            for f in left
            if np.linalg.norm(np.cross(hull.equations[f, :3], plane[:3])) < COPLANAR
            and hull.equations[f, :3] @ plane[:3] > 0.0
            and abs(hull.equations[f, 3] - plane[3]) < COPLANAR * size
        ]
        left = [f for f in left if f not in same]
        topology.add_face(plane[:3], sorted({int(v) for f in same for v in hull.simplices[f]}))
    return topology


def outward_triangles(vertices: FloatArray) -> IntArray:
    """Return the triangles (m, 3) of a hull, counter-clockwise from outside."""
    hull = ConvexHull(vertices)
    a, b, c = (vertices[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)


def _bound(shape: Shape, vertices: FloatArray) -> tuple[FloatArray, float]:
    """Return centre and radius of a bounding sphere, m, in the geometry's frame; without end for a half-space."""
    if shape.kind in ("half_space", "rim"):
        return np.zeros(3), np.inf
    if shape.kind == "cylinder":
        return np.zeros(3), float(np.hypot(shape.size[0], 0.5 * shape.size[1]))
    centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    radius = shape.size[0] if shape.kind in ("sphere", "capsule") else 0.0
    return centre, float(np.linalg.norm(vertices - centre, axis=1).max()) + radius
