"""Edges that change the grasp: the object stays, and as many fingers hold it afterwards as are asked for."""

import numpy as np

from contact_mpc.dynamics.smoothed.newton import measure_gaps
from contact_mpc.planning.tree.growth.arrays import REGRASP
from contact_mpc.planning.tree.growth.regrasp_edge import HOLDING_GAP_M
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import Problem


def test_regrasps_leave_the_object_where_it_is(grown: GrownTree, problem: Problem) -> None:
    tree, hold = grown.tree, problem.file.contacts.hold_m
    nodes = np.flatnonzero(tree.kind == REGRASP)
    assert len(nodes) > 0
    moved = tree.q[nodes, :2] - tree.q[tree.parent[nodes], :2]
    assert np.linalg.norm(moved, axis=1).max() <= 2.0 * hold  # while the fingers are away, and when they press


def test_enough_fingers_touch_after_a_regrasp(planner: TreePlanner, grown: GrownTree) -> None:
    tree, sampler = grown.tree, planner.sampler
    for node in np.flatnonzero(tree.kind == REGRASP):
        near = np.asarray(measure_gaps(planner.model, planner.newton, tree.q[node])) < HOLDING_GAP_M
        touching = np.any(sampler.touches[tree.posture[node]] & near, axis=1)
        assert touching.sum() >= sampler.least_touching


def test_joints_that_do_not_move_keep_their_commands(grown: GrownTree) -> None:
    tree = grown.tree
    for node in np.flatnonzero(tree.kind == REGRASP):
        stays = ~tree.moving[node]
        assert np.array_equal(tree.u[node][stays], tree.u[tree.parent[node]][stays])
