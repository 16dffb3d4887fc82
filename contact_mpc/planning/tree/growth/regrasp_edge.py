"""Edges that change the grasp of a node while its object rests."""

import numpy as np
from numba import njit, types

from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.planning.tree.finger_paths import READY, TOUCH, find_free_path, moved_contacts, retreat
from contact_mpc.planning.tree.growth.arrays import (
    REGRASP,
    REGRASPED,
    UNSMOOTHED,
    Growth,
    Tree,
)
from contact_mpc.planning.tree.growth.contact_sampling import (
    WHOLE,
    Sampler,
    choose_fingers,
    close_finger,
    draw_posture,
    least_gap,
    preload,
)
from contact_mpc.planning.tree.growth.node import (
    copy_row,
    is_bearable,
    is_inside,
    own_distance,
    take_node,
    unsmoothed_step,
)
from contact_mpc.planning.tree.growth.regrasp_motion import (
    Steps,
    object_motion,
    take_motion,
)
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER
from contact_mpc.settings.code.separate_code import SeparateCode

HOLDING_GAP_M = 1e-3  # a finger nearer than this holds on


@njit(**COMPILED)
def sample_contact(
    model: Model,
    ws: Newton,
    tree: Tree,
    growth: Growth,
    sampler: Sampler,
    rng: np.random.Generator,
    node: int,
    slot: int,
    goal: FloatArray,
) -> bool:
    """Write a regrasp of a node to row `slot`; False where this sample has none. At the root nothing has to retreat."""
    n_a, n_c = tree.u.shape[1], model.mu.shape[0]
    first = tree.q.shape[1] - n_a
    base, rate = np.empty(n_a), np.empty(n_a)
    chosen, moving = np.zeros(sampler.touches.shape[1], dtype=np.bool_), np.zeros(n_a, dtype=np.bool_)
    counted = np.zeros(n_c, dtype=np.bool_)
    q, u, path = tree.q[node].copy(), tree.u[node].copy(), tree.path[slot]
    is_start = tree.size[0] == 0
    p = draw_posture(model, ws, sampler, rng, q, base, rate)
    choose_fingers(sampler, rng, p, chosen)
    if is_start:
        chosen[: sampler.fingers[p]] = True
    is_whole = np.sum(chosen) == sampler.fingers[p]
    for a in range(n_a):
        f = sampler.finger[p, a]
        moving[a] = (f >= 0 and chosen[f]) or (f == WHOLE and is_whole)
        base[a] = min(max(base[a], growth.lower[a]), growth.upper[a]) if moving[a] else u[a]
    moved_contacts(sampler, moving, counted)
    settled, reached = q.copy(), np.empty(q.shape[0])
    if not is_start:
        if not retreat(model, ws, sampler, moving, counted, growth.lower, growth.upper, q):
            return False
        for a in range(n_a):
            u[a] = q[first + a] if moving[a] else u[a]
        if not unsmoothed_step(model, ws, tree, growth, q, u, False, settled):
            return False
        if object_motion(model, growth, q, settled) > sampler.hold:
            return False
    path[0], path[READY] = u, base
    for a in range(n_a):
        settled[first + a] = base[a] if moving[a] else settled[first + a]
    if least_gap(model, ws, settled, counted) < sampler.clearance:
        return False
    if is_start:
        path[0], path[1], path[2] = base, base, base
    elif not find_free_path(model, ws, sampler, rng, moving, counted, settled, path):
        return False
    touching = 0
    for f in range(sampler.fingers[p]):
        if chosen[f]:
            touching += close_finger(model, ws, sampler, p, f, base, rate, growth.lower, growth.upper, settled)
        else:
            touching += least_gap(model, ws, settled, sampler.touches[p, f]) < HOLDING_GAP_M
    if touching < sampler.least_touching:
        return False
    for a in range(n_a):
        path[TOUCH, a] = settled[first + a] if moving[a] else u[a]
    preload(sampler, p, path, moving, growth.lower, growth.upper, u)
    if not unsmoothed_step(model, ws, tree, growth, settled, u, False, reached):
        return False
    if object_motion(model, growth, settled, reached) > sampler.hold or not is_bearable(model, ws, growth, reached, u):
        return False
    tree.posture[slot], tree.moving[slot] = p, moving
    return take_node(growth.codes.write_node, (model, ws, tree, growth, slot, reached, u, goal))


SAMPLE_CONTACT = SeparateCode(sample_contact, types.boolean)
take_sample = SAMPLE_CONTACT.call


@njit(**INNER)
def regrasp(
    model: Model,
    ws: Newton,
    tree: Tree,
    growth: Growth,
    sampler: Sampler,
    rng: np.random.Generator,
    steps: Steps,
    node: int,
    target: FloatArray,
    goal: FloatArray,
) -> bool:
    """Move to the best of some contact samples of a node; False where none is feasible, or the motion there is not."""
    slot, best = tree.size[0], np.inf
    for _ in range(growth.candidates):
        tree.counts[REGRASPED] += 1
        if not take_sample(growth.codes.sample_contact, (model, ws, tree, growth, sampler, rng, node, slot + 1, goal)):
            continue
        if not is_inside(model, growth, goal, tree.q[slot + 1]):
            continue
        distance = own_distance(model, tree, growth, slot + 1, target)
        if distance < best:
            best = distance
            copy_row(tree, slot + 1, slot)
    return best < np.inf and _move_to_grasp(model, ws, tree, growth, sampler, steps, node, goal)


@njit(inline="always", **INNER)
def _move_to_grasp(
    model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler, steps: Steps, node: int, goal: FloatArray
) -> bool:
    """Make the motion to the contact sample behind the last node and write where it ends; False where it fails."""
    slot, q, u = tree.size[0], tree.q[node].copy(), tree.u[node].copy()
    steps.made[0] = 0
    way = (tree.posture[slot], tree.moving[slot], tree.path[slot].copy())
    is_made = take_motion(growth.codes.make_regrasp, (model, ws, growth, sampler, *way, q, u, steps))
    tree.counts[UNSMOOTHED] += steps.made[0]
    if not is_made or not is_inside(model, growth, goal, q) or not is_bearable(model, ws, growth, q, u):
        return False
    tree.parent[slot], tree.kind[slot] = node, REGRASP
    return take_node(growth.codes.write_node, (model, ws, tree, growth, slot, q, u, goal))


REGRASP_EDGE = SeparateCode(regrasp, types.boolean)
take_regrasp = REGRASP_EDGE.call
