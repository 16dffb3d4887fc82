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

from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.planning.tree.growth.arrays import (
    KEPT_REGRASPS,
    Growth,
    Stage,
    Tree,
)
from contact_mpc.planning.tree.growth.contact_sampling import (
    Sampler,
)
from contact_mpc.planning.tree.growth.extension import take_extensions
from contact_mpc.planning.tree.growth.metric import (
    Metrics,
    global_distances_into,
    local_distances_into,
)
from contact_mpc.planning.tree.growth.node import (
    add_node,
    rank,
)
from contact_mpc.planning.tree.growth.regrasp_edge import take_regrasp
from contact_mpc.planning.tree.growth.regrasp_motion import (
    MOST_STEPS,
    make_steps,
)
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER


@njit(inline="always", **INNER)
def _distances(
    model: Model,
    tree: Tree,
    growth: Growth,
    is_local: bool,
    first: int,
    end: int,
    target: FloatArray,
    distances: FloatArray,
) -> None:
    """Write the distances to the target, in the local or the global metric, of nodes first <= k < end."""
    if is_local:
        metrics = tree.metrics
        part = Metrics(metrics.q_next[first:end], metrics.B[first:end], metrics.whiten[first:end])
        local_distances_into(model.tree, part, end - first, target, distances[first:end])
    else:
        global_distances_into(model.tree, growth.weight, tree.q[first:end], end - first, target, distances[first:end])


@njit(**INNER)
def _choose(
    model: Model,
    tree: Tree,
    growth: Growth,
    stage: Stage,
    is_local: bool,
    target: FloatArray,
    refusals: FloatArray,
    distances: FloatArray,
) -> int:
    """Return the node of the stage nearest to the target in the local or the global metric."""
    best, count = stage.root, tree.size[0]
    _distances(model, tree, growth, is_local, stage.root, stage.root + 1, target, distances)
    _distances(model, tree, growth, is_local, stage.first, count, target, distances)
    least = rank(distances[best], refusals[best])
    for node in range(stage.first, count):
        value = rank(distances[node], refusals[node])
        if value < least:
            best, least = node, value
    return best


@njit(nogil=True, **COMPILED)
def grow(
    model: Model,
    ws: Newton,
    tree: Tree,
    growth: Growth,
    sampler: Sampler,
    rng: np.random.Generator,
    stage: Stage,
    targets: FloatArray,
    goal: FloatArray,
    nodes: int,
    stop_at_goal: bool,
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
            arguments = (model, ws, tree, growth, sampler, rng, steps, node, targets[k], goal)
            if take_regrasp(growth.codes.regrasp, arguments):
                tree.counts[KEPT_REGRASPS] += 1
                add_node(model, tree, growth, goal)
                way = (model, ws, tree, growth, count, targets[k], goal, nodes, growth.run - 1)
                take_extensions(growth.codes.extend_on, way)
            continue
        node = _choose(model, tree, growth, stage, growth.is_local, targets[k], tree.refusals, distances)
        take_extensions(growth.codes.extend_on, (model, ws, tree, growth, node, targets[k], goal, nodes, growth.run))
