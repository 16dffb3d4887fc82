"""Cores of shapes as polytopes in flat arrays: vertices, faces with their corners, and what is incident to a vertex.

A sphere is a vertex with a radius, a capsule a segment with a radius, a box and a hull are polytopes of radius 0. Faces
of a hull whose triangles lie in one plane (to COPLANAR) are one face. Of a face with more than `FACE_CORNERS` corners
as many are kept, spread evenly: only the contacts of faces that lie on each other are drawn from them.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.urdf import Shape
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
COPLANAR = 1e-6  # sine of the angle between normals, and offset against the size of the hull
FACE_CORNERS = 8


class Polytopes(NamedTuple):
    """Polytopes of geometries g, one after the other; vertices v and faces f count over all of them.

    Few arrays, since compiled functions pay for each that they are handed.

    table : (n_g, 7) radius of the sphere that is swept over the core, m; centre (3) and radius of a bounding sphere, m;
        the first vertex and the one after the last, none for cylinders and half-spaces
    points : (n_v + n_f, 3) vertices, m, in the geometry's frame, then outward normals of the faces
    lists : n_v, n_f, where the lists start (n_v + 1, n_v + 1, n_f + 1), and the lists: faces at a vertex, vertices at
        the other ends of its edges, corners of a face in counter-clockwise order
    """

    table: FloatArray
    points: FloatArray
    lists: IntArray


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
    bounds = np.array([_bound(shape, item.vertices) for shape, item in zip(shapes, found, strict=True)]).reshape(-1, 4)
    radii = np.array([shape.size[0] if shape.kind in ("sphere", "capsule") else 0.0 for shape in shapes])
    return Polytopes(
        np.column_stack([radii, bounds, starts[:-1], starts[1:]]),
        np.concatenate([np.zeros((0, 3)), *(item.vertices for item in found), np.array(normals).reshape(-1, 3)]),
        _index(faces, edges, corners),
    )


def _index(faces: list[list[int]], edges: list[list[int]], corners: list[list[int]]) -> IntArray:
    lists = [*faces, *edges, *corners]
    ends = 2 + len(lists) + 3 + np.cumsum([0] + [len(item) for item in lists])
    starts = [ends[: len(faces) + 1], ends[len(faces) : 2 * len(faces) + 1], ends[2 * len(faces) :]]
    values = np.array([value for item in lists for value in item], dtype=np.int64)
    return np.concatenate([[len(faces), len(corners)], *starts, values]).astype(np.int64)


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
        return _faces_of(box_vertices(shape))
    return _faces_of(shape.vertices) if shape.kind == "hull" else _Topology(np.zeros((0, 3)))


def box_vertices(shape: Shape) -> FloatArray:
    """Return the corners (8, 3) of a box in its frame, m."""
    return np.asarray(0.5 * np.array(shape.size) * np.array(list(product((-1.0, 1.0), repeat=3))))


def convex_hull(vertices: FloatArray) -> Any:
    """Return SciPy's convex hull; its import takes 0.4 s, and many systems have no such shape."""
    from scipy.spatial import ConvexHull

    return ConvexHull(vertices)


def _faces_of(vertices: FloatArray) -> _Topology:
    """Return the faces of the convex hull of vertices, all of which are on it."""
    topology = _Topology(vertices)
    hull = convex_hull(vertices)
    size = float(np.ptp(vertices, axis=0).max())
    normals, offsets = hull.equations[:, :3], hull.equations[:, 3]
    is_left = np.ones(len(normals), dtype=bool)
    while np.any(is_left):
        first = int(np.argmax(is_left))
        same = is_left & (normals @ normals[first] > 0.0) & (np.abs(offsets - offsets[first]) < COPLANAR * size)
        same &= np.linalg.norm(np.cross(normals, normals[first]), axis=1) < COPLANAR
        is_left &= ~same
        topology.add_face(normals[first], sorted({int(v) for v in hull.simplices[same].ravel()}))
    return topology


def outward_triangles(vertices: FloatArray) -> IntArray:
    """Return the triangles (m, 3) of a hull, counter-clockwise from outside."""
    hull = convex_hull(vertices)
    a, b, c = (vertices[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)


def _bound(shape: Shape, vertices: FloatArray) -> FloatArray:
    """Return centre and radius (4,) of a bounding sphere, m, in the geometry's frame; without end for a half-space."""
    if shape.kind in ("half_space", "rim"):
        return np.array([0.0, 0.0, 0.0, np.inf])
    if shape.kind == "cylinder":
        return np.array([0.0, 0.0, 0.0, np.hypot(shape.size[0], 0.5 * shape.size[1])])
    centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    radius = shape.size[0] if shape.kind in ("sphere", "capsule") else 0.0
    return np.append(centre, np.linalg.norm(vertices - centre, axis=1).max() + radius)
