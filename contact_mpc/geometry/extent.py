"""How large an object is."""

import numpy as np

from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Shape
from contact_mpc.settings.arrays import FloatArray

USUAL_HALF_M = 0.06  # half of an object's size, that lengths of hands' objects are made for


def half_extent(system: System, q: FloatArray | None = None) -> FloatArray:
    """Return how far (3,), m, the first object reaches from its frame along the axes of the world in q (n_q,).

    By default as it is placed; of what is round the box about it.
    """
    q = system.q_default if q is None else q
    R, p = forward_kinematics(system.tree, q)
    _, origin = system.object_pose(q)
    reach = np.zeros(3)
    for item in system.geometries:
        if item.owner == system.object_names[0] and item.body >= 0:
            half = np.abs(R[item.body] @ item.X_BG.R) @ _half_size(item.shape)
            reach = np.maximum(reach, np.abs(R[item.body] @ item.X_BG.p + p[item.body] - origin) + half)
    return reach


def to_all_sides(up: FloatArray, distance_m: float) -> FloatArray:
    """Return offsets (5, 3), m: none, and by a distance to four sides across `up` (3,)."""
    across = np.linalg.svd(up[None])[2][1:]
    return distance_m * np.vstack([np.zeros((1, 3)), across, -across])


def times_usual(system: System, usual_half_m: float = USUAL_HALF_M) -> float:
    """Return how many times `usual_half_m` half of the first object is, 1 at least: by so much are lengths larger."""
    return max(1.0, float(np.mean(half_extent(system))) / usual_half_m)


def _half_size(shape: Shape) -> FloatArray:
    """Return half the extent (3,), m, of a shape along its own axes."""
    if len(shape.vertices):
        return np.asarray(np.abs(shape.vertices).max(axis=0))
    if shape.kind == "box":
        return 0.5 * np.array(shape.size)
    radius, length = (*shape.size, 0.0)[:2]
    return np.array([radius, radius, 0.5 * length + (0.0 if shape.kind == "cylinder" else radius)])
