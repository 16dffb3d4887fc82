"""Arrays of a tree and parameters of its growth, as they are sent to other processes."""

import pickle

import numpy as np

from contact_mpc.planning.tree.growth.arrays import NO_GROWTH_CODES, REGRASP, ROOT, Tree
from contact_mpc.planning.tree.growth.metric import Metrics
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner


def test_what_is_sent_to_another_process_has_no_addresses(planner: TreePlanner) -> None:
    sent = pickle.loads(pickle.dumps(planner.growth))
    assert sent.codes == NO_GROWTH_CODES
    assert np.array_equal(sent.load, planner.growth.load) and sent.step == planner.growth.step


def test_a_tree_that_is_sent_arrives_bit_for_bit(grown: GrownTree) -> None:
    sent = pickle.loads(pickle.dumps(grown.tree))
    assert type(sent) is Tree and type(sent.metrics) is Metrics
    for ours, theirs in zip((*grown.tree, *grown.tree.metrics), (*sent, *sent.metrics), strict=True):
        assert isinstance(ours, Metrics) or np.array_equal(ours, theirs)


def test_rows_that_are_no_regrasps_have_no_posture(grown: GrownTree) -> None:
    """A node is written over rows of candidates: what they left behind must be gone."""
    tree = grown.tree
    assert np.all(tree.posture[tree.kind == REGRASP] >= 0)
    assert tree.parent[0] == -1 and tree.kind[0] == ROOT
