"""Contacts of a pair of shapes: where there is a closed form, spheres (of radius 0 too) against a shape.

    sphere     - any primitive            the sphere itself
    box        - half-space               the 8 corners of the box, radius 0
    box        - box                      the corners of each against the other, and up to 8 crossings of edges
    capsule    - half-space               its two end spheres
    capsule    - box                      its two end spheres, and the nearest point of its segment
    hull       - half-space               its vertices, radius 0
    cylinder   - half-space               8 points on each rim, radius 0, and the lowest point of each rim
    capsule    - capsule                  the nearest points of the two segments

Points that stay where they are on the body make resting and tipping exact: a box on the ground has four contacts, not
one that jumps. Every other pair (a cylinder or a convex hull against anything but a half-space, or a sphere against a
hull) has the nearest points and those of faces and edges that lie on each other (`contact_mpc.geometry.convex`):

    sphere     - hull                 the nearest points
    capsule    - cylinder, hull       and up to 2 ends of where the segment lies on a face or an edge
    others                            and up to 11 corners and crossings of edges
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from contact_mpc.model.kinematic_tree import Geometry
from contact_mpc.model.urdf import Pose, Shape
from contact_mpc.settings.arrays import FloatArray

RIM_POINTS = 8
CORNERS = 8
CROSSINGS = 8  # kept for two boxes: as many as two faces can have that lie flat on each other
FLAT_CONTACTS, SEGMENT_CONTACTS = 12, 3  # kept for two convex shapes, and where one is a capsule
ROUND, SOLID = ("sphere", "capsule"), ("box", "cylinder", "hull")


@dataclass(frozen=True)
class ContactPair:
    """Two geometries, by index, that may touch, and their friction coefficient."""

    geometry_a: int
    geometry_b: int
    mu: float


@dataclass(frozen=True)
class PointContact:
    """One contact of a pair: shape a (a sphere where the pair has a closed form) against shape b.

    Crossings of two boxes, and the contacts of a pair without closed form, have the shapes themselves.

    sign is +1 where a belongs to the first geometry of the pair, which an object owns; pair is its index.
    """

    geometry_a: int
    geometry_b: int
    mu: float
    sign: float
    pair: int


def is_convex_pair(first: str, second: str) -> bool:
    """Return whether two kinds of shapes, none a sphere, have no closed form."""
    kinds = {first, second}
    return kinds <= {*ROUND, *SOLID} and "sphere" not in kinds and bool(kinds & {"cylinder", "hull"})


class PointBuilder:
    """Appends the spheres that stand for boxes, capsules and cylinders to a list of geometries, once per shape."""

    def __init__(self, geometries: list[Geometry]) -> None:
        self.geometries = list(geometries)
        self._points: dict[int, list[int]] = {}

    def expand(self, pairs: tuple[ContactPair, ...]) -> tuple[PointContact, ...]:
        """Return the contacts of all pairs, in their order."""
        return tuple(contact for index, pair in enumerate(pairs) for contact in self._contacts(index, pair))

    def _contacts(self, index: int, pair: ContactPair) -> list[PointContact]:
        a, b = pair.geometry_a, pair.geometry_b
        first, second = self.geometries[a].shape.kind, self.geometries[b].shape.kind
        if first != "sphere" and second == "sphere":
            rows = [(b, a, -1.0)]
        elif is_convex_pair(first, second):
            rows = [(a, b, 1.0)] * (SEGMENT_CONTACTS if "capsule" in (first, second) else FLAT_CONTACTS)
        elif (first, second) == ("box", "box"):
            rows = [(p, b, 1.0) for p in self.points(a)] + [(p, a, -1.0) for p in self.points(b)]
            rows += [(a, b, 1.0)] * CROSSINGS
        elif {first, second} == {"box", "capsule"}:
            (one, other), sign = ((a, b), 1.0) if first == "capsule" else ((b, a), -1.0)
            rows = [(p, other, sign) for p in [*self.points(one), one]]
        elif first != "sphere" and second == "half_space":
            rows = [(p, b, 1.0) for p in self.points(a)]
        else:
            rows = [(a, b, 1.0)]
        return [PointContact(one, other, pair.mu, sign, index) for one, other, sign in rows]

    def points(self, index: int) -> list[int]:
        """Return the indices of the spheres (and rims) that stand for geometry `index` against a half-space."""
        if index not in self._points:
            item, start = self.geometries[index], len(self.geometries)
            for kind, radius, p in surface_points(item.shape):
                X_GP = Pose(np.eye(3), p)
                shape = Shape(kind, (radius,), item.shape.X_LG @ X_GP)
                self.geometries.append(Geometry(item.owner, item.link, shape, item.body, item.X_BG @ X_GP))
            self._points[index] = list(range(start, len(self.geometries)))
        return self._points[index]


def surface_points(shape: Shape) -> list[tuple[str, float, FloatArray]]:
    """Return (kind, radius m, position (3,) m in the shape's frame) of what stands for a shape."""
    if shape.kind == "capsule":
        return [("sphere", shape.size[0], np.array([0.0, 0.0, s * 0.5 * shape.size[1]])) for s in (-1.0, 1.0)]
    if shape.kind == "box":
        half = 0.5 * np.array(shape.size)
        return [("sphere", 0.0, half * np.array(signs)) for signs in product((-1.0, 1.0), repeat=3)]
    if shape.kind == "hull":
        return [("sphere", 0.0, vertex) for vertex in shape.vertices]
    radius, half_length = shape.size[0], 0.5 * shape.size[1]
    found = []
    for z in (-half_length, half_length):
        found.append(("rim", radius, np.array([0.0, 0.0, z])))
        for angle in 2.0 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS:
            found.append(("sphere", 0.0, np.array([radius * np.cos(angle), radius * np.sin(angle), z])))
    return found
