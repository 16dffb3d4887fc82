"""One node of a tree: the steps that confirm it, what is written of it, its rank."""

import numpy as np
from numba import njit, types

from contact_mpc.dynamics.smoothed.derivatives import take_derivatives
from contact_mpc.dynamics.smoothed.integration import integrate_into
from contact_mpc.dynamics.smoothed.log_barrier import CONVERGED, take_step
from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.optimisation.horizon import object_error_into
from contact_mpc.planning.tree.growth.arrays import (
    SMOOTHED,
    UNSMOOTHED,
    Growth,
    Tree,
)
from contact_mpc.planning.tree.growth.metric import (
    global_distances_into,
    whitened_square,
    write_metric,
)
from contact_mpc.planning.tree.growth.regrasp_motion import (
    STEP_TOLERANCE,
    stays_out,
)
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER
from contact_mpc.settings.code.separate_code import SeparateCode


@njit(inline="always", **INNER)
def _model_step(
    model: Model, ws: Newton, kappa: float, q: FloatArray, u: FloatArray, warm: bool, q_next: FloatArray
) -> bool:
    """Write q_next of the model at a barrier weight; False where it has none."""
    offset = np.zeros(model.mu.shape[0])
    status, _, _ = take_step(model.codes.step, (model, ws, q, u, offset, kappa, STEP_TOLERANCE, warm))
    integrate_into(model.tree, q, ws.dq, q_next)
    return status == CONVERGED


@njit(inline="always", **COMPILED)
def unsmoothed_step(
    model: Model, ws: Newton, tree: Tree, growth: Growth, q: FloatArray, u: FloatArray, warm: bool, q_next: FloatArray
) -> bool:
    """Write q_next of the model at the barrier weight that counts as unsmoothed; False where it has none."""
    tree.counts[UNSMOOTHED] += 1
    return _model_step(model, ws, growth.kappa_check, q, u, warm, q_next)


@njit(inline="always", **COMPILED)
def smoothed_step(
    model: Model, ws: Newton, tree: Tree, growth: Growth, q: FloatArray, u: FloatArray, q_next: FloatArray
) -> bool:
    """Write q_next of the model at the barrier weight of extensions; False where it has none."""
    tree.counts[SMOOTHED] += 1
    return _model_step(model, ws, growth.kappa_smoothed, q, u, False, q_next)


@njit(inline="always", **COMPILED)
def confirming_step(
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
    q_next = np.empty(q.shape[0])
    if not smoothed_step(model, ws, tree, growth, q, u, q_next):
        return False
    X, A, B = np.empty((n_v, n_v + n_a)), np.empty((n_v, n_v)), np.empty((n_v, n_a))
    take_derivatives(model.codes.derivatives, (model, ws, growth.kappa_smoothed, X, A, B))
    tree.q[node], tree.u[node] = q, u
    _write_stretch(tree, node, q_next, B)
    tree.refusals[node], tree.regrasps[node] = 0.0, 0.0
    global_distances_into(model.tree, growth.weight, tree.q[node : node + 1], 1, goal, tree.goal_distance[node:])
    return write_metric(tree.metrics, node, q_next, B, growth.gamma * growth.gamma_scale**2)


WRITE_NODE = SeparateCode(write_node, types.boolean)
take_node = WRITE_NODE.call


@njit(inline="always", **INNER)
def _write_stretch(tree: Tree, node: int, q_next: FloatArray, B: FloatArray) -> None:
    """Write u - q_a of the smoothed step and its derivative by the command."""
    n_a = tree.u.shape[1]
    tree.stretch[node] = tree.u[node] - q_next[q_next.shape[0] - n_a :]
    tree.stretch_B[node] = np.eye(n_a) - B[B.shape[0] - n_a :]


@njit(inline="always", **INNER)
def copy_row(tree: Tree, source: int, target: int) -> None:
    """Copy what makes a node from one row to another, as one that was neither refused nor regrasped."""
    tree.q[target], tree.u[target], tree.path[target] = tree.q[source], tree.u[source], tree.path[source]
    tree.posture[target], tree.moving[target] = tree.posture[source], tree.moving[source]
    tree.refusals[target], tree.regrasps[target] = 0.0, 0.0
    tree.goal_distance[target] = tree.goal_distance[source]
    tree.stretch[target], tree.stretch_B[target] = tree.stretch[source], tree.stretch_B[source]
    metrics = tree.metrics
    metrics.q_next[target], metrics.B[target] = metrics.q_next[source], metrics.B[source]
    metrics.whiten[target] = metrics.whiten[source]


@njit(inline="always", **COMPILED)
def is_inside(model: Model, growth: Growth, goal: FloatArray, q: FloatArray) -> bool:
    """Whether the object in q is within its bounds."""
    e = np.empty(growth.weight.shape[0])
    object_error_into(model.tree, e.shape[0], goal, q, e)
    return bool(np.all(e >= growth.object_lower) and np.all(e <= growth.object_upper))


@njit(inline="always", **INNER)
def is_bearable(model: Model, ws: Newton, growth: Growth, q: FloatArray, u: FloatArray) -> bool:
    """Whether springs stay within the load after the last step, and gaps above what linearisation may leave."""
    first = q.shape[0] - u.shape[0]
    for a in range(u.shape[0]):
        if abs(u[a] - q[first + a]) > growth.load[a]:
            return False
    return bool(stays_out(model, ws, growth, q))


@njit(inline="always", **COMPILED)
def root_distance(model: Model, tree: Tree, growth: Growth, node: int, target: FloatArray, q: FloatArray) -> float:
    """Return sqrt((q_u - target)' Sigma^-1 (q_u - target)) with Sigma of a node, or the global weights in its place."""
    e = np.empty(tree.metrics.B.shape[1])
    object_error_into(model.tree, e.shape[0], target, q, e)
    if growth.is_local:
        return np.sqrt(whitened_square(tree.metrics.whiten[node], e))
    return np.sqrt(np.sum(growth.weight * e * e))


@njit(inline="always", **INNER)
def own_distance(model: Model, tree: Tree, growth: Growth, node: int, target: FloatArray) -> float:
    """Return the distance from a node to the target in the metric in use."""
    e = np.empty(growth.weight.shape[0])
    if growth.is_local:
        object_error_into(model.tree, e.shape[0], tree.metrics.q_next[node], target, e)
        return 0.5 * whitened_square(tree.metrics.whiten[node], e)
    object_error_into(model.tree, e.shape[0], tree.q[node], target, e)
    return 0.5 * np.sum(growth.weight * e * e)


@njit(inline="always", **INNER)
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


@njit(inline="always", **COMPILED)
def rank(distance: float, refusals: float) -> float:
    """Return the distance by which a node is chosen: further away by the square of 1 + refusals."""
    return distance * (1.0 + refusals) ** 2


@njit(inline="always", **COMPILED)
def refuse(tree: Tree, growth: Growth, node: int) -> None:
    """Count a try in vain at a node, where the tree is selective."""
    if growth.is_selective:
        tree.refusals[node] += 1.0
