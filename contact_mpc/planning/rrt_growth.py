"""Growth of the tree through contact, compiled: extension by a smoothed step that the unsmoothed model must confirm.

One iteration takes a target q (the goal, or a sample) and either

  extends   the node nearest in the local metric: du of the least squares min |B_u du - e|_W^2 + g |du|^2 within the
            joint limits, no longer than the step, with g W^-1 = diag(gamma) of the metric, and with a one-sided cost on
            springs that the linearised step overloads; one smoothed step promises progress towards the target; the
            same command is then solved at a barrier weight that counts as unsmoothed, from the smoothed solution, and
            from cold where that fails. The child is where the *unsmoothed* step ends, and is kept where that makes at
            least a share of the promise. Where springs are overloaded or bodies penetrate after it, half of the
            command is tried, and a quarter; where it makes too little progress, too, as far as `progress_halvings`
            goes: short steps keep more of their promise, but use up nodes.
  regrasps  the node whose object is nearest to the target: of some contact samples (`contact_sampling`) the one with
            the least local distance to the target is kept. Its fingers retreat, the unsmoothed model shows that the
            object stays without them; they move freely, close and press, and again it must stay: a balanced grasp.

So every edge is a motion that the unsmoothed model makes, including those between grasps. A node that refuses counts as
further away by the square of 1 + refusals, so that the tree does not try the same thing for ever. A tree that is not
selective, as the paper's, judges no progress and counts no refusals: every step that the model can make is a node, and
the node to regrasp is chosen as that to extend. With the global metric, progress is measured by that, too.
Source: seeds/003, "RRT through contact".
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.derivatives import solve_derivatives, tangent_derivatives
from contact_mpc.dynamics.integration import integrate_into
from contact_mpc.dynamics.log_barrier import CONVERGED, solve_step
from contact_mpc.dynamics.newton import Newton
from contact_mpc.dynamics.quadratic import Model
from contact_mpc.model.flags import COMPILED
from contact_mpc.optimisation.box_qp import StagedHessian
from contact_mpc.optimisation.hinged_qp import solve_hinged_qp
from contact_mpc.optimisation.horizon import object_error_into
from contact_mpc.planning.contact_sampling import (
    WHOLE,
    Sampler,
    choose_fingers,
    close_finger,
    draw_posture,
    least_gap,
    preload,
)
from contact_mpc.planning.metric import (
    Metrics,
    global_distances_into,
    local_distances_into,
    whitened_square,
    write_metric,
)
from contact_mpc.planning.regrasp_motion import (
    MOST_STEPS,
    STEP_TOLERANCE,
    Steps,
    make_regrasp,
    make_steps,
    object_motion,
    stays_out,
)
from contact_mpc.planning.regrasping import READY, TOUCH, find_free_path, moved_contacts, retreat
from contact_mpc.planning.tree_arrays import (
    EXTENDED,
    EXTENSION,
    KEPT_EXTENSIONS,
    KEPT_REGRASPS,
    REGRASP,
    REGRASPED,
    SMOOTHED,
    UNSMOOTHED,
    Growth,
    Stage,
    Tree,
)

FloatArray = NDArray[np.float64]
LOAD_WEIGHT = 1e4  # of the stretch of springs beyond their load, 1/rad^2 (1/m^2), beside e in rad^2
HALVINGS = 2  # of an extension that fails
HOLDING_GAP_M = 1e-3  # a finger nearer than this holds on


@njit(**COMPILED)
def _model_step(
    model: Model, ws: Newton, kappa: float, q: FloatArray, u: FloatArray, warm: bool, q_next: FloatArray
) -> bool:
    """Write q_next of the model at a barrier weight; False where it has none."""
    status, _, _ = solve_step(model, ws, q, u, np.zeros(model.mu.shape[0]), kappa, STEP_TOLERANCE, warm)
    integrate_into(model.tree, q, ws.dq, q_next)
    return status == CONVERGED


@njit(**COMPILED)
def unsmoothed_step(
    model: Model, ws: Newton, tree: Tree, growth: Growth, q: FloatArray, u: FloatArray, warm: bool, q_next: FloatArray
) -> bool:
    """Write q_next of the model at the barrier weight that counts as unsmoothed; False where it has none."""
    tree.counts[UNSMOOTHED] += 1
    return _model_step(model, ws, growth.kappa_check, q, u, warm, q_next)


@njit(**COMPILED)
def _smoothed_step(
    model: Model, ws: Newton, tree: Tree, growth: Growth, q: FloatArray, u: FloatArray, q_next: FloatArray
) -> bool:
    tree.counts[SMOOTHED] += 1
    return _model_step(model, ws, growth.kappa_smoothed, q, u, False, q_next)


@njit(**COMPILED)
def _confirming_step(
    model: Model, ws: Newton, tree: Tree, growth: Growth, q: FloatArray, u: FloatArray, q_next: FloatArray
) -> bool:
    """Write q_next of the unsmoothed model, from the smoothed solution or, where that fails, from cold."""
    if unsmoothed_step(model, ws, tree, growth, q, u, True, q_next):
        return True
    return unsmoothed_step(model, ws, tree, growth, q, u, False, q_next)


@njit(**COMPILED)
def write_node(
    model: Model, ws: Newton, tree: Tree, growth: Growth, node: int, q: FloatArray, u: FloatArray, goal: FloatArray
) -> bool:
    """Fill row `node` with a configuration, its command and its metric; False where there is no metric."""
    n_v, n_a = ws.dq.shape[0], u.shape[0]
    mu = np.empty(q.shape[0])
    if not _smoothed_step(model, ws, tree, growth, q, u, mu):
        return False
    X, A, B = np.empty((n_v, n_v + n_a)), np.empty((n_v, n_v)), np.empty((n_v, n_a))
    solve_derivatives(model, ws, growth.kappa_smoothed, X)
    tangent_derivatives(model, ws, X, A, B)
    tree.q[node], tree.u[node] = q, u
    _write_stretch(tree, node, mu, B)
    tree.refusals[node], tree.regrasps[node] = 0.0, 0.0
    global_distances_into(model.tree, growth.weight, tree.q[node : node + 1], 1, goal, tree.goal_distance[node:])
    return write_metric(tree.metrics, node, mu, B, growth.gamma * growth.gamma_scale**2)


@njit(**COMPILED)
def _write_stretch(tree: Tree, node: int, mu: FloatArray, B: FloatArray) -> None:
    """Write u - q_a of the smoothed step and its derivative by the command."""
    n_a = tree.u.shape[1]
    tree.stretch[node] = tree.u[node] - mu[mu.shape[0] - n_a :]
    tree.stretch_B[node] = np.eye(n_a) - B[B.shape[0] - n_a :]


@njit(**COMPILED)
def _copy_row(tree: Tree, source: int, target: int) -> None:
    tree.q[target], tree.u[target], tree.path[target] = tree.q[source], tree.u[source], tree.path[source]
    tree.posture[target], tree.moving[target] = tree.posture[source], tree.moving[source]
    tree.refusals[target], tree.regrasps[target] = 0.0, 0.0
    tree.goal_distance[target] = tree.goal_distance[source]
    tree.stretch[target], tree.stretch_B[target] = tree.stretch[source], tree.stretch_B[source]
    metrics = tree.metrics
    metrics.mu[target], metrics.B[target] = metrics.mu[source], metrics.B[source]
    metrics.whiten[target] = metrics.whiten[source]


@njit(**COMPILED)
def _is_inside(model: Model, growth: Growth, goal: FloatArray, q: FloatArray) -> bool:
    """Whether the object in q is within its bounds."""
    e = np.empty(growth.weight.shape[0])
    object_error_into(model.tree, e.shape[0], goal, q, e)
    return bool(np.all(e >= growth.object_lower) and np.all(e <= growth.object_upper))


@njit(**COMPILED)
def _is_bearable(model: Model, ws: Newton, growth: Growth, q: FloatArray, u: FloatArray) -> bool:
    """Whether springs stay within the load after the last step, and gaps above what linearisation may leave."""
    first = q.shape[0] - u.shape[0]
    for a in range(u.shape[0]):
        if abs(u[a] - q[first + a]) > growth.load[a]:
            return False
    return bool(stays_out(model, ws, growth, q))


@njit(**COMPILED)
def _load_rows(tree: Tree, growth: Growth, node: int) -> tuple[FloatArray, FloatArray]:
    """Return rows (2 n_a, n_a) and level (2 n_a,) of a one-sided cost on linearised loads beyond both limits."""
    n_a, root = tree.u.shape[1], np.sqrt(LOAD_WEIGHT)
    rows, level = np.empty((2 * n_a, n_a)), np.empty(2 * n_a)
    rows[:n_a] = root * tree.stretch_B[node]
    rows[n_a:] = -root * tree.stretch_B[node]
    level[:n_a] = root * (growth.load + tree.stretch[node])
    level[n_a:] = root * (growth.load - tree.stretch[node])
    return rows, level


@njit(**COMPILED)
def extension_command(model: Model, tree: Tree, growth: Growth, node: int, target: FloatArray, u: FloatArray) -> None:
    """Write the command (n_a,) that moves the object of a node towards the target by the linearised step.

    Springs that it would overload cost.
    """
    B, n_a = tree.metrics.B[node], u.shape[0]
    n = B.shape[0]
    e, wanted = np.empty(n), np.empty(n)
    object_error_into(model.tree, n, tree.metrics.mu[node], target, e)
    whiten = tree.metrics.whiten[node]
    inverse = whiten.T @ (whiten @ e)  # du = B' Sigma^-1 e without limits
    du = B.T @ inverse
    norm = np.sqrt(np.sum(du * du))
    wanted[:] = e * min(1.0, growth.step / max(norm, 1e-12))
    lower, upper = np.empty(n_a), np.empty(n_a)
    for a in range(n_a):
        lower[a] = min(max(growth.lower[a] - tree.u[node, a], -growth.step), 0.0)
        upper[a] = max(min(growth.upper[a] - tree.u[node, a], growth.step), 0.0)
    weighted = np.empty((n, n_a))  # W^1/2 B
    for i in range(n):
        wanted[i] /= growth.gamma_scale[i]
        for a in range(n_a):
            weighted[i, a] = B[i, a] / growth.gamma_scale[i]
    H = StagedHessian(np.full(n_a, growth.gamma), np.zeros(n_a), weighted, n_a)
    f = -(weighted.T @ wanted)
    du[:] = 0.0
    rows, level = _load_rows(tree, growth, node)
    solve_hinged_qp(H, f, rows, level, lower, upper, du)
    norm = np.sqrt(np.sum(du * du))
    u[:] = tree.u[node] + du * min(1.0, growth.step / max(norm, 1e-12))


@njit(**COMPILED)
def _root_distance(
    model: Model, tree: Tree, growth: Growth, node: int, target: FloatArray, q: FloatArray
) -> float:
    """Return sqrt((q_u - target)' Sigma^-1 (q_u - target)) with Sigma of a node, or the global weights in its place."""
    e = np.empty(tree.metrics.B.shape[1])
    object_error_into(model.tree, e.shape[0], target, q, e)
    if growth.is_local:
        return np.sqrt(whitened_square(tree.metrics.whiten[node], e))
    return np.sqrt(np.sum(growth.weight * e * e))


@njit(**COMPILED)
def _extend(
    model: Model, ws: Newton, tree: Tree, growth: Growth, node: int, target: FloatArray, goal: FloatArray
) -> bool:
    """Write the extension of a node towards the target behind the last node; False where it is refused."""
    q, u, slot = tree.q[node], np.empty(tree.u.shape[1]), tree.size[0]
    promised, reached = np.empty(q.shape[0]), np.empty(q.shape[0])
    tree.counts[EXTENDED] += 1
    extension_command(model, tree, growth, node, target, u)
    before = _root_distance(model, tree, growth, node, target, q)
    for halving in range(HALVINGS + 1):
        if halving > 0:
            u[:] = 0.5 * (u + tree.u[node])
        if not _smoothed_step(model, ws, tree, growth, q, u, promised):
            return False
        if not _confirming_step(model, ws, tree, growth, q, u, reached):
            continue
        if not _is_bearable(model, ws, growth, reached, u):
            continue
        promise = before - _root_distance(model, tree, growth, node, target, promised)
        progress = before - _root_distance(model, tree, growth, node, target, reached)
        if growth.is_selective and not (progress > 0.0 and progress >= growth.least_progress * promise):
            if halving >= growth.progress_halvings:
                return False
            continue
        if not _is_inside(model, growth, goal, reached):
            return False
        tree.parent[slot], tree.kind[slot], tree.posture[slot] = node, EXTENSION, -1
        return write_node(model, ws, tree, growth, slot, reached, u, goal)
    return False


@njit(**COMPILED)
def sample_contact(
    model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler, rng: np.random.Generator, node: int,
    slot: int, goal: FloatArray,
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
    if object_motion(model, growth, settled, reached) > sampler.hold or not _is_bearable(model, ws, growth, reached, u):
        return False
    tree.posture[slot], tree.moving[slot] = p, moving
    return write_node(model, ws, tree, growth, slot, reached, u, goal)


@njit(**COMPILED)
def _own_distance(model: Model, tree: Tree, growth: Growth, node: int, target: FloatArray) -> float:
    """Return the distance from a node to the target in the metric in use."""
    e = np.empty(growth.weight.shape[0])
    if growth.is_local:
        object_error_into(model.tree, e.shape[0], tree.metrics.mu[node], target, e)
        return 0.5 * whitened_square(tree.metrics.whiten[node], e)
    object_error_into(model.tree, e.shape[0], tree.q[node], target, e)
    return 0.5 * np.sum(growth.weight * e * e)


@njit(**COMPILED)
def _regrasp(
    model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler, rng: np.random.Generator, steps: Steps,
    node: int, target: FloatArray, goal: FloatArray,
) -> bool:
    """Move to the best of some contact samples of a node; False where none is feasible, or the motion there is not."""
    slot, best = tree.size[0], np.inf
    for _ in range(growth.candidates):
        tree.counts[REGRASPED] += 1
        if not sample_contact(model, ws, tree, growth, sampler, rng, node, slot + 1, goal):
            continue
        if not _is_inside(model, growth, goal, tree.q[slot + 1]):
            continue
        distance = _own_distance(model, tree, growth, slot + 1, target)
        if distance < best:
            best = distance
            _copy_row(tree, slot + 1, slot)
    return best < np.inf and _move_to_grasp(model, ws, tree, growth, sampler, steps, node, goal)


@njit(**COMPILED)
def _move_to_grasp(
    model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler, steps: Steps, node: int, goal: FloatArray
) -> bool:
    """Make the motion to the contact sample behind the last node and write where it ends; False where it fails."""
    slot, q, u = tree.size[0], tree.q[node].copy(), tree.u[node].copy()
    steps.made[0] = 0
    is_made = make_regrasp(
        model, ws, growth, sampler, tree.posture[slot], tree.moving[slot], tree.path[slot].copy(), q, u, steps
    )
    tree.counts[UNSMOOTHED] += steps.made[0]
    if not is_made or not _is_inside(model, growth, goal, q) or not _is_bearable(model, ws, growth, q, u):
        return False
    tree.parent[slot], tree.kind[slot] = node, REGRASP
    return write_node(model, ws, tree, growth, slot, q, u, goal)


@njit(**COMPILED)
def has_reached(model: Model, growth: Growth, q: FloatArray, goal: FloatArray) -> bool:
    """Whether the object in q is within the tolerances of the goal."""
    e, turn, distance = np.empty(growth.weight.shape[0]), 0.0, 0.0
    object_error_into(model.tree, e.shape[0], goal, q, e)
    for i in range(e.shape[0]):
        if growth.turns[i]:
            turn += e[i] * e[i]
        else:
            distance += e[i] * e[i]
    return np.sqrt(turn) <= growth.tolerance[0] and np.sqrt(distance) <= growth.tolerance[1]


@njit(**COMPILED)
def add_node(model: Model, tree: Tree, growth: Growth, goal: FloatArray) -> None:
    """Count the row behind the last node as a node."""
    node = tree.size[0]
    tree.size[0] += 1
    if node == 0 or tree.goal_distance[node] < tree.goal_distance[tree.best[0]]:
        tree.best[0] = node
    if tree.best[1] < 0 and has_reached(model, growth, tree.q[node], goal):
        tree.best[1] = node


@njit(**COMPILED)
def _rank(distance: float, refusals: float) -> float:
    return distance * (1.0 + refusals) ** 2


@njit(**COMPILED)
def _refuse(tree: Tree, growth: Growth, node: int) -> None:
    if growth.is_selective:
        tree.refusals[node] += 1.0


@njit(**COMPILED)
def add_steps(
    model: Model, ws: Newton, tree: Tree, growth: Growth, node: int, commands: FloatArray, goal: FloatArray
) -> None:
    """Add the nodes to which commands (T, n_a) lead from a node, up to the one nearest to the goal, if any is nearer.

    They end where the model has no step, springs are overloaded, bodies penetrate, or objects leave their bounds.
    """
    count, q_next = tree.size[0], np.empty(tree.q.shape[1])
    before, kept, least = node, 0, tree.goal_distance[node]
    for k in range(commands.shape[0]):
        slot = count + k
        if not unsmoothed_step(model, ws, tree, growth, tree.q[before], commands[k], False, q_next):
            break
        if not _is_bearable(model, ws, growth, q_next, commands[k]) or not _is_inside(model, growth, goal, q_next):
            break
        tree.parent[slot], tree.kind[slot], tree.posture[slot] = before, EXTENSION, -1
        if not write_node(model, ws, tree, growth, slot, q_next, commands[k], goal):
            break
        if tree.goal_distance[slot] < least:
            kept, least = k + 1, tree.goal_distance[slot]
        before = slot
    for _ in range(kept):
        add_node(model, tree, growth, goal)


@njit(**COMPILED)
def _distances(
    model: Model, tree: Tree, growth: Growth, is_local: bool, first: int, end: int, target: FloatArray,
    distances: FloatArray,
) -> None:
    """Write the distances to the target, in the local or the global metric, of nodes first <= k < end."""
    if is_local:
        metrics = tree.metrics
        part = Metrics(metrics.mu[first:end], metrics.B[first:end], metrics.whiten[first:end])
        local_distances_into(model.tree, part, end - first, target, distances[first:end])
    else:
        global_distances_into(
            model.tree, growth.weight, tree.q[first:end], end - first, target, distances[first:end]
        )


@njit(**COMPILED)
def _choose(
    model: Model, tree: Tree, growth: Growth, stage: Stage, is_local: bool, target: FloatArray, refusals: FloatArray,
    distances: FloatArray,
) -> int:
    """Return the node of the stage nearest to the target in the local or the global metric."""
    best, count = stage.root, tree.size[0]
    _distances(model, tree, growth, is_local, stage.root, stage.root + 1, target, distances)
    _distances(model, tree, growth, is_local, stage.first, count, target, distances)
    least = _rank(distances[best], refusals[best])
    for node in range(stage.first, count):
        value = _rank(distances[node], refusals[node])
        if value < least:
            best, least = node, value
    return best


@njit(**COMPILED)
def _extend_on(
    model: Model, ws: Newton, tree: Tree, growth: Growth, node: int, target: FloatArray, goal: FloatArray, nodes: int,
    steps: int,
) -> None:
    """Extend a node towards the target and go on from the child, up to so many steps or until one is refused."""
    for _ in range(steps):
        count = tree.size[0]
        if count >= nodes:
            return
        before = _own_distance(model, tree, growth, node, target)
        if not _extend(model, ws, tree, growth, node, target, goal):
            _refuse(tree, growth, node)
            return
        tree.counts[KEPT_EXTENSIONS] += 1
        add_node(model, tree, growth, goal)
        if _own_distance(model, tree, growth, count, target) >= before:
            _refuse(tree, growth, node)  # the child is no better placed: the next one would be its twin
            return
        node = count


@njit(nogil=True, **COMPILED)
def grow(
    model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler, rng: np.random.Generator,
    stage: Stage, targets: FloatArray, goal: FloatArray, nodes: int, stop_at_goal: bool,
) -> None:
    """Do one iteration per row of targets (n, n_q), until there are so many nodes or, if asked, the goal is reached.

    Only nodes of the stage are extended and regrasped.
    """
    distances = np.empty(tree.q.shape[0])
    steps = make_steps(MOST_STEPS, tree.u.shape[1])
    for k in range(targets.shape[0]):
        count = tree.size[0]
        if count >= nodes or (stop_at_goal and tree.best[1] >= 0):
            return
        if rng.random() < growth.contact_probability:
            is_local = growth.is_local and not growth.is_selective
            node = _choose(model, tree, growth, stage, is_local, targets[k], tree.regrasps, distances)
            if growth.is_selective:
                tree.regrasps[node] += 1.0
            if _regrasp(model, ws, tree, growth, sampler, rng, steps, node, targets[k], goal):
                tree.counts[KEPT_REGRASPS] += 1
                add_node(model, tree, growth, goal)
                _extend_on(model, ws, tree, growth, count, targets[k], goal, nodes, growth.run - 1)
            continue
        node = _choose(model, tree, growth, stage, growth.is_local, targets[k], tree.refusals, distances)
        _extend_on(model, ws, tree, growth, node, targets[k], goal, nodes, growth.run)
