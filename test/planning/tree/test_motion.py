"""Motions: edges of a tree are made again, and what penetrates or leaves the limits is refused."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.planning.tree.growth.arrays import REGRASP
from contact_mpc.planning.tree.motion import Motion
from contact_mpc.planning.tree.plan import GlobalPlan
from contact_mpc.planning.tree.planner import TreePlanner

PLAYED = 1e-5  # rad, m: steps of the tree start from a smoothed solution, those of a motion do not
WHOLE_STEP_RAD = 10.0  # of a plan: edges of a tree are not divided


def test_playing_a_tree_makes_its_nodes_again(turning: TreePlanner) -> None:
    """Every edge, also a regrasp of many steps, is a motion of the model: the path ends where the tree has its node."""
    file = turning.problem.file.model_copy(update={"plan_step_rad": WHOLE_STEP_RAD})
    whole = TreePlanner(replace(turning.problem, file=file))
    grown = whole.grow(seed=1)
    motion = Motion(whole, grown.tree.q[0], grown.tree.u[0])
    tree = grown.tree
    for node in grown.path_to(grown.best_node)[1:]:
        if tree.kind[node] == REGRASP:
            assert motion.regrasp(int(tree.posture[node]), tree.moving[node], tree.path[node])
        else:
            assert motion.command_all(tree.u[node][None])
        assert motion.q == pytest.approx(tree.q[node], abs=PLAYED)
    assert np.any(tree.kind[grown.path_to(grown.best_node)] == REGRASP)


def test_a_motion_refuses_steps_that_penetrate(turning: TreePlanner, found: GlobalPlan) -> None:
    plan, k = found.plan, int(np.flatnonzero(~found.is_free[2:])[3]) + 2  # commands within a grasp
    strict = TreePlanner(turning.problem)
    strict.growth = turning.growth._replace(deepest=-1e-3)  # fingers would have to be 1 mm away
    dynamics = ContactDynamics(turning.problem.system, "socp", h_s=turning.problem.file.rrt.h_s)
    for item, is_made in ((turning, True), (strict, False)):
        motion = Motion(item, plan.q[k - 1], plan.u[k - 1], dynamics)
        assert motion.command_all(plan.u[k : k + 1]) is is_made
        assert len(motion.rows.u) == is_made


def test_a_motion_refuses_commands_outside_the_joint_limits(found: GlobalPlan, turning: TreePlanner) -> None:
    motion = Motion(turning, found.plan.q[0], found.plan.u[0])
    assert not motion.command_all(turning.problem.system.q_max[None] + 0.01)
    assert np.array_equal(motion.q, found.plan.q[0])


def test_a_copy_of_a_motion_goes_on_alone(turning: TreePlanner, found: GlobalPlan) -> None:
    dynamics = ContactDynamics(turning.problem.system, "socp", h_s=turning.problem.file.rrt.h_s)
    motion = Motion(turning, found.plan.q[0], found.plan.u[0], dynamics)
    other = motion.copy()
    assert other.command_all(motion.u[None])
    assert len(other.rows.u) == 1 and not motion.rows.u
    motion.take(other)
    assert np.array_equal(motion.q, other.q) and len(motion.rows.q) == 1
    assert motion.start[0] is other.start[0]
