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
from contact_mpc.planning.push.program.program import Program
from contact_mpc.settings.arrays import FloatArray


def guess(model: Model, program: Program, geometry: ToolGeometry, instance: Instance, contact_step: int) -> FloatArray:
    """Return variables (n_z,) of a program that touches at `contact_step`."""
    n, o, dt, steps = model.n_r, model.n_o, model.dt_s, program.steps
    d, x_0 = direction(model, instance.heading_rad), instance.x_0
    speed = _coasting(model, instance, contact_step, steps)
    travel = np.cumsum(dt * speed)
    w = x_0[n : n + o] + travel[:, None] * d
    reach = _reach(model, geometry, instance, contact_step, speed)
    q_hit = geometry.lead(instance.hit_posture(model), reach[0])
    approach = x_0[:n] + (np.arange(contact_step)[:, None] / contact_step) ** 2 * (q_hit - x_0[:n])
    q = np.vstack([approach, geometry.follow(q_hit, reach)])
    v = np.vstack([x_0[n + o : 2 * n + o], np.diff(q, axis=0) / dt])
    v = np.clip(v, -model.system.v_max, model.system.v_max)
    x = np.hstack([q, w, v, speed[:, None] * d])
    x[0] = x_0
    u = np.zeros((steps, model.n_u))
    u[:, :n] = np.diff(v, axis=0) / dt
    along = float(d @ geometry.gap(q[contact_step], w[contact_step], instance.heading_rad)[1])
    u[:, n] = model.settings.small_force_n
    u[contact_step, n] += float(d @ (model.thing.inertia * d)) * speed[contact_step + 1] / (dt * max(along, 0.1))
    if model.has_friction:
        u[:, n + 1] = model.thing.breakaway_n * np.where(speed[1:] > 0.0, 0.99, 0.1)
    return program.pack(x, u)


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
