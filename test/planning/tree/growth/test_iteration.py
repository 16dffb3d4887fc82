"""Iterations: runs go on from the last child, and only a selective tree refuses."""

import numpy as np

from contact_mpc.planning.tree.growth.arrays import EXTENDED, KEPT_EXTENSIONS
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner


def test_runs_extend_the_last_child_more_often(planner: TreePlanner, grown: GrownTree) -> None:
    """With one step per target a node follows its parent directly where it happens to be the nearest, only."""
    nodes = len(grown.tree.q)
    running = TreePlanner(planner.problem)
    running.growth = planner.growth._replace(run=10)
    tree = running.grow(seed=3, nodes=nodes, stop_at_goal=False).tree

    def follows(parent: np.ndarray) -> float:
        return float(np.mean(parent[1:] == np.arange(nodes - 1)))

    assert follows(tree.parent) > 1.3 * follows(grown.tree.parent)


def test_tree_that_is_not_selective_keeps_every_step_and_counts_no_refusal(planner: TreePlanner) -> None:
    """More progress than promised by far is asked for here: a selective tree has little but regrasps."""
    strict, every = TreePlanner(planner.problem), TreePlanner(planner.problem)
    strict.growth = planner.growth._replace(least_progress=1e3)
    every.growth = strict.growth._replace(is_selective=False)
    few, tree = (item.grow(seed=3, nodes=30, stop_at_goal=False).tree for item in (strict, every))
    assert few.counts[KEPT_EXTENSIONS] < 0.5 * few.counts[EXTENDED]  # where less than nothing is promised
    assert np.any(few.refusals) and np.any(few.regrasps)
    assert tree.counts[KEPT_EXTENSIONS] > 0.9 * tree.counts[EXTENDED] > 0
    assert not np.any(tree.refusals) and not np.any(tree.regrasps)
