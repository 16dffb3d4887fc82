"""Capsules that hold a robot's collision shapes, so that one formula gives the gaps of all of its links.

Spheres and capsules are kept as they are. A cylinder lies in the capsule of its axis and radius; a box, and the box
around a hull's vertices, in capsules side by side along its longest edge. Gaps are so never larger than those of the
shapes; by how much smaller, `box_capsules` says.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.model.kinematic_tree import Geometry
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray

Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Capsule:
    """A segment of half a length about a centre, with a radius, m, at rest in a body B (-1: the world) of the tree.

    centre, axis : (3,) in B, the axis of length 1; half_length 0 is a sphere
    """

    link: str
    body: int
    centre: FloatArray
    axis: FloatArray
    half_length: float
    radius: float


def cover(geometry: Geometry) -> list[Capsule]:
    """Return the capsules of a shape; none of a half-space, which is no part of a robot."""
    shape, X = geometry.shape, geometry.X_BG
    if shape.kind == "sphere":
        return [Capsule(geometry.link, geometry.body, X.p, X.R @ Z, 0.0, shape.size[0])]
    if shape.kind in ("capsule", "cylinder"):
        return [Capsule(geometry.link, geometry.body, X.p, X.R @ Z, 0.5 * shape.size[1], shape.size[0])]
    if shape.kind == "box":
        return box_capsules(geometry.link, geometry.body, X, 0.5 * np.array(shape.size))
    if shape.kind == "hull":
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        X_BC = Pose(X.R, X.R @ (0.5 * (low + high)) + X.p)
        return box_capsules(geometry.link, geometry.body, X_BC, 0.5 * (high - low))
    return []


def box_capsules(link: str, body: int, X_BC: Pose, half: FloatArray) -> list[Capsule]:
    """Return capsules that hold a box of half extents a >= b >= c (in any order), m, about the frame C.

    k = ceil(b / c) of them stand side by side, each around 2 a x 2 b / k x 2 c, of radius sqrt((b / k)^2 + c^2): at
    most 0.42 c beyond the widest faces, and a radius beyond the two ends.
    """
    order = np.argsort(half)[::-1]
    a, b, c = (max(float(half[i]), 1e-6) for i in order)
    count = int(np.ceil(b / c))
    width = b / count
    axes = X_BC.R[:, order]
    shifts = width * (2.0 * np.arange(count) - (count - 1))
    radius = float(np.hypot(width, c))
    return [Capsule(link, body, X_BC.p + shift * axes[:, 1], axes[:, 0].copy(), a, radius) for shift in shifts]
