"""Closed triangle meshes: what they enclose, and why a mesh is refused.

A mesh counts as closed where each directed edge has one neighbour that runs the other way, as outward where its volume
is positive, and as free of self-intersections where no edge passes through a triangle with which it shares no vertex.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import ModelError
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
LEAST_SHARE = 1e-9  # of the volume of the bounding box, below which a mesh has none
PAIRS_AT_ONCE = 200_000


@dataclass(frozen=True)
class TriangleMesh:
    """A closed mesh with outward triangles.

    vertices : (n, 3), m, in the mesh's frame;  triangles : (m, 3) indices, counter-clockwise from outside
    """

    vertices: FloatArray
    triangles: IntArray

    @cached_property
    def volume(self) -> float:
        """Enclosed volume V = 1/6 sum a . (b x c), m^3."""
        return float(_tetrahedra(self.vertices[self.triangles]).sum())

    @cached_property
    def centroid(self) -> FloatArray:
        """Centre of the enclosed volume (3,), m."""
        corners = self.vertices[self.triangles]
        return np.asarray(0.25 * _tetrahedra(corners) @ corners.sum(axis=1) / self.volume)

    def inertia(self, mass: float) -> FloatArray:
        """Return the inertia (3, 3) about the centroid of a mass (kg) that fills the mesh evenly, kg m^2.

        The second moment of a tetrahedron with the origin: V/20 (sum p p^T + s s^T), s the sum of its corners p.
        """
        corners = self.vertices[self.triangles] - self.centroid
        share = _tetrahedra(corners) / self.volume
        total = corners.sum(axis=1)
        second = np.einsum("t,tik,til->kl", share, corners, corners) + np.einsum("t,tk,tl->kl", share, total, total)
        second *= mass / 20.0
        return np.asarray(np.trace(second) * np.eye(3) - second)

    def scaled(self, factor: float) -> "TriangleMesh":
        """Return the mesh with all lengths multiplied."""
        return TriangleMesh(factor * self.vertices, self.triangles)


def check_mesh(mesh: TriangleMesh, name: str) -> TriangleMesh:
    """Return the mesh; `name` is what messages call it.

    Raises
    ------
    ModelError
        It is open, has no volume, is turned inside out, or intersects itself.
    """
    if not np.all(np.isfinite(mesh.vertices)):
        raise ModelError(f"{name}: vertices with non-finite coordinates")
    edges = np.vstack([mesh.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
    there, count = np.unique(edges, axis=0, return_counts=True)
    open_edges = {tuple(e) for e in there.tolist()} ^ {(b, a) for a, b in there.tolist()}
    if len(there) == 0 or open_edges or np.any(count > 1):
        bad = len(open_edges) // 2 or int(np.sum(count > 1))
        raise ModelError(f"{name}: the mesh is not closed: {bad} edges without one neighbour; fill holes first")
    box = float(np.prod(np.ptp(mesh.vertices, axis=0)))
    if mesh.volume < -LEAST_SHARE * box:
        raise ModelError(f"{name}: the mesh is inside out (volume {mesh.volume:.3g} m^3); reverse its triangles")
    if box <= 0.0 or mesh.volume <= LEAST_SHARE * box:
        raise ModelError(f"{name}: the mesh encloses no volume ({mesh.volume:.3g} m^3); give it a thickness")
    crossings = count_self_intersections(mesh)
    if crossings:
        raise ModelError(f"{name}: the mesh intersects itself: {crossings} edges pass through its triangles; repair it")
    return mesh


def read_obj(path: Path, scale: float = 1.0) -> TriangleMesh:
    """Read vertices and triangles of a Wavefront .obj; equal vertices are merged.

    Raises
    ------
    ModelError
        The file is missing or no such file, a face has not three corners, or corners that are not there.
    """
    if not path.is_file():
        raise ModelError(f"{path}: the mesh file does not exist")
    try:
        words = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        points = np.array([[float(x) for x in w[1:4]] for w in words if w and w[0] == "v"])
        faces = [[int(x.split("/")[0]) - 1 for x in w[1:]] for w in words if w and w[0] == "f"]
    except ValueError as error:
        raise ModelError(f"{path}: no Wavefront .obj ({error})") from error
    if not faces or any(len(face) != 3 for face in faces):
        raise ModelError(f"{path}: expected triangles; found faces with {sorted({len(f) for f in faces})} corners")
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise ModelError(f"{path}: expected vertices of three finite numbers")
    if np.min(faces) < 0 or np.max(faces) >= len(points):
        raise ModelError(f"{path}: faces name corners that are not among its {len(points)} vertices")
    vertices, places = np.unique(points, axis=0, return_inverse=True)
    triangles = places.reshape(-1)[np.array(faces)]
    distinct = (triangles[:, 0] != triangles[:, 1]) & (triangles[:, 1] != triangles[:, 2])
    triangles = triangles[distinct & (triangles[:, 2] != triangles[:, 0])]
    mesh = TriangleMesh(scale * vertices, triangles.astype(np.int64))
    return mesh if mesh.volume >= 0.0 else TriangleMesh(mesh.vertices, mesh.triangles[:, ::-1])


def count_self_intersections(mesh: TriangleMesh) -> int:
    """Return how many edges pass through triangles of the same mesh with which they share no vertex."""
    edges = np.unique(np.sort(np.vstack([mesh.triangles[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1), axis=0)
    p, corners = mesh.vertices[edges], mesh.vertices[mesh.triangles]
    low, high = corners.min(axis=1), corners.max(axis=1)
    chunk = max(1, PAIRS_AT_ONCE // len(corners))
    found = 0
    for start in range(0, len(edges), chunk):
        some = slice(start, start + chunk)
        near = np.all(
            (p[some].max(axis=1)[:, None] >= low) & (p[some].min(axis=1)[:, None] <= high),
            axis=2,
        )
        near &= ~np.any(edges[some][:, None, :, None] == mesh.triangles[None, :, None, :], axis=(2, 3))
        e, t = np.nonzero(near)
        found += int(np.sum(_passes(p[some][e], corners[t])))
    return found


def _passes(segment: FloatArray, triangle: FloatArray) -> NDArray[np.bool_]:
    """Return whether segments (n, 2, 3) pass through triangles (n, 3, 3), by the signs of five tetrahedra."""
    a, b, c = triangle[:, 0], triangle[:, 1], triangle[:, 2]
    s, e = segment[:, 0], segment[:, 1]
    normal = np.cross(b - a, c - a)
    sides = np.einsum("ij,ij->i", normal, s - a) * np.einsum("ij,ij->i", normal, e - a)
    turns = np.array([np.einsum("ij,ij->i", e - s, np.cross(x - s, y - s)) for x, y in ((a, b), (b, c), (c, a))])
    return np.asarray((sides < 0.0) & (np.all(turns > 0.0, axis=0) | np.all(turns < 0.0, axis=0)))


def _tetrahedra(corners: FloatArray) -> FloatArray:
    """Return the signed volumes of tetrahedra of triangles (m, 3, 3) with the origin."""
    return np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
