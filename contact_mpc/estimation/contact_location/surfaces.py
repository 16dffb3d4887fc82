"""Surfaces of links as flat arrays, even samples on them, and motion along them.

A surface is that of one convex collision shape: sphere, capsule, cylinder, or a polytope (box, hull of a mesh) by its
planes. Where shapes of one body overlap only what lies outside the others can be touched; samples inside are left out.
At edges and corners of polytopes the normal is that of one of the faces; that a pointed object can push there along
any direction between the faces' normals is not modelled.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.geometry.vectors import Vector, axpy, dot, minus, scaled
from contact_mpc.model.kinematic_tree import CAPSULE, CYLINDER, SHAPE_CODES, SPHERE, Geometry, half_sizes
from contact_mpc.model.polytopes import box_vertices, convex_hull
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

IntArray = NDArray[np.int64]
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
LEAST_SAMPLES = 60  # of a shape, however small
INSIDE_M = 1e-6


class Surfaces(NamedTuple):
    """Surfaces s; all in the frame G of the shape.

    geometry : (n_s,) index in `System.geometries`;  body : (n_s,) that carries it;  kind : (n_s,) as in `Tree`
    size : (n_s, 3) (radius, half length, 0) of round shapes;  centre : (n_s, 3) a point inside
    first : (n_s + 1,) of a polytope's rows in planes (n_p, 4) = (n, d), solid where n . x <= d
    R_BG, p_BG : pose in the body, m
    """

    geometry: IntArray
    body: IntArray
    kind: IntArray
    size: FloatArray
    centre: FloatArray
    first: IntArray
    planes: FloatArray
    R_BG: FloatArray
    p_BG: FloatArray


class Samples(NamedTuple):
    """Points on surfaces, in the order of the surfaces: surface (n,), x (n, 3) m, normal (n, 3), area (n,) m^2."""

    surface: IntArray
    x: FloatArray
    normal: FloatArray
    area: FloatArray


def build_surfaces(geometries: list[tuple[int, Geometry]]) -> Surfaces:
    """Lay out the surfaces of collision shapes (index, geometry), by body."""
    ordered = sorted(geometries, key=lambda item: (item[1].body, item[0]))
    shapes = [item.shape for _, item in ordered]
    vertices = [box_vertices(shape) if shape.kind == "box" else shape.vertices for shape in shapes]
    planes = [_planes(points) for points in vertices]
    return Surfaces(
        np.array([index for index, _ in ordered], dtype=np.int64),
        np.array([item.body for _, item in ordered], dtype=np.int64),
        np.array([SHAPE_CODES[shape.kind] for shape in shapes], dtype=np.int64),
        np.array([half_sizes(shape) for shape in shapes]).reshape(-1, 3),
        np.array([points.mean(axis=0) if len(points) else np.zeros(3) for points in vertices]).reshape(-1, 3),
        np.cumsum([0] + [len(rows) for rows in planes]).astype(np.int64),
        np.concatenate([np.zeros((0, 4)), *planes]),
        np.array([item.X_BG.R for _, item in ordered]).reshape(-1, 3, 3),
        np.array([item.X_BG.p for _, item in ordered]).reshape(-1, 3),
    )


def _planes(vertices: FloatArray) -> FloatArray:
    """Return the planes (n, 4) of a hull, those of coplanar triangles once."""
    if not len(vertices):
        return np.zeros((0, 4))
    equations = convex_hull(vertices).equations
    return np.unique(np.column_stack([equations[:, :3], -equations[:, 3]]).round(9), axis=0)


def sample_surfaces(surfaces: Surfaces, geometries: tuple[Geometry, ...], spacing_m: float) -> Samples:
    """Return even samples of what can be touched of the surfaces, about spacing_m apart."""
    found = []
    for s, g in enumerate(surfaces.geometry):
        count_for = _Count(spacing_m)
        if surfaces.kind[s] in (SPHERE, CAPSULE, CYLINDER):
            x, area = _round_samples(surfaces, s, count_for)
        else:
            shape = geometries[g].shape
            x, area = _hull_samples(box_vertices(shape) if shape.kind == "box" else shape.vertices, count_for)
        rows = [(*_to_vector(p), area) for p in x if not _is_covered(surfaces, s, p)]
        found += [(s, row) for row in rows]
    x = np.array([row[:3] for _, row in found]).reshape(-1, 3)
    surface = np.array([s for s, _ in found], dtype=np.int64)
    normal = np.empty_like(x)
    for i, s in enumerate(surface):
        x[i], normal[i] = retract(surfaces, s, _to_vector(x[i]))
    return Samples(surface, x, normal, np.array([row[3] for _, row in found]))


class _Count:
    """How many samples an area gets."""

    def __init__(self, spacing_m: float) -> None:
        self._spacing_m = spacing_m

    def __call__(self, area: float) -> int:
        return max(LEAST_SAMPLES, int(np.ceil(area / self._spacing_m**2)))


def _to_vector(x: FloatArray) -> Vector:
    return float(x[0]), float(x[1]), float(x[2])


def _round_samples(surfaces: Surfaces, s: int, count_for: _Count) -> tuple[FloatArray, float]:
    """Return points (n, 3) on a sphere, capsule or cylinder about z, and the area of each.

    Equal steps along z are equal areas on a sphere and on the side of a cylinder alike (Archimedes); the golden angle
    between neighbours spreads them evenly.
    """
    radius, half = surfaces.size[s, 0], surfaces.size[s, 1]
    if surfaces.kind[s] == CYLINDER:
        return _cylinder_samples(radius, half, count_for)
    reach = half + radius
    area = 4.0 * np.pi * radius * reach
    n = count_for(area)
    z = reach * (1.0 - (2.0 * np.arange(n) + 1.0) / n)
    beyond = np.maximum(np.abs(z) - half, 0.0)
    rho = np.sqrt(np.maximum(radius**2 - beyond**2, 0.0))
    angle = GOLDEN_ANGLE * np.arange(n)
    return np.column_stack([rho * np.cos(angle), rho * np.sin(angle), z]), area / n


def _cylinder_samples(radius: float, half: float, count_for: _Count) -> tuple[FloatArray, float]:
    """Return points on side and caps, one spiral over all: unrolled, cap - side - cap is one line of equal areas."""
    area = 2.0 * np.pi * radius * (2.0 * half + radius)
    n = count_for(area)
    along = (2.0 * half + radius) * (np.arange(n) + 0.5) / n  # a cap counts as radius / 2 of the side
    cap = 0.5 * radius
    z = np.clip(along - cap - half, -half, half)
    share = np.where(along < cap, along / cap, np.clip((2.0 * half + radius - along) / cap, 0.0, 1.0))
    rho = radius * np.sqrt(np.where((along < cap) | (along > 2.0 * half + cap), share, 1.0))
    angle = GOLDEN_ANGLE * np.arange(n)
    return np.column_stack([rho * np.cos(angle), rho * np.sin(angle), z]), area / n


def _hull_samples(vertices: FloatArray, count_for: _Count) -> tuple[FloatArray, float]:
    """Return points spread evenly over the triangles of a hull, and the area of each."""
    from scipy.stats.qmc import Halton  # half a second, and most estimators locate nothing

    hull = convex_hull(vertices)
    a, b, c = (vertices[hull.simplices[:, k]] for k in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    n = count_for(float(areas.sum()))
    where = Halton(d=3, scramble=False).random(n + 1)[1:]
    t = np.minimum(np.searchsorted(np.cumsum(areas) / areas.sum(), where[:, 0]), len(areas) - 1)
    root = np.sqrt(where[:, 1:2])
    u, v = 1.0 - root, root * where[:, 2:3]
    return u * a[t] + v * b[t] + (1.0 - u - v) * c[t], float(areas.sum()) / n


def _is_covered(surfaces: Surfaces, s: int, x: FloatArray) -> bool:
    """Whether another shape of the same body covers the point x of surface s."""
    p = surfaces.R_BG[s] @ x + surfaces.p_BG[s]
    others = np.flatnonzero((surfaces.body == surfaces.body[s]) & (np.arange(len(surfaces.body)) != s))
    return any(
        height_over(surfaces, o, _to_vector(surfaces.R_BG[o].T @ (p - surfaces.p_BG[o]))) < -INSIDE_M for o in others
    )


@njit(**COMPILED)
def _core(surfaces: Surfaces, s: int, x: Vector) -> Vector:
    """Return x seen from the nearest point of the segment that a sphere or capsule is about."""
    half = surfaces.size[s, 1]
    return x[0], x[1], x[2] - min(max(x[2], -half), half)


@njit(**COMPILED)
def height_over(surfaces: Surfaces, s: int, x: Vector) -> float:
    """Return how far x lies outside, m: the signed distance of round shapes, the largest over planes of others."""
    if surfaces.kind[s] == SPHERE or surfaces.kind[s] == CAPSULE:
        r = _core(surfaces, s, x)
        return float(np.sqrt(dot(r, r))) - surfaces.size[s, 0]
    if surfaces.kind[s] == CYLINDER:
        rho = float(np.sqrt(x[0] ** 2 + x[1] ** 2))
        return max(rho - surfaces.size[s, 0], abs(x[2]) - surfaces.size[s, 1])
    height = -np.inf
    for k in range(surfaces.first[s], surfaces.first[s + 1]):
        plane = surfaces.planes[k]
        height = max(height, plane[0] * x[0] + plane[1] * x[1] + plane[2] * x[2] - plane[3])
    return height


@njit(**COMPILED)
def retract(surfaces: Surfaces, s: int, x: Vector) -> tuple[Vector, Vector]:
    """Return the point of the surface for a point x near it, and the outward normal there.

    Nearest for round shapes; along the ray from the centre for polytopes. Both move along the surface, to first order,
    as x moves along a tangent.
    """
    radius, half = surfaces.size[s, 0], surfaces.size[s, 1]
    if surfaces.kind[s] == SPHERE or surfaces.kind[s] == CAPSULE:
        r = _core(surfaces, s, x)
        n = scaled(1.0 / max(np.sqrt(dot(r, r)), 1e-12), r)
        return axpy(radius, n, minus(x, r)), n
    if surfaces.kind[s] == CYLINDER:
        rho = max(np.sqrt(x[0] ** 2 + x[1] ** 2), 1e-12)
        z = min(max(x[2], -half), half)
        if rho - radius > abs(x[2]) - half:
            side = (x[0] / rho, x[1] / rho, 0.0)
            return (radius * side[0], radius * side[1], z), side
        shrink, up = min(1.0, radius / rho), 1.0 if x[2] >= 0.0 else -1.0
        return (shrink * x[0], shrink * x[1], up * half), (0.0, 0.0, up)
    centre = (surfaces.centre[s, 0], surfaces.centre[s, 1], surfaces.centre[s, 2])
    y = minus(x, centre)
    best, face = np.inf, surfaces.first[s]
    for k in range(surfaces.first[s], surfaces.first[s + 1]):
        n = (surfaces.planes[k, 0], surfaces.planes[k, 1], surfaces.planes[k, 2])
        toward = dot(n, y)
        if toward > 1e-12:
            scale = (surfaces.planes[k, 3] - dot(n, centre)) / toward
            if scale < best:
                best, face = scale, k
    return axpy(best, y, centre), (surfaces.planes[face, 0], surfaces.planes[face, 1], surfaces.planes[face, 2])


@njit(**COMPILED)
def turning_of_normal(surfaces: Surfaces, s: int, x: Vector, step: Vector) -> Vector:
    """Return the displacement of the normal for a small tangent step from the surface point x, in the frame G."""
    if surfaces.kind[s] == SPHERE:
        return scaled(1.0 / surfaces.size[s, 0], step)
    if surfaces.kind[s] == CAPSULE or surfaces.kind[s] == CYLINDER:
        beside = abs(x[2]) < surfaces.size[s, 1]
        if surfaces.kind[s] == CYLINDER and not beside:
            return (0.0, 0.0, 0.0)
        return scaled(1.0 / surfaces.size[s, 0], (step[0], step[1], 0.0 if beside else step[2]))
    return (0.0, 0.0, 0.0)
