"""Paths of fingers between two grasps keep their clearance from the object that they left."""

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.dynamics.smoothed.newton import measure_gaps
from contact_mpc.planning.tree.finger_paths import LINE_STEP_RAD, READY
from contact_mpc.planning.tree.growth.arrays import REGRASP
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner

NEAR = 0.9  # of the clearance: a retreat ends within one step of it
STEP_ERROR_M = 1e-5  # two solutions of the step in which the object settles


def test_no_finger_comes_near_the_object_before_it_closes(planner: TreePlanner, grown: GrownTree) -> None:
    tree, system, config = grown.tree, planner.problem.system, planner.problem.file.rrt
    dynamics = ContactDynamics(system, h_s=config.h_s, kappa=config.check_kappa_per_j, tolerance=1e-12)
    nodes = np.flatnonzero(tree.kind == REGRASP)[:6]
    assert len(nodes)
    for node in nodes:
        moving, path = tree.moving[node], tree.path[node]
        counted = planner.sampler.moved_by[moving].any(axis=0)
        q, u = tree.q[tree.parent[node]].copy(), tree.u[tree.parent[node]].copy()
        q[system.n_q_u :][moving] = u[moving] = path[0][moving]
        settled = dynamics.step(q, u).q_next.copy()
        for start, end in zip(path[:READY], path[1 : READY + 1], strict=True):
            count = int(np.abs(end - start).max() / LINE_STEP_RAD) + 1
            for share in np.linspace(0.0, 1.0, count + 1):
                settled[system.n_q_u :] = start + share * (end - start)
                gaps = np.asarray(measure_gaps(planner.model, planner.newton, settled))
                assert gaps[counted].min() >= NEAR * planner.sampler.clearance - STEP_ERROR_M


def test_joints_of_fingers_that_hold_on_do_not_move(grown: GrownTree) -> None:
    tree = grown.tree
    for node in np.flatnonzero(tree.kind == REGRASP):
        stays = ~tree.moving[node]
        assert np.array_equal(tree.path[node][:, stays], np.tile(tree.u[tree.parent[node]][stays], (5, 1)))
