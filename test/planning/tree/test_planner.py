"""Trees through contact: every edge is a motion of the unsmoothed model, and nothing but the seed decides."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import InputError, PlanError
from contact_mpc.planning.tree.growth.arrays import ROOT
from contact_mpc.planning.tree.growth.extension import EXTEND_ON
from contact_mpc.planning.tree.growth.node import WRITE_NODE
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner, compile_growth
from contact_mpc.planning.tree.problem import Problem


def test_parents_come_before_children_and_lead_to_the_root(grown: GrownTree) -> None:
    tree, count = grown.tree, len(grown.tree.q)
    assert tree.kind[0] == ROOT and np.all(tree.parent[1:] < np.arange(1, count))
    assert grown.path_to(count - 1)[0] == 0


def test_the_same_seed_grows_the_same_tree_and_another_does_not(planner: TreePlanner, grown: GrownTree) -> None:
    again = planner.grow(seed=3, nodes=len(grown.tree.q), stop_at_goal=False)
    assert np.array_equal(again.tree.q, grown.tree.q) and np.array_equal(again.tree.u, grown.tree.u)
    other = planner.grow(seed=4, nodes=len(grown.tree.q), stop_at_goal=False)
    assert not np.array_equal(other.tree.q, grown.tree.q)


def test_progress_is_reported_and_ctrl_c_keeps_the_tree(planner: TreePlanner) -> None:
    seen: list[int] = []

    def interrupt(nodes: int, _best: float) -> None:
        seen.append(nodes)
        if len(seen) == 2:
            raise KeyboardInterrupt

    found = planner.grow(seed=3, nodes=150, stop_at_goal=False, progress=interrupt)
    assert found.status == "interrupted"
    assert len(found.tree.q) == seen[-1] > 1


def test_start_in_collision_is_refused_by_name(problem: Problem) -> None:
    start_a = np.array([-1.2, -1.5, 1.2, 1.5])  # both fingers folded into the disc
    with pytest.raises(InputError, match=r"start is in collision: disc\.disc and planar_hand\..* overlap by"):
        TreePlanner(replace(problem, start_a=start_a)).grow(seed=0, nodes=5)


def test_a_start_that_no_finger_reaches_leaves_no_tree(problem: Problem) -> None:
    far = replace(problem, start_u=np.array([0.0, 1.9, 0.0]))
    with pytest.raises(PlanError, match="none of .* contact samples holds the object"):
        TreePlanner(far).grow(seed=0, nodes=5)


def test_samples_are_drawn_in_to_the_goal(planner: TreePlanner, problem: Problem) -> None:
    wide, narrow = (planner._draw_targets(np.random.default_rng(0), 200, spread) for spread in (1.0, 0.25))
    expected = planner.goal[:3] + 0.25 * (wide[:, :3] - planner.goal[:3])
    assert narrow[:, :3] == pytest.approx(expected, abs=1e-12)


def test_what_is_compiled_from_the_end_is_what_planners_take(planner: TreePlanner) -> None:
    """Other types, and two processes would compile everything twice; the model here has no addresses."""
    parts = [part._function.overloads for part in (EXTEND_ON, WRITE_NODE)]
    before = [set(overloads) for overloads in parts]
    compile_growth(planner.problem)
    assert before == [set(overloads) for overloads in parts] and all(before)
