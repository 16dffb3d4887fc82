"""One extension of a tree: the command from the local linearisation, steps along it."""

import numpy as np
from numba import njit, types

from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.optimisation.box_qp import HorizonHessian
from contact_mpc.optimisation.hinged_qp import solve_hinged_qp
from contact_mpc.optimisation.horizon import object_error_into
from contact_mpc.planning.tree.growth.arrays import (
    EXTENDED,
    EXTENSION,
    KEPT_EXTENSIONS,
    Growth,
    Tree,
)
from contact_mpc.planning.tree.growth.node import (
    add_node,
    confirming_step,
    is_bearable,
    is_inside,
    own_distance,
    refuse,
    root_distance,
    smoothed_step,
    take_node,
    unsmoothed_step,
)
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER
from contact_mpc.settings.code.separate_code import SeparateCode

LOAD_WEIGHT = 1e4  # of the stretch of springs beyond their load, 1/rad^2 (1/m^2), beside e in rad^2


HALVINGS = 2  # of an extension that fails


@njit(inline="always", **INNER)
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
    object_error_into(model.tree, n, tree.metrics.q_next[node], target, e)
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
    H = HorizonHessian(np.full(n_a, growth.gamma), np.zeros(n_a), weighted, n_a)
    f = -(weighted.T @ wanted)
    du[:] = 0.0
    rows, level = _load_rows(tree, growth, node)
    solve_hinged_qp(H, f, rows, level, lower, upper, du)
    norm = np.sqrt(np.sum(du * du))
    u[:] = tree.u[node] + du * min(1.0, growth.step / max(norm, 1e-12))


EXTENSION_COMMAND = SeparateCode(extension_command, types.none)
take_command = EXTENSION_COMMAND.call


@njit(inline="always", **INNER)
def _extend(
    model: Model, ws: Newton, tree: Tree, growth: Growth, node: int, target: FloatArray, goal: FloatArray
) -> bool:
    """Write the extension of a node towards the target behind the last node; False where it is refused."""
    q, u, slot = tree.q[node], np.empty(tree.u.shape[1]), tree.size[0]
    promised, reached = np.empty(q.shape[0]), np.empty(q.shape[0])
    tree.counts[EXTENDED] += 1
    take_command(growth.codes.extension_command, (model, tree, growth, node, target, u))
    before = root_distance(model, tree, growth, node, target, q)
    for halving in range(HALVINGS + 1):
        if halving > 0:
            u[:] = 0.5 * (u + tree.u[node])
        if not smoothed_step(model, ws, tree, growth, q, u, promised):
            return False
        if not confirming_step(model, ws, tree, growth, q, u, reached):
            continue
        if not is_bearable(model, ws, growth, reached, u):
            continue
        promise = before - root_distance(model, tree, growth, node, target, promised)
        progress = before - root_distance(model, tree, growth, node, target, reached)
        if growth.is_selective and not (progress > 0.0 and progress >= growth.least_progress * promise):
            if halving >= growth.progress_halvings:
                return False
            continue
        if not is_inside(model, growth, goal, reached):
            return False
        tree.parent[slot], tree.kind[slot], tree.posture[slot] = node, EXTENSION, -1
        return take_node(growth.codes.write_node, (model, ws, tree, growth, slot, reached, u, goal))
    return False


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
        if not is_bearable(model, ws, growth, q_next, commands[k]) or not is_inside(model, growth, goal, q_next):
            break
        tree.parent[slot], tree.kind[slot], tree.posture[slot] = before, EXTENSION, -1
        if not take_node(growth.codes.write_node, (model, ws, tree, growth, slot, q_next, commands[k], goal)):
            break
        if tree.goal_distance[slot] < least:
            kept, least = k + 1, tree.goal_distance[slot]
        before = slot
    for _ in range(kept):
        add_node(model, tree, growth, goal)


@njit(**INNER)
def extend_on(
    model: Model,
    ws: Newton,
    tree: Tree,
    growth: Growth,
    node: int,
    target: FloatArray,
    goal: FloatArray,
    nodes: int,
    steps: int,
) -> None:
    """Extend a node towards the target and go on from the child, up to so many steps or until one is refused."""
    for _ in range(steps):
        count = tree.size[0]
        if count >= nodes:
            return
        before = own_distance(model, tree, growth, node, target)
        if not _extend(model, ws, tree, growth, node, target, goal):
            refuse(tree, growth, node)
            return
        tree.counts[KEPT_EXTENSIONS] += 1
        add_node(model, tree, growth, goal)
        if own_distance(model, tree, growth, count, target) >= before:
            refuse(tree, growth, node)  # the child is no better placed: the next one would be its twin
            return
        node = count


EXTEND_ON = SeparateCode(extend_on, types.none)
take_extensions = EXTEND_ON.call
