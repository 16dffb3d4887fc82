"""Modes that a relaxed or an earlier solution stands for.

A step is in contact where the force outweighs the gap. Whether the object slides follows from these forces alone: they
are scaled until the object, stepped forwards by (4) and (12), stops at the goal. Reading it off relaxed speeds would
leave the step at which it stops to chance, and a wrong one has no solution.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.planning.push.program.bounds import Modes
from contact_mpc.planning.push.program.geometry import ToolGeometry
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.program.model import Model
from contact_mpc.planning.push.program.program import Program
from contact_mpc.settings.arrays import FloatArray

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
    return slide(model, instance, force_to_goal(model, instance, force)) > 0.0


def force_to_goal(model: Model, instance: Instance, force: FloatArray) -> FloatArray:
    """Return forces (N - 1,), N, scaled so that the object, with friction, stops at the goal."""
    low, high = 0.0, LARGEST_SCALE
    goal = instance.goal - instance.start(model)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        too_far = model.dt_s * slide(model, instance, middle * force).sum() > goal
        low, high = (low, middle) if too_far else (middle, high)
    return 0.5 * (low + high) * force


def slide(model: Model, instance: Instance, force: FloatArray) -> FloatArray:
    """Return the object's speed along d after each step (N - 1,), m/s, under forces (N - 1,), N, and friction."""
    speed = float(direction(model, instance.heading_rad) @ instance.x_0[2 * model.n_r + model.n_o :])
    gain, speeds = model.dt_s / model.thing.inertia[0], np.zeros(len(force))
    for k, push in enumerate(force.tolist()):
        speed = max(0.0, speed + gain * (push - model.thing.breakaway_n))
        speeds[k] = speed
    return speeds
