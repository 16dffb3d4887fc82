"""Refined paths: cut at the regrasps, and ending no further from the goal than the tree does."""

from itertools import pairwise

import numpy as np

from contact_mpc.planning.tree.growth.arrays import EXTENSION, REGRASP
from contact_mpc.planning.tree.motion import Motion
from contact_mpc.planning.tree.plan import GlobalPlan
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.refinement import Refiner, split_path


def test_segments_cover_the_path_and_begin_at_its_regrasps(grown: GrownTree) -> None:
    kind = grown.tree.kind
    ends = [node for node in range(len(kind)) if np.any(kind[grown.path_to(node)] == REGRASP)]
    assert ends
    for node in (*ends[-5:], 0):
        segments = split_path(grown, node)
        assert [item for segment in segments for item in segment.nodes] == grown.path_to(node).tolist()
        assert not segments[0].regrasp and all(segment.regrasp for segment in segments[1:])
        for segment in segments:
            assert np.all(kind[list(segment.nodes[1:])] == EXTENSION)
        for _, after in pairwise(segments):
            assert kind[after.nodes[0]] == REGRASP


def test_a_path_of_the_root_alone_is_one_segment_without_motion(found: GlobalPlan, turning: TreePlanner) -> None:
    grown = found.trees[0]
    root = Motion(turning, grown.tree.q[0], grown.tree.u[0])
    near = root.object_error(turning.goal) <= turning.problem.file.search.approach_rad
    Refiner(turning, grown).refine(root, 0)
    assert split_path(grown, 0)[0].nodes == (0,)
    assert near or np.array_equal(root.q, grown.tree.q[0])
