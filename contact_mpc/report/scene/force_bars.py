"""Bars of contact forces in a scene: what the talk's pictures show in red.

The page moves rigid bodies, so a bar is a row of short rods that slide out of each other along the force; where there
is none all lie in one, a stub at the contact.
"""

import base64
from typing import Any

import numpy as np

from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.report.scene.animation import rod
from contact_mpc.settings.arrays import FloatArray

RODS = 16
THICKNESS = 0.25  # radius of a rod over its length
COLOUR = [0.84, 0.1, 0.1]
LEAST_N = 1e-9


def add_force_bars(scene: dict[str, Any], points: FloatArray, forces: FloatArray, length_m: float) -> dict[str, Any]:
    """Return a scene with a bar per contact.

    Parameters
    ----------
    scene : dict
        Of `animation.scene_of_configurations`, n frames.
    points, forces : (n, n_c, 3) arrays
        Where each contact is, m, and the force there, N, in the world.
    length_m : float
        Of the bar of the largest force.
    """
    n, n_c = points.shape[:2]
    frames = np.frombuffer(base64.b64decode(scene["frames"]), dtype=np.float32).reshape(n, -1, 7)
    size = np.linalg.norm(forces, axis=2)
    rod_m = length_m / RODS
    reach = size / max(float(size.max()), LEAST_N) * length_m
    bars = np.empty((n, n_c, RODS, 7), dtype=np.float32)
    for k in range(n):
        for c in range(n_c):
            along = forces[k, c] / size[k, c] if size[k, c] > LEAST_N else np.array([0.0, 0.0, 1.0])
            begins = np.clip(rod_m * np.arange(RODS), 0.0, max(reach[k, c] - rod_m, 0.0))
            bars[k, c, :, :3] = points[k, c] + begins[:, None] * along
            bars[k, c, :, 3:] = matrix_to_quaternion(_turn_to(along))
    shape = rod(2, THICKNESS * rod_m, rod_m)
    bodies = [
        {"name": f"force {c}", "color": COLOUR, "is_object": False, "shapes": [shape]}
        for c in range(n_c)
        for _ in range(RODS)
    ]
    together = np.concatenate([frames, bars.reshape(n, n_c * RODS, 7)], axis=1)
    data = base64.b64encode(np.ascontiguousarray(together).tobytes()).decode()
    return {**scene, "bodies": [*scene["bodies"], *bodies], "frames": data}


def _turn_to(z: FloatArray) -> FloatArray:
    """Return a rotation (3, 3) whose third column is z."""
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.ascontiguousarray(np.column_stack([x, np.cross(z, x), z]))
