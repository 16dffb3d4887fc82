"""Initial guess: one hit at a given time, after which the object coasts to its goal.

The arm speeds up, joint by joint, to its posture at the hit, pushes the object off at the speed that carries it to the
goal, and brakes while the object coasts. Nothing of it binds the search; it settles in which local minimum it ends, so
several are tried. The posture at the hit is found from one that is near it, not by leading the head there from where
the arm is: an arm that comes folded from an earlier push would be led past its base into postures from which nothing
converges (of 37 such states none had a solution at the first three instants for a hit, with this posture all at each).
"""

import numpy as np

from contact_mpc.planning.push.program.geometry import ToolGeometry
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.program.model import Model
from contact_mpc.planning.push.program.modes import slide
from contact_mpc.planning.push.program.program import Program
from contact_mpc.settings.arrays import FloatArray


def guess(model: Model, program: Program, geometry: ToolGeometry, instance: Instance, contact_step: int) -> FloatArray:
    """Return variables (n_z,) of a program that touches at `contact_step`."""
    speed = _coasting(model, instance, contact_step, program.steps)
    reach = _reach(model, geometry, instance, contact_step, speed)
    z, q, w = _move(model, program, geometry, instance, speed, contact_step, reach)
    d, (x, u) = direction(model, instance.heading_rad), program.unpack(z)
    along = float(d @ geometry.gap(q[contact_step], w[contact_step], instance.heading_rad)[1])
    u[:, model.n_r] = model.settings.small_force_n
    hit = float(d @ (model.thing.inertia * d)) * speed[contact_step + 1] / (model.dt_s * max(along, 0.1))
    u[contact_step, model.n_r] += hit
    return program.pack(x, u)


def guess_sequence(
    model: Model, program: Program, geometry: ToolGeometry, instance: Instance, force: FloatArray
) -> FloatArray:
    """Return variables (n_z,) of a program that touches where forces (N - 1,), N, act, which carry it to the goal.

    The head touches at each of these steps, goes straight from one to the next, and brakes after the last.
    """
    d, touched = direction(model, instance.heading_rad), np.flatnonzero(force > 0.0)
    speed = np.concatenate([[0.0], slide(model, instance, force)])
    travel = np.concatenate([[0.0], model.dt_s * np.cumsum(speed[1:])])
    first, last = int(touched[0]), int(touched[-1])
    near, _ = geometry.head(instance.hit_posture(model))
    w_0 = instance.x_0[model.n_r : model.n_r + model.n_o]
    way = np.interp(np.arange(first, last + 1), touched, travel[touched])
    braking = np.zeros(len(speed) - last - 1)
    count = min(model.settings.braking_steps, len(braking))
    braking[:count] = 1.0 - np.arange(count) / count
    way = np.concatenate([way, way[-1] + np.cumsum(model.dt_s * braking * speed[last + 1])])
    reach = np.array([model.thing.touch(w_0 + s * d, instance.heading_rad, near, model.head_radius_m) for s in way])
    z, _, _ = _move(model, program, geometry, instance, speed, first, reach)
    x, u = program.unpack(z)
    u[:, model.n_r] = force
    return program.pack(x, u)


def _move(
    model: Model, program: Program, geometry: ToolGeometry, instance: Instance, speed: FloatArray, first: int,
    reach: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """Return variables without contact force, q (N, n_r), w (N, n_o): the object at `speed`, the head on `reach`."""
    n, o, dt, x_0 = model.n_r, model.n_o, model.dt_s, instance.x_0
    d = direction(model, instance.heading_rad)
    w = x_0[n : n + o] + np.cumsum(dt * speed)[:, None] * d
    q_hit = geometry.lead(instance.hit_posture(model), reach[0])
    approach = x_0[:n] + (np.arange(first)[:, None] / first) ** 2 * (q_hit - x_0[:n])
    q = np.vstack([approach, geometry.follow(q_hit, reach)])
    v = np.vstack([x_0[n + o : 2 * n + o], np.diff(q, axis=0) / dt])
    v = np.clip(v, -model.system.v_max, model.system.v_max)
    x = np.hstack([q, w, v, speed[:, None] * d])
    x[0] = x_0
    u = np.zeros((program.steps, model.n_u))
    u[:, :n] = np.diff(v, axis=0) / dt
    if model.has_friction:
        u[:, n + 1] = model.thing.breakaway_n * np.where(speed[1:] > 0.0, 0.99, 0.1)
    return program.pack(x, u), q, w


def _coasting(model: Model, instance: Instance, contact_step: int, steps: int) -> FloatArray:
    """Speed along d (N,) after a hit at contact_step, such that the object ends at the goal."""
    dt, distance = model.dt_s, instance.goal - instance.start(model)
    after = np.arange(steps - contact_step)
    if model.has_friction:
        slowing = model.thing.breakaway_n / model.thing.inertia[0]
        coasting = np.maximum(np.sqrt(2.0 * slowing * max(distance, 0.0)) - slowing * dt * after, 0.0)
    else:
        coasting = np.ones(len(after))
    speed = np.concatenate([np.zeros(contact_step + 1), coasting])
    return speed * distance / max(float(dt * speed.sum()), 1e-9)


def _reach(
    model: Model, geometry: ToolGeometry, instance: Instance, contact_step: int, speed: FloatArray
) -> FloatArray:
    """Positions of the head (N - contact_step, 3), m: at the object, then behind it until it brakes."""
    n, o, thing = model.n_r, model.n_o, model.thing
    d, w_0 = direction(model, instance.heading_rad), instance.x_0[n : n + o]
    near, _ = geometry.head(instance.hit_posture(model))
    braking = np.zeros(len(speed) - contact_step)
    count = min(model.settings.braking_steps, len(braking) - 1)
    braking[1 : 1 + count] = 1.0 - np.arange(count) / count
    followed = np.cumsum(model.dt_s * braking * speed[contact_step + 1])
    return np.array([thing.touch(w_0 + s * d, instance.heading_rad, near, model.head_radius_m) for s in followed])
