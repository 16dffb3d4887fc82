"""Free motion of fingers between two grasps, around the objects: retreat, pass by, and stand ready to close; compiled.

Retreat follows the gradient of the gap in the joints that move until the clearance is reached. From there the robot
goes straight in joint space to the open posture, or by one or two random open postures where that would touch. Gaps are
looked at every `LINE_STEP_RAD`, of the contacts between the moving joints' links and the objects.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.newton import Newton, measure_gaps
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.planning.tree.growth.contact_sampling import Sampler, draw_posture, least_gap
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import INNER

BoolArray = NDArray[np.bool_]
WAYPOINTS = 5  # retreat, two on the way (repeated where not needed), ready to close, touching
READY, TOUCH = 3, 4
RETREAT_STEP_RAD = 0.02
RETREAT_STEPS = 100
LINE_STEP_RAD = 0.04
DETOURS = 20
SMALLEST_SHARE = 1.0 / 256.0  # of a step in free motion
DEEPEST_RETREAT_M = -1e-3  # springs let a preloaded finger stand a little inside


@njit(**INNER)
def moved_contacts(sampler: Sampler, moving: BoolArray, counted: BoolArray) -> None:
    """Mark the contacts (n_c,) that any of the moving joints (n_a,) moves."""
    for c in range(counted.shape[0]):
        counted[c] = False
        for a in range(moving.shape[0]):
            if moving[a] and sampler.moved_by[a, c]:
                counted[c] = True


@njit(**INNER)
def retreat(
    model: Model,
    ws: Newton,
    sampler: Sampler,
    moving: BoolArray,
    counted: BoolArray,
    lower: FloatArray,
    upper: FloatArray,
    q: FloatArray,
) -> bool:
    """Move the joints of q away from contact until all counted gaps have the clearance; False where that fails."""
    n_a, n_v_u = moving.shape[0], model.n_v_u
    first = q.shape[0] - n_a
    direction = np.empty(n_a)
    for _ in range(RETREAT_STEPS):
        gaps = measure_gaps(model, ws, q)
        direction[:] = 0.0
        done = True
        for c in range(counted.shape[0]):
            if not counted[c] or gaps[c] >= sampler.clearance:
                continue
            done = False
            if gaps[c] < DEEPEST_RETREAT_M:
                return False
            for k in range(model.pairs.dof_count[c]):
                a = model.pairs.dofs[c, k] - n_v_u
                if a >= 0 and moving[a]:
                    for i in range(3):
                        direction[a] += ws.con.n[c, i] * ws.con.J[c, k, i]
        if done:
            return True
        norm = np.sqrt(np.sum(direction * direction))
        if norm < 1e-9:
            return False
        for a in range(n_a):
            value = q[first + a] + RETREAT_STEP_RAD * direction[a] / norm
            q[first + a] = min(max(value, lower[a]), upper[a]) if moving[a] else q[first + a]
    return False


@njit(**INNER)
def line_is_free(
    model: Model, ws: Newton, counted: BoolArray, clearance: float, q: FloatArray, start: FloatArray, end: FloatArray
) -> bool:
    """Whether counted gaps keep the clearance from start to end (n_a,) with the objects of q; q_a of q is changed."""
    n_a, first = start.shape[0], q.shape[0] - start.shape[0]
    length = 0.0
    for a in range(n_a):
        length = max(length, abs(end[a] - start[a]))
    count = int(length / LINE_STEP_RAD) + 1
    for k in range(count + 1):
        for a in range(n_a):
            q[first + a] = start[a] + (end[a] - start[a]) * k / count
        if least_gap(model, ws, q, counted) < clearance:
            return False
    return True


@njit(**INNER)
def find_free_path(
    model: Model,
    ws: Newton,
    sampler: Sampler,
    rng: np.random.Generator,
    moving: BoolArray,
    counted: BoolArray,
    q: FloatArray,
    path: FloatArray,
) -> bool:
    """Fill the two rows of path (WAYPOINTS, n_a) between the retreat and READY; False where no way is found."""
    clearance = 0.9 * sampler.clearance  # a retreat ends within one step of it
    start, end = path[0], path[READY]
    probe = q.copy()
    if line_is_free(model, ws, counted, clearance, probe, start, end):
        path[1] = start
        path[2] = start
        return True
    rate = np.empty(start.shape[0])
    for detour in range(DETOURS):
        for k in range(1, 3):
            draw_posture(model, ws, sampler, rng, q, path[k], rate)
            for a in range(start.shape[0]):
                if not moving[a]:
                    path[k, a] = start[a]
        if detour % 2 == 0:
            path[2] = path[1]
        if (
            line_is_free(model, ws, counted, clearance, probe, start, path[1])
            and line_is_free(model, ws, counted, clearance, probe, path[1], path[2])
            and line_is_free(model, ws, counted, clearance, probe, path[2], end)
        ):
            return True
    return False


@njit(**INNER)
def free_share(model: Model, ws: Newton, counted: BoolArray, q: FloatArray, dq_a: FloatArray, margin: float) -> float:
    """Return the largest 2^-k <= 1 of a motion dq_a (n_a,) at q that leaves every counted contact inside its dual cone.

    phi + n.d - mu |d_t| >= margin phi with d = J_a dq_a: beyond it the model's convex friction lets a passing finger
    drag the object, from any distance, which is an artefact of a large step ("hydroplaning", seeds/003).
    """
    gaps, share = measure_gaps(model, ws, q), 1.0
    for c in range(counted.shape[0]):
        if not counted[c] or gaps[c] > model.activation:
            continue
        d0, d1, d2 = 0.0, 0.0, 0.0
        for k in range(model.pairs.dof_count[c]):
            a = model.pairs.dofs[c, k] - model.n_v_u
            if a >= 0:
                d0 += ws.con.J[c, k, 0] * dq_a[a]
                d1 += ws.con.J[c, k, 1] * dq_a[a]
                d2 += ws.con.J[c, k, 2] * dq_a[a]
        normal = ws.con.n[c, 0] * d0 + ws.con.n[c, 1] * d1 + ws.con.n[c, 2] * d2
        tangent = np.sqrt(max(d0 * d0 + d1 * d1 + d2 * d2 - normal * normal, 0.0))
        slope, gap = normal - model.mu[c] * tangent, max(gaps[c], 0.0)
        while share > SMALLEST_SHARE and gap + share * slope < margin * gap:
            share *= 0.5
    return share
