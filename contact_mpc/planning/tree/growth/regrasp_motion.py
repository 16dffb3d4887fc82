"""The motion between two grasps, step by step with the unsmoothed model; compiled.

Fingers unload, retreat, pass by, stand ready, close until they touch, and press. A tree makes this motion when it adds
a regrasp, and a plan makes it again from the same state with the same result. Commands change by little per step, so
that the model's linearised gaps hold, and by less near the objects, where a passing finger would drag them along.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.integration import integrate_into
from contact_mpc.dynamics.smoothed.log_barrier import CONVERGED, take_step
from contact_mpc.dynamics.smoothed.newton import Newton, measure_gaps
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.optimisation.horizon import object_error_into
from contact_mpc.planning.tree.finger_paths import READY, TOUCH, free_share, moved_contacts, retreat
from contact_mpc.planning.tree.growth.arrays import Growth
from contact_mpc.planning.tree.growth.contact_sampling import Sampler, close_finger, preload
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER
from contact_mpc.settings.code.separate_code import SeparateCode

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
STEP_TOLERANCE = 1e-8  # on kappa * decrement^2
FREE_STEP_RAD = 0.15  # largest change of a command per step in free motion, rad (m)
FREE_MARGIN = 0.3  # share of a gap that a step in free motion leaves
MOST_STEPS = 400  # of a regrasp
ARRIVED_RAD = 1e-9
STANDING_RAD = 1e-9  # a finger that closes by less stayed open


class Steps(NamedTuple):
    """Commands u (N, n_a) of steps in an array with room for N; made (1,), their number."""

    u: FloatArray
    made: IntArray


@njit(**COMPILED)
def make_steps(room: int, n_a: int) -> Steps:
    """Allocate for so many steps."""
    return Steps(np.zeros((room, n_a)), np.zeros(1, dtype=np.int64))


@njit(inline="always", **COMPILED)
def object_motion(model: Model, growth: Growth, q: FloatArray, q_next: FloatArray) -> float:
    """Return how far objects moved, m: the norm of translations and of rotations times the characteristic length."""
    e = np.empty(growth.weight.shape[0])
    object_error_into(model.tree, e.shape[0], q, q_next, e)
    return np.sqrt(np.sum(growth.weight * e * e)) * growth.length


@njit(**COMPILED)
def stays_out(model: Model, ws: Newton, growth: Growth, q: FloatArray) -> bool:
    """Whether no contact penetrates at q (n_q,) by more than linearised gaps may leave."""
    return bool(np.min(measure_gaps(model, ws, q)) >= -growth.deepest)


@njit(**COMPILED)
def make_step(
    model: Model, ws: Newton, growth: Growth, wanted: FloatArray, q: FloatArray, u: FloatArray, steps: Steps
) -> bool:
    """Command `wanted` (n_a,) at (q, u), which follow; False where there is no step, no room, or it penetrates."""
    k, q_next = steps.made[0], np.empty(q.shape[0])
    if k >= steps.u.shape[0]:
        return False
    offset = np.zeros(model.mu.shape[0])
    status, _, _ = take_step(
        model.codes.step, (model, ws, q, wanted, offset, growth.kappa_check, STEP_TOLERANCE, False)
    )
    if status != CONVERGED:
        return False
    integrate_into(model.tree, q, ws.dq, q_next)
    if not stays_out(model, ws, growth, q_next):
        return False
    q[:], u[:] = q_next, wanted
    steps.u[k] = u
    steps.made[0] += 1
    return True


@njit(**INNER)
def _go_to(
    model: Model,
    ws: Newton,
    growth: Growth,
    target: FloatArray,
    counted: BoolArray,
    q: FloatArray,
    u: FloatArray,
    steps: Steps,
) -> bool:
    """Move commands to the target (n_a,) in steps that drag no object along."""
    first = q.shape[0] - u.shape[0]
    while True:
        left = target - u
        length = np.max(np.abs(left))
        if length < ARRIVED_RAD:
            return True
        left *= min(1.0, FREE_STEP_RAD / length)
        share = free_share(model, ws, counted, q, left + u - q[first:], FREE_MARGIN)
        if not make_step(model, ws, growth, u + share * left, q, u, steps):
            return False


@njit(inline="always", **INNER)
def _close(
    model: Model,
    ws: Newton,
    growth: Growth,
    sampler: Sampler,
    p: int,
    moving: BoolArray,
    path: FloatArray,
    q: FloatArray,
    u: FloatArray,
) -> None:
    """Write to path[TOUCH] where the moving fingers touch as the objects stand in q, along their way in path."""
    first, probe = q.shape[0] - u.shape[0], q.copy()
    rate = 2.0 * (path[TOUCH] - path[READY])  # as far again as they closed before
    for a in range(u.shape[0]):
        probe[first + a] = path[READY, a] if moving[a] else probe[first + a]
    for f in range(sampler.fingers[p]):
        travel = 0.0
        for a in range(u.shape[0]):
            if moving[a] and sampler.finger[p, a] == f:
                travel = max(travel, abs(rate[a]))
        if travel > STANDING_RAD:
            close_finger(model, ws, sampler, p, f, path[READY], rate, growth.lower, growth.upper, probe)
    for a in range(u.shape[0]):
        path[TOUCH, a] = probe[first + a] if moving[a] else u[a]


@njit(**COMPILED)
def make_regrasp(
    model: Model,
    ws: Newton,
    growth: Growth,
    sampler: Sampler,
    p: int,
    moving: BoolArray,
    path: FloatArray,
    q: FloatArray,
    u: FloatArray,
    steps: Steps,
) -> bool:
    """Move the fingers of posture p along path (WAYPOINTS, n_a) to a grasp; False where the objects do not stay.

    (q, u) and steps follow. The first and last rows of path are fitted to where the objects stand.
    """
    n_a, n_c = u.shape[0], model.mu.shape[0]
    first, start = q.shape[0] - n_a, q.copy()
    counted, wanted, probe = np.zeros(n_c, dtype=np.bool_), u.copy(), q.copy()
    moved_contacts(sampler, moving, counted)
    for a in range(n_a):
        wanted[a] = min(max(q[first + a], growth.lower[a]), growth.upper[a]) if moving[a] else u[a]
    if not make_step(model, ws, growth, wanted, q, u, steps):
        return False
    probe[:] = q
    if not retreat(model, ws, sampler, moving, counted, growth.lower, growth.upper, probe):
        return False
    for a in range(n_a):
        path[0, a] = probe[first + a] if moving[a] else u[a]
        for k in range(1, TOUCH + 1):
            path[k, a] = path[k, a] if moving[a] else u[a]
    for k in range(READY + 1):
        if not _go_to(model, ws, growth, path[k], counted, q, u, steps):
            return False
    _close(model, ws, growth, sampler, p, moving, path, q, u)
    if not _go_to(model, ws, growth, path[TOUCH], counted, q, u, steps):
        return False
    wanted[:] = u
    preload(sampler, p, path, moving, growth.lower, growth.upper, wanted)
    if not make_step(model, ws, growth, wanted, q, u, steps):
        return False
    return bool(object_motion(model, growth, start, q) <= 2.0 * sampler.hold)


MAKE_REGRASP = SeparateCode(make_regrasp, types.boolean)
take_motion = MAKE_REGRASP.call
