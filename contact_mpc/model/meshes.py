"""Meshes as convex hulls of a bounded number of vertices, with the error that this makes.

A hull with more than `MAX_VERTICES` vertices is replaced by the hull of some of them: beginning with the extreme ones,
the vertex furthest outside is added until none is more than DEVIATION_M outside or the number is reached. The new hull
lies inside the old one, and the largest distance of a left-out vertex from it bounds the deviation everywhere (the
distance to a convex set is largest at a vertex).

A mesh that is not convex is taken as its hull, too, and said to be so: the volume that the hull adds is stated.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import ModelError
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
logger = logging.getLogger(__name__)
MAX_VERTICES = 100  # a hull meets a half-space with all of its vertices
DEVIATION_M = 5e-5
SUM_WEIGHT = 100.0  # of the condition that weights add up to 1, against coordinates of size 1
CELLS, FEWER_CELLS = 128, 0.8  # of the grid that a coarser mesh is rounded to, and how many the next one has
CONCAVE = 0.05  # of the mesh's volume added by the hull, above which a warning is given


@dataclass(frozen=True)
class Hull:
    """A convex hull in the frame of the mesh.

    vertices : (n, 3), m;  full_count : of the exact hull;  deviation_m : largest distance of a point of the exact hull
    added_volume : of the exact hull, as a share of the mesh's, nan where the mesh is not closed
    """

    vertices: FloatArray
    full_count: int
    deviation_m: float
    added_volume: float

    def describe(self) -> str:
        """Return what is not exact in one line, "" where nothing is."""
        found = []
        if self.deviation_m > 0.0:
            found.append(
                f"{len(self.vertices)} of {self.full_count} vertices of the hull, at most "
                f"{1e3 * self.deviation_m:.2g} mm inside it"
            )
        if self.added_volume > CONCAVE:
            found.append(f"not convex: its hull has {100.0 * self.added_volume:.0f} % more volume")
        return "; ".join(found)


def load_hull(path: Path, scale: FloatArray) -> Hull:
    """Return the convex hull of a mesh file (obj, stl, dae, ..), with at most `MAX_VERTICES` vertices.

    Raises
    ------
    ModelError
        The file is missing or no mesh, or is flat.
    """
    if not path.is_file():
        raise ModelError(f"{path}: the mesh file does not exist; give a path relative to the URDF")
    hull = _load(path, path.stat().st_mtime_ns, tuple(scale.tolist()))
    if hull.added_volume > CONCAVE:
        logger.warning("%s: %s; give convex parts as collision shapes of their own", path, hull.describe())
    return hull


def load_triangles(path: Path, scale: FloatArray, most: int) -> FloatArray:
    """Return the corners (m, 3, 3), m, of a mesh file's triangles; of more than `most` those of a coarser mesh.

    Raises
    ------
    ModelError
        The file is missing or no mesh.
    """
    if not path.is_file():
        raise ModelError(f"{path}: the mesh file does not exist")
    points, triangles = coarsen(*_read(path, tuple(scale.tolist())), most)
    return points[triangles]


def coarsen(points: FloatArray, triangles: IntArray, most: int) -> tuple[FloatArray, IntArray]:
    """Return a mesh of at most `most` triangles: points (n, 3) in one cell of a grid become one, their mean.

    Triangles (m, 3) that lose a corner by it go. The grid begins with CELLS cells along the longest side.
    """
    found, kept = points, triangles
    cells = float(CELLS)
    while len(kept) > most:
        places = np.floor((points - points.min(axis=0)) * cells / float(np.ptp(points, axis=0).max()))
        _, merged, counts = np.unique(places, axis=0, return_inverse=True, return_counts=True)
        merged = merged.reshape(-1)
        sums = np.stack([np.bincount(merged, column) for column in points.T], axis=1)
        found, kept = sums / counts[:, None], merged[triangles]
        kept = kept[(kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])]
        cells *= FEWER_CELLS
    return found, kept


def _read(path: Path, scale: tuple[float, float, float]) -> tuple[FloatArray, IntArray]:
    """Return points (n, 3), m, and triangles (m, 3) of a mesh file; raises ModelError where it is none."""
    import coal

    try:
        mesh = coal.MeshLoader().load(str(path), np.array(scale))
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{path}: no mesh can be read from it ({str(error).strip().splitlines()[0]})") from error
    points = np.array([mesh.vertex(i) for i in range(mesh.num_vertices)])
    triangles = np.array([[t[0], t[1], t[2]] for t in map(mesh.tri_indices, range(mesh.num_tris))], dtype=np.int64)
    return points, triangles


@lru_cache(maxsize=256)
def _load(path: Path, _changed_ns: int, scale: tuple[float, float, float]) -> Hull:
    from scipy.spatial import ConvexHull, QhullError

    points, triangles = _read(path, scale)
    try:
        hull = ConvexHull(points)
    except (ValueError, QhullError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{path}: no mesh with a volume can be read from it ({reason})") from error
    volume = enclosed_volume(points, triangles)
    corners = np.ascontiguousarray(points[hull.vertices], dtype=np.float64)
    vertices, deviation_m = thin_out(corners)
    return Hull(vertices, len(corners), deviation_m, hull.volume / volume - 1.0 if volume > 0.0 else np.nan)


def thin_out(corners: FloatArray) -> tuple[FloatArray, float]:
    """Return at most `MAX_VERTICES` of the corners (n, 3) of a convex polytope, and the deviation of their hull, m."""
    from scipy.spatial import ConvexHull

    if len(corners) <= MAX_VERTICES:
        return corners, 0.0
    directions = np.vstack([np.eye(3), -np.eye(3), [[1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]])
    chosen = list(dict.fromkeys(np.argmax(corners @ directions.T, axis=0).tolist()))
    hull = ConvexHull(corners[chosen], incremental=True)
    while True:
        outside = (corners @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
        furthest = int(np.argmax(outside))
        if outside[furthest] <= DEVIATION_M or len(chosen) == MAX_VERTICES:
            break
        chosen.append(furthest)
        hull.add_points(corners[[furthest]])
    kept = corners[chosen]
    return kept, _largest_distance(corners, kept, hull.equations)


def _largest_distance(points: FloatArray, hull: FloatArray, planes: FloatArray) -> float:
    """Return the largest distance, m, of points from the convex hull of other points with these planes.

    On the way to the middle of the hull a point enters it at a distance that bounds its own from above; the exact ones
    (least squares with weights >= 0 of sum 1) are needed only until no bound is larger.
    """
    from scipy.optimize import nnls

    middle = hull.mean(axis=0)
    outside, fall = points @ planes[:, :3].T + planes[:, 3], (points - middle) @ planes[:, :3].T
    share = np.max(np.where(outside > 0.0, outside / np.where(outside > 0.0, fall, 1.0), 0.0), axis=1)
    bound = share * np.linalg.norm(points - middle, axis=1)
    size, found = float(np.ptp(hull, axis=0).max()), 0.0
    system = np.vstack([(hull - middle).T / size, np.full(len(hull), SUM_WEIGHT)])
    for i in np.argsort(-bound):
        if bound[i] <= found:
            break
        weights, _ = nnls(system, np.append((points[i] - middle) / size, SUM_WEIGHT))
        found = max(found, float(np.linalg.norm(points[i] - middle - weights @ (hull - middle))))
    return found


def enclosed_volume(points: FloatArray, triangles: IntArray) -> float:
    """Return the volume, m^3, that triangles (m, 3) enclose; nan where an edge has no neighbour (an open mesh)."""
    _, merged = np.unique(np.round(points / (1e-7 * float(np.ptp(points))), 0), axis=0, return_inverse=True)
    corners = merged.reshape(-1)[triangles]
    edges = np.vstack([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    if {tuple(edge) for edge in edges.tolist()} != {(b, a) for a, b in edges.tolist()}:
        return np.nan
    p = points[triangles]
    return abs(float(np.einsum("ij,ij->i", p[:, 0], np.cross(p[:, 1], p[:, 2])).sum())) / 6.0
