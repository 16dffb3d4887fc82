"""The motion between two grasps: small steps, as many as there is room for, and the object stays."""

import numpy as np

from contact_mpc.planning.tree.growth.arrays import REGRASP
from contact_mpc.planning.tree.growth.regrasp_motion import (
    FREE_STEP_RAD,
    MOST_STEPS,
    Steps,
    make_regrasp,
    make_steps,
    object_motion,
)
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner

ROUND_OFF = 1e-12


def move(planner: TreePlanner, grown: GrownTree, node: int, room: int) -> tuple[bool, np.ndarray, np.ndarray, Steps]:
    """Make the motion of a node again from its parent, with room for so many steps."""
    tree, steps = grown.tree, make_steps(room, grown.tree.u.shape[1])
    q, u = tree.q[tree.parent[node]].copy(), tree.u[tree.parent[node]].copy()
    way = int(tree.posture[node]), tree.moving[node], tree.path[node].copy()
    return (
        bool(make_regrasp(planner.model, planner.newton, planner.growth, planner.sampler, *way, q, u, steps)),
        q,
        u,
        steps,
    )


def test_a_motion_made_again_ends_in_its_node_by_small_steps(planner: TreePlanner, grown: GrownTree) -> None:
    tree, n_q_u = grown.tree, planner.problem.system.n_q_u
    node = int(np.flatnonzero(tree.kind == REGRASP)[0])
    is_made, q, u, steps = move(planner, grown, node, MOST_STEPS)
    assert is_made and np.array_equal(q, tree.q[node]) and np.array_equal(u, tree.u[node])
    start = tree.q[tree.parent[node]]
    assert object_motion(planner.model, planner.growth, start, q) <= 2.0 * planner.sampler.hold
    commands = steps.u[: steps.made[0]]
    # the first step unloads the springs, the last presses
    assert np.abs(np.diff(commands[:-1], axis=0)).max() <= FREE_STEP_RAD + ROUND_OFF
    assert not np.array_equal(q[n_q_u:], start[n_q_u:])


def test_a_motion_without_room_for_its_steps_is_refused(planner: TreePlanner, grown: GrownTree) -> None:
    node = int(np.flatnonzero(grown.tree.kind == REGRASP)[0])
    needed = int(move(planner, grown, node, MOST_STEPS)[3].made[0])
    assert needed > 4 and not move(planner, grown, node, needed - 1)[0]
