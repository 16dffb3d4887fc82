"""Trees of the ablation: as many nodes as asked, edges to nodes before, what is left out makes another tree."""

import numpy as np

from contact_mpc.examples.claims.ablation_trees import grow_variant
from contact_mpc.planning.tree.coverage import ABLATION


def test_variants_grow_other_trees_of_the_same_size() -> None:
    names = list(ABLATION)
    trees = [grow_variant(name, nodes=25) for name in (names[0], names[2])]
    for tree in trees:
        assert len(tree.q_u) == len(tree.parent) == 25 and 0.0 < tree.visited <= 1.0
        assert tree.parent[0] == -1 and all(0 <= parent < node for node, parent in enumerate(tree.parent) if node)
    assert not np.allclose(trees[0].q_u[1:], trees[1].q_u[1:])
