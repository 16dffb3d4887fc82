"""Solids from a few numbers, m: what they are made of, convex pieces or one hull, each in a frame of its own.

Kinds with curved or sloping sides are hulls of points on them; those that are not convex are unions of pieces that do
not overlap, so that volumes add up.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contact_mpc.importing.mesh_shapes import MeshShapes
from contact_mpc.importing.primitives import Primitive
from contact_mpc.model.meshes import thin_out
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray

ELLIPSOID_POINTS = 400
NECK_SHARE = (0.4, 0.3)  # of a bottle: radius of its neck, length of its neck
HANDLE_SHARE = (0.25, 0.55)  # of a mug: thickness over its radius, height over its own
Sizes = tuple[float, ...]


@dataclass(frozen=True)
class Kind:
    """Names of the sizes, and what makes the solid of them."""

    sizes: tuple[str, ...]
    make: Callable[[Sizes], MeshShapes]


def _of(*pieces: tuple[str, Sizes, tuple[float, float, float]]) -> MeshShapes:
    """Return a union of upright pieces: kind, size, centre."""
    found = (Primitive(kind, size, Pose(np.eye(3), np.array(place)), 0.0) for kind, size, place in pieces)
    return MeshShapes(tuple(found), None, 0.0)


def _plain(shape: str) -> Callable[[Sizes], MeshShapes]:
    return lambda size: _of((shape, size, (0.0, 0.0, 0.0)))


def _ellipsoid(size: Sizes) -> MeshShapes:
    k = np.arange(ELLIPSOID_POINTS) + 0.5
    z, angle = 1.0 - 2.0 * k / ELLIPSOID_POINTS, np.pi * (1.0 + 5.0**0.5) * k
    unit = np.column_stack([np.sqrt(1.0 - z * z) * np.cos(angle), np.sqrt(1.0 - z * z) * np.sin(angle), z])
    vertices, off_m = thin_out(np.ascontiguousarray(0.5 * np.array(size) * unit))
    return MeshShapes((), vertices, off_m)


def _wedge(size: Sizes) -> MeshShapes:
    """A ramp: a box x, y, z without the half above the plane from its low edge at -x to its high edge at +x."""
    x, y, z = 0.5 * np.array(size)
    corners = [(sx * x, sy * y, -z) for sx in (-1, 1) for sy in (-1, 1)] + [(x, sy * y, z) for sy in (-1, 1)]
    return MeshShapes((), np.array(corners, dtype=np.float64), 0.0)


def _bottle(size: Sizes) -> MeshShapes:
    r, length = size
    neck_r, neck = NECK_SHARE[0] * r, NECK_SHARE[1] * length
    body = length - neck
    return _of(
        ("cylinder", (r, body), (0.0, 0.0, 0.5 * body)), ("cylinder", (neck_r, neck), (0.0, 0.0, body + 0.5 * neck))
    )


def _mug(size: Sizes) -> MeshShapes:
    """A full cylinder with a handle of three bars towards +x."""
    r, length = size
    bar, height = HANDLE_SHARE[0] * r, HANDLE_SHARE[1] * length
    out, rise = 0.6 * r, 0.5 * (height - bar)
    arms = [("box", (out, bar, bar), (r + 0.5 * out, 0.0, s * rise)) for s in (-1.0, 1.0)]
    grip = ("box", (bar, bar, height), (r + out + 0.5 * bar, 0.0, 0.0))
    return _of(("cylinder", (r, length), (0.0, 0.0, 0.0)), *arms, grip)


def _ell(size: Sizes) -> MeshShapes:
    """Two arms of length a and width b in the plane, c thick, that meet in a corner."""
    a, b, c = size
    rest = a - b
    return _of(("box", (a, b, c), (0.5 * a, 0.5 * b, 0.0)), ("box", (b, rest, c), (0.5 * b, b + 0.5 * rest, 0.0)))


def _tee(size: Sizes) -> MeshShapes:
    """A bar of length a with a stem of the same length from its middle, both b wide and c thick."""
    a, b, c = size
    return _of(("box", (a, b, c), (0.0, 0.0, 0.0)), ("box", (b, a - b, c), (0.0, -0.5 * a, 0.0)))


KINDS = {
    "ball": Kind(("radius",), _plain("sphere")),
    "cube": Kind(("side",), lambda size: _of(("box", size * 3, (0.0, 0.0, 0.0)))),
    "box": Kind(("x", "y", "z"), _plain("box")),
    "cylinder": Kind(("radius", "length"), _plain("cylinder")),
    "capsule": Kind(("radius", "length"), _plain("capsule")),
    "ellipsoid": Kind(("x", "y", "z"), _ellipsoid),
    "wedge": Kind(("x", "y", "z"), _wedge),
    "bottle": Kind(("radius", "length"), _bottle),
    "mug": Kind(("radius", "length"), _mug),
    "ell": Kind(("arm", "width", "thickness"), _ell),
    "tee": Kind(("arm", "width", "thickness"), _tee),
}


@dataclass(frozen=True)
class MassProperties:
    """Volume, m^3; centre (3,), m; integral of r r' about the centre (3, 3), m^5; corners of a box around it (2, 3)."""

    volume: float
    centre: FloatArray
    second: FloatArray
    bounds: FloatArray


def mass_properties(shapes: MeshShapes) -> MassProperties:
    """Return what a body of uniform density has of a union of pieces that do not overlap, or of a hull."""
    if shapes.hull is not None:
        return hull_properties(shapes.hull)
    parts = [_of_piece(item) for item in shapes.primitives]
    volume = sum(part.volume for part in parts)
    centre = sum((part.volume * part.centre for part in parts), np.zeros(3)) / volume
    second = np.zeros((3, 3))
    for part in parts:
        arm = part.centre - centre
        second += part.second + part.volume * np.outer(arm, arm)
    corners = np.vstack([part.bounds for part in parts])
    return MassProperties(volume, centre, second, np.array([corners.min(axis=0), corners.max(axis=0)]))


def _of_piece(item: Primitive) -> MassProperties:
    r = item.size[0]
    if item.kind == "sphere":
        half, volume = np.full(3, r), 4.0 / 3.0 * np.pi * r**3
        squares = np.full(3, r * r / 5.0)
    elif item.kind == "box":
        half, volume = 0.5 * np.array(item.size), float(np.prod(item.size))
        squares = half**2 / 3.0
    else:  # a capsule has the moments of the cylinder around it
        length = item.size[1] + (2.0 * r if item.kind == "capsule" else 0.0)
        half, volume = np.array([r, r, 0.5 * length]), np.pi * r * r * length
        squares = np.array([r * r / 4.0, r * r / 4.0, length**2 / 12.0])
    R, p = item.X_MG.R, item.X_MG.p
    reach = np.abs(R) @ half
    return MassProperties(volume, p, volume * R @ np.diag(squares) @ R.T, np.array([p - reach, p + reach]))


def hull_properties(points: FloatArray) -> MassProperties:
    """Return those of the convex hull of points (n, 3), by tetrahedra."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    inner = points[hull.vertices].mean(axis=0)
    corners = points[hull.simplices] - inner  # (n, 3, 3): tetrahedra with their fourth corner at 0
    volumes = np.abs(np.linalg.det(corners)) / 6.0
    total, sums = float(volumes.sum()), corners.sum(axis=1)
    centre = np.einsum("t,ti->i", volumes, sums) / (4.0 * total)
    second = np.einsum("t,tki,tkj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    second = second / 20.0 - total * np.outer(centre, centre)
    return MassProperties(total, centre + inner, second, np.array([points.min(axis=0), points.max(axis=0)]))
