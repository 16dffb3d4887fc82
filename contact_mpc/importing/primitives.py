"""Spheres, capsules and boxes in place of a mesh, and how far their surfaces are from the mesh's.

Contacts with these shapes have closed forms, and no edge of a fine mesh makes them jump. Where no single one is near
the mesh's convex hull, the mesh is cut by a plane across one of its axes, and each half is fitted by itself, into
MOST_PIECES at most; what is not convex becomes a union. The error of a piece is the larger of how far the hull of its
part of the mesh is from the primitive's surface, and how far points of the primitive are outside that hull.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial import ConvexHull, QhullError

from contact_mpc.errors import ModelError
from contact_mpc.model.kinematic_tree import IntArray
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray

LARGEST_MESH_M = 10.0
SMALLEST_MESH_M = 1e-5
DIRECTIONS = 200  # points of a primitive that are held against the hull
MOST_POINTS = 200  # of the hull, in the fit
MOST_PIECES = 3
EVALUATIONS = 30  # of a fit
PREFERENCE = {"sphere": 0.8, "capsule": 0.9}  # factors on errors: what is rounder rolls better, and costs less
NEAR_M, NEAR_SHARE = 1e-3, 0.05  # an error below either, the latter of the part's size, is near enough
CUTS = (0.35, 0.5, 0.65)  # of the extent along an axis
SAMPLES_PER_EDGE = 6  # of a triangle that is cut
LONG_EDGE_SHARE = 0.05  # of the mesh's size, beyond which a triangle is sampled


@dataclass(frozen=True)
class Primitive:
    """A shape in place of a mesh: kind and size as `contact_mpc.model.urdf.Shape`, pose in its frame, error in m."""

    kind: str
    size: tuple[float, ...]
    X_MG: Pose
    error_m: float


@lru_cache(maxsize=256)
def load_points(path: Path, scale: tuple[float, float, float]) -> FloatArray:
    """Return points (n, 3), m, on the surface of a mesh file: its vertices, and more on large triangles.

    Raises
    ------
    ModelError
        The file is missing, holds no mesh, or one of a size that no robot has.
    """
    import coal

    if not path.is_file():
        raise ModelError(f"{path}: the mesh file does not exist")
    try:
        mesh = coal.MeshLoader().load(str(path), np.array(scale))
        points = np.array([mesh.vertex(i) for i in range(mesh.num_vertices)]).reshape(-1, 3)
        triangles = [[mesh.tri_indices(i)[k] for k in range(3)] for i in range(mesh.num_tris)]
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{path}: no mesh can be read from it ({_first_line(error)})") from error
    if len(points) < 4 or not np.all(np.isfinite(points)):
        raise ModelError(f"{path}: the mesh has {len(points)} vertices; expected 4 or more finite ones")
    size = float(np.max(np.ptp(points, axis=0)))
    if not SMALLEST_MESH_M < size < LARGEST_MESH_M:
        raise ModelError(f"{path}: the mesh is {size:g} m large; is it in mm? give <mesh scale> that makes it metres")
    return _sample_triangles(points, np.array(triangles, dtype=np.int64).reshape(-1, 3), LONG_EDGE_SHARE * size)


def near_m(points: FloatArray) -> float:
    """Return the error, m, within which a shape is near enough to a part with these points (n, 3)."""
    return max(NEAR_M, NEAR_SHARE * float(np.max(np.ptp(points, axis=0))))


def _sample_triangles(points: FloatArray, triangles: IntArray, length: float) -> FloatArray:
    """Return the points and, on triangles with an edge beyond `length`, a grid of more."""
    corners = points[triangles]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    large = corners[np.max(edges, axis=1) > length] if len(corners) else corners
    n = SAMPLES_PER_EDGE
    grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
    return np.vstack([points, np.einsum("gk,tkd->tgd", grid, large).reshape(-1, 3)])


def fit_primitives(points: FloatArray, source: str) -> list[Primitive]:
    """Return at most MOST_PIECES primitives whose union is near the mesh with points (n, 3), m, on its surface.

    Raises
    ------
    ModelError
        The points lie in a plane: they have no volume. `source` names them.
    """
    pieces = [(fit_whole(points, source), points)]
    while len(pieces) < MOST_PIECES:
        worst = max(range(len(pieces)), key=lambda i: pieces[i][0].error_m)
        primitive, part = pieces[worst]
        halves = None if primitive.error_m < near_m(part) else _best_cut(part, primitive.error_m)
        if halves is None:
            break
        pieces[worst : worst + 1] = halves
    return [primitive for primitive, _ in pieces]


def fit_whole(points: FloatArray, source: str) -> Primitive:
    """Return the one primitive that is nearest to the hull of points (n, 3), m; raises as `fit_primitives`."""
    whole = _fit(points)
    if whole is None:
        raise ModelError(f"{source}: the mesh is flat, it has no volume; use a box")
    return whole


def _best_cut(points: FloatArray, error_m: float) -> list[tuple[Primitive, FloatArray]] | None:
    """Return the two halves of the cut that leaves the smallest error, None where none is below error_m."""
    best, least = None, error_m
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    for axis in range(3):
        for share in CUTS:
            is_low = points[:, axis] < low[axis] + share * extent[axis]
            sides = [points[is_low], points[~is_low]]
            fits = [_fit(side) for side in sides]
            found = [(fit, side) for fit, side in zip(fits, sides, strict=True) if fit is not None]
            if len(found) == 2 and max(fit.error_m for fit, _ in found) < least:
                best, least = found, max(fit.error_m for fit, _ in found)
    return best


def _fit(points: FloatArray) -> Primitive | None:
    """Return the sphere, capsule or box nearest to the convex hull of points (n, 3), None where they have no volume."""
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    vertices = points[hull.vertices]
    surface = np.vstack([vertices, points[hull.simplices].mean(axis=1)])
    if len(surface) > MOST_POINTS:
        surface = surface[np.random.default_rng(0).choice(len(surface), MOST_POINTS, replace=False)]
    extent = float(np.max(np.ptp(vertices, axis=0)))
    fits = [_fit_sphere(surface), *_fit_capsules(vertices, surface), *_fit_boxes(vertices)]
    fits = [fit for fit in fits if np.max(fit[1]) < 2.0 * extent]
    errors = [_error(kind, size, pose, surface, hull.equations) for kind, size, pose in fits]
    best = int(np.argmin([PREFERENCE.get(fit[0], 1.0) * error for fit, error in zip(fits, errors, strict=True)]))
    kind, size, pose = fits[best]
    return Primitive(kind, tuple(float(value) for value in size), pose, errors[best])


Fit = tuple[str, FloatArray, Pose]


def _fit_sphere(surface: FloatArray) -> Fit:
    def residual(x: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(surface - x[:3], axis=1) - x[3])

    centre = 0.5 * (surface.min(axis=0) + surface.max(axis=0))
    radius = float(np.mean(np.linalg.norm(surface - centre, axis=1)))
    x = least_squares(residual, [*centre, radius], max_nfev=EVALUATIONS).x
    return "sphere", np.array([abs(x[3])]), Pose(np.eye(3), x[:3])


def _fit_capsules(vertices: FloatArray, surface: FloatArray) -> list[Fit]:
    """Return capsules along the three main directions of the vertices."""
    centre = vertices.mean(axis=0)
    axes = np.linalg.svd(vertices - centre, full_matrices=False)[2]
    return [_fit_capsule(surface, centre, axis) for axis in axes]


def _fit_capsule(surface: FloatArray, centre: FloatArray, axis: FloatArray) -> Fit:
    along = (surface - centre) @ axis
    radius = float(np.max(np.linalg.norm(surface - centre - np.outer(along, axis), axis=1)))
    ends = [centre + axis * (along.min() + radius), centre + axis * (along.max() - radius)]
    if (along.max() - along.min()) < 2.0 * radius:
        ends = [centre - 1e-3 * axis, centre + 1e-3 * axis]

    def residual(x: FloatArray) -> FloatArray:
        return _to_segment(surface, x[:3], x[3:6]) - x[6]

    x = least_squares(residual, [*ends[0], *ends[1], radius], max_nfev=EVALUATIONS).x
    d, length = x[3:6] - x[:3], float(np.linalg.norm(x[3:6] - x[:3]))
    z = d / length if length > 1e-9 else axis
    return "capsule", np.array([abs(x[6]), max(length, 1e-6)]), Pose(_frame_along(z), 0.5 * (x[:3] + x[3:6]))


def _fit_boxes(vertices: FloatArray) -> list[Fit]:
    """Return the box along the mesh's own axes and the one along its main directions."""
    directions = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=False)[2]
    main = directions.T * np.array([1.0, 1.0, np.sign(np.linalg.det(directions))])
    found: list[Fit] = []
    for R in (np.eye(3), main):
        local = vertices @ R
        low, high = local.min(axis=0), local.max(axis=0)
        found.append(("box", high - low, Pose(np.ascontiguousarray(R), R @ (0.5 * (low + high)))))
    return found


def _to_segment(points: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    d = b - a
    t = np.clip((points - a) @ d / max(float(d @ d), 1e-18), 0.0, 1.0)
    return np.asarray(np.linalg.norm(points - a - np.outer(t, d), axis=1))


def _frame_along(z: FloatArray) -> FloatArray:
    """Return a rotation matrix whose third column is z."""
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _error(kind: str, size: FloatArray, pose: Pose, surface: FloatArray, equations: FloatArray) -> float:
    inside = np.abs(signed_distance(kind, size, (surface - pose.p) @ pose.R))
    points = _surface_points(kind, size) @ pose.R.T + pose.p
    outside = np.max(points @ equations[:, :3].T + equations[:, 3], axis=1)
    return float(max(inside.max(), outside.max()))


def signed_distance(kind: str, size: FloatArray, p: FloatArray) -> FloatArray:
    """Return the distance of points p (n, 3), in the frame of a sphere, capsule or box, from its surface, m."""
    if kind == "sphere":
        return np.asarray(np.linalg.norm(p, axis=1) - size[0])
    if kind == "capsule":
        end = np.array([0.0, 0.0, 0.5 * size[1]])
        return _to_segment(p, -end, end) - size[0]
    excess = np.abs(p) - 0.5 * size
    outside = np.linalg.norm(np.maximum(excess, 0.0), axis=1)
    return np.asarray(outside + np.minimum(np.max(excess, axis=1), 0.0))


def _surface_points(kind: str, size: FloatArray) -> FloatArray:
    """Return points (n, 3) all over the surface of a primitive, in its frame."""
    k = np.arange(DIRECTIONS) + 0.5
    z, angle = 1.0 - 2.0 * k / DIRECTIONS, np.pi * (1.0 + 5.0**0.5) * k
    sine = np.sqrt(1.0 - z * z)
    unit = np.column_stack([sine * np.cos(angle), sine * np.sin(angle), z])
    if kind == "sphere":
        return size[0] * unit
    if kind == "capsule":
        return size[0] * unit + np.outer(np.sign(z), [0.0, 0.0, 0.5 * size[1]])
    corners = np.array([[x, y, w] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for w in (-0.5, 0.5)])
    return np.asarray(size * np.vstack([corners, 0.5 * unit / np.max(np.abs(unit), axis=1)[:, None]]))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
