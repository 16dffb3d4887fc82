"""Modes that a relaxed or an earlier solution stands for.

A step is in contact where the force outweighs the gap. Whether the object slides follows from these forces alone: they
are scaled until the object, stepped forwards by (4) and (12), stops at the goal. Reading it off relaxed speeds would
leave the step at which it stops to chance, and a wrong one has no solution.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.planning.contact_implicit.bounds import Modes
from contact_mpc.planning.contact_implicit.geometry import ToolGeometry
from contact_mpc.planning.contact_implicit.instance import Instance, direction
from contact_mpc.planning.contact_implicit.model import Model
from contact_mpc.planning.contact_implicit.program import Program

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
BISECTIONS = 40
LARGEST_SCALE = 100.0
FORCE_SCALE_N, GAP_SCALE_M = 10.0, 0.01


def read_modes(model: Model, program: Program, geometry: ToolGeometry, instance: Instance, z: FloatArray) -> Modes:
    """Return the modes of a relaxed solution z (n_z,)."""
    x, u = program.unpack(z)
    n, o = model.n_r, model.n_o
    gaps = np.array([geometry.gap(row[:n], row[n : n + o], instance.heading_rad)[0] for row in x[:-1]])
    contact = u[:, n] / FORCE_SCALE_N > np.maximum(gaps, 0.0) / GAP_SCALE_M
    return Modes(contact, sliding_steps(model, instance, np.where(contact, u[:, n], 0.0)))


def sliding_steps(model: Model, instance: Instance, force: FloatArray) -> BoolArray:
    """Return in which steps (N - 1,) the object slides, with forces (N - 1,) scaled so that it stops at the goal."""
    if not model.has_friction:
        return np.ones(len(force), dtype=np.bool_)
    low, high = 0.0, LARGEST_SCALE
    goal = instance.goal - instance.start(model)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        too_far = slide(model, instance, middle * force)[0] > goal
        low, high = (low, middle) if too_far else (middle, high)
    return slide(model, instance, 0.5 * (low + high) * force)[1]


def slide(model: Model, instance: Instance, force: FloatArray) -> tuple[float, BoolArray]:
    """Return how far the object slides under forces (N - 1,) in N, m, and in which steps."""
    speed = float(direction(model, instance.heading_rad) @ instance.x_0[2 * model.n_r + model.n_o :])
    gain, travel, sliding = model.dt_s / model.thing.inertia[0], 0.0, np.zeros(len(force), dtype=np.bool_)
    for k, push in enumerate(force.tolist()):
        speed = max(0.0, speed + gain * (push - model.thing.breakaway_n))
        sliding[k] = speed > 0.0
        travel += model.dt_s * speed
    return travel, sliding
