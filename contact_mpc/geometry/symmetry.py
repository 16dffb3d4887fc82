"""How an object can be turned so that it looks the same: the rotations that its collision shapes allow.

A ball: all. A cylinder or capsule: all about its axis, and half turns across it. A box: the signed permutations of its
axes that keep its sides, 24 of a cube, 8 of a square prism, 4 of other boxes. Anything else, several shapes or one that
is off the object's frame: none. Masses take no part: an object whose weight is off its centre looks the same, and
is held otherwise.
"""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from contact_mpc.model.rotations import rotation_exp, rotation_log
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Shape
from contact_mpc.settings.arrays import FloatArray

SAME_M = 1e-9  # of sides and places that count as equal
PARALLEL = 1e-6  # sine of the angle between axes that count as parallel


@dataclass(frozen=True)
class Symmetry:
    """The rotations after which an object looks the same, in its own frame.

    Attributes
    ----------
    rotations : (n, 3, 3) array
        Of a finite group, the identity among them.
    axis : (3,) array or None
        About which it may be turned by any angle as well.
    is_round : bool
        Whether it looks the same however it is turned.
    """

    rotations: FloatArray
    axis: FloatArray | None = None
    is_round: bool = False

    def turn_between(self, R: FloatArray, R_other: FloatArray) -> FloatArray:
        """Return the least rotation vector w (3,), rad, in W, after which what is at R looks as it does at R_other.

        Exp(w) R S = R_other for a rotation S of the object's own; exactly 0 for what is round.
        """
        if self.is_round:
            return np.zeros(3)
        if self.axis is not None:
            ways = [_turn_onto(R @ S @ self.axis, R_other @ self.axis) for S in self.rotations]
        else:
            ways = [rotation_log(np.ascontiguousarray(R_other @ S.T @ R.T)) for S in self.rotations]
        return min(ways, key=lambda way: float(np.linalg.norm(way)))

    def is_round_about(self, axis_W: FloatArray, R: FloatArray) -> bool:
        """Whether an object at R looks the same after any turn about axis_W (3,)."""
        if self.is_round or self.axis is None:
            return self.is_round
        return float(np.linalg.norm(np.cross(R @ self.axis, axis_W))) < PARALLEL * float(np.linalg.norm(axis_W))

    def parts_alike(self, axis_W: FloatArray, R: FloatArray) -> int:
        """Return in how many equal parts of a whole turn about axis_W (3,) an object at R comes to look the same.

        4, 2 or 1, as of boxes; 0 where it does after any turn.
        """
        if self.is_round_about(axis_W, R):
            return 0
        unit = axis_W / np.linalg.norm(axis_W)
        offs = {n: self.turn_between(R, rotation_exp(2.0 * np.pi / n * unit) @ R) for n in (4, 2)}
        return next((n for n, off in offs.items() if np.linalg.norm(off) < PARALLEL), 1)


def object_symmetry(system: System) -> Symmetry:
    """Return the symmetry of a system's first object about the origin of its frame."""
    shapes = [item for item in system.geometries if item.owner == system.object_names[0]]
    if len(shapes) != 1 or np.linalg.norm(shapes[0].X_BG.p) > SAME_M:
        return Symmetry(np.eye(3)[None])
    found, R = _shape_symmetry(shapes[0].shape), shapes[0].X_BG.R
    axis = None if found.axis is None else R @ found.axis
    return Symmetry(R @ found.rotations @ R.T, axis, found.is_round)


def _shape_symmetry(shape: Shape) -> Symmetry:
    """Return the symmetry of a shape about its own origin, in its own frame."""
    if shape.kind == "sphere":
        return Symmetry(np.eye(3)[None], is_round=True)
    if shape.kind in ("cylinder", "capsule"):
        return Symmetry(np.array([np.eye(3), np.diag([1.0, -1.0, -1.0])]), np.array([0.0, 0.0, 1.0]))
    if shape.kind == "box":
        return Symmetry(_box_rotations(np.array(shape.size)))
    return Symmetry(np.eye(3)[None])


def _box_rotations(sides_m: FloatArray) -> FloatArray:
    """Return the rotations (n, 3, 3) that put a box with `sides_m` (3,) onto itself, the identity first."""
    found = []
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        R = np.eye(3)[list(order)] * np.array(signs)[:, None]
        if np.linalg.det(R) > 0.0 and np.all(np.abs(sides_m[list(order)] - sides_m) < SAME_M):
            found.append(R)
    return np.array(found)


def _turn_onto(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the least rotation vector (3,), rad, that turns the unit vector a (3,) onto b (3,)."""
    across = np.cross(a, b)
    sine = float(np.linalg.norm(across))
    if sine == 0.0:
        return np.zeros(3) if a @ b > 0.0 else np.pi * np.linalg.svd(a[None])[2][1]
    return np.arctan2(sine, float(a @ b)) / sine * across
