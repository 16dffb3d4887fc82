"""Trees through contact: every edge is a motion of the unsmoothed model, and nothing but the seed decides."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import ConfigError, InputError, PlanError
from contact_mpc.planning.tree.growth.arrays import EXTENDED, EXTENSION, KEPT_EXTENSIONS, REGRASP, ROOT
from contact_mpc.planning.tree.growth.extension import extension_command
from contact_mpc.planning.tree.growth.node import confirming_step, root_distance, smoothed_step, unsmoothed_step
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal

NODES = 150
STEP_ERROR = 1e-5  # rad, m: two solutions of a step at kappa 1e6 with tolerances 1e-8 and 1e-12


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("planar_hand_ball")


@pytest.fixture(scope="module")
def planner(problem: Problem) -> TreePlanner:
    return TreePlanner(problem)


@pytest.fixture(scope="module")
def grown(planner: TreePlanner) -> GrownTree:
    return planner.grow(seed=3, nodes=NODES, stop_at_goal=False)


def test_extension_ends_where_the_unsmoothed_step_ends(grown: GrownTree, problem: Problem) -> None:
    tree, config = grown.tree, problem.file.rrt
    dynamics = ContactDynamics(problem.system, h_s=config.h_s, kappa=config.check_kappa_per_j, tolerance=1e-12)
    nodes = np.flatnonzero(tree.kind == EXTENSION)
    assert len(nodes) > 50
    for node in nodes[::5]:
        result = dynamics.step(tree.q[tree.parent[node]], tree.u[node])
        assert result.is_converged
        assert tree.q[node] == pytest.approx(result.q_next, abs=STEP_ERROR)


def test_a_step_that_the_smoothed_solution_does_not_lead_to_is_solved_from_cold() -> None:
    """At 1e8/J the ball's smoothed solution is a bad start: that alone refused every third extension."""
    planner = TreePlanner(load_problem("allegro_ball"))
    tree = planner.grow(seed=0, nodes=60, stop_at_goal=False).tree
    refused, smoothed, reached = 0, np.empty(23), np.empty(23)
    for node in np.flatnonzero(tree.kind == EXTENSION):
        step = (planner.model, planner.newton, tree, planner.growth, tree.q[tree.parent[node]], tree.u[node])
        assert smoothed_step(*step, smoothed)
        refused += not unsmoothed_step(*step, True, reached)
        assert smoothed_step(*step, smoothed) and confirming_step(*step, reached)
        assert reached == pytest.approx(tree.q[node], abs=STEP_ERROR)
    assert refused > 0  # of some twenty


def test_extensions_keep_the_step_and_the_joint_limits(grown: GrownTree, problem: Problem) -> None:
    tree, config, system = grown.tree, problem.file.rrt, problem.system
    nodes = np.flatnonzero(tree.kind == EXTENSION)
    assert np.linalg.norm(tree.u[nodes] - tree.u[tree.parent[nodes]], axis=1).max() <= config.step_rad * (1 + 1e-9)
    margin = config.limit_margin_rad
    assert np.all(tree.u >= system.q_min + margin - 1e-9) and np.all(tree.u <= system.q_max - margin + 1e-9)


def test_extensions_spare_springs_that_they_would_overload(planner: TreePlanner, grown: GrownTree) -> None:
    """Loads are set to half of what each command asks for without them: by construction all springs are overloaded.

    With a step that limits nothing, commands minimise a cost of which the overload is a part: no node, of whichever
    tree, can be overloaded more than without it.
    """
    tree, overload = grown.tree, np.empty((20, 2))
    free = planner.growth._replace(step=1e3, load=np.full(planner.problem.system.n_a, 1e9))
    for node in range(len(overload)):
        u = np.empty((2, planner.problem.system.n_a))
        extension_command(planner.model, tree, free, node, planner.goal, u[0])
        load = 0.5 * np.abs(tree.stretch[node] + tree.stretch_B[node] @ (u[0] - tree.u[node]))
        extension_command(planner.model, tree, free._replace(load=load), node, planner.goal, u[1])
        stretch = tree.stretch[node] + (u - tree.u[node]) @ tree.stretch_B[node].T
        overload[node] = np.sum(np.maximum(np.abs(stretch) - load, 0.0) ** 2, axis=1)
    assert np.all(overload[:, 1] <= overload[:, 0] * (1.0 + 1e-6))
    assert overload[:, 1].sum() < 0.5 * overload[:, 0].sum()


def test_regrasps_leave_the_object_where_it_is(grown: GrownTree, problem: Problem) -> None:
    tree, hold = grown.tree, problem.file.contacts.hold_m
    nodes = np.flatnonzero(tree.kind == REGRASP)
    assert len(nodes) > 0
    moved = tree.q[nodes, :2] - tree.q[tree.parent[nodes], :2]
    assert np.linalg.norm(moved, axis=1).max() <= 2.0 * hold  # while the fingers are away, and when they press


def test_parents_come_before_children_and_lead_to_the_root(grown: GrownTree) -> None:
    tree = grown.tree
    assert tree.kind[0] == ROOT and np.all(tree.parent[1:] < np.arange(1, NODES))
    assert grown.path_to(NODES - 1)[0] == 0


def test_the_same_seed_grows_the_same_tree_and_another_does_not(planner: TreePlanner, grown: GrownTree) -> None:
    again = planner.grow(seed=3, nodes=NODES, stop_at_goal=False)
    assert np.array_equal(again.tree.q, grown.tree.q) and np.array_equal(again.tree.u, grown.tree.u)
    other = planner.grow(seed=4, nodes=NODES, stop_at_goal=False)
    assert not np.array_equal(other.tree.q, grown.tree.q)


def test_progress_is_reported_and_ctrl_c_keeps_the_tree(planner: TreePlanner) -> None:
    seen: list[int] = []

    def interrupt(nodes: int, _best: float) -> None:
        seen.append(nodes)
        if len(seen) == 2:
            raise KeyboardInterrupt

    found = planner.grow(seed=3, nodes=NODES, stop_at_goal=False, progress=interrupt)
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


@pytest.mark.parametrize("goal", [9.0, float("nan")])
def test_goal_outside_its_range_is_refused_with_the_range(problem: Problem, goal: float) -> None:
    with pytest.raises(InputError, match=rf"goal of disc_turn_rad = {goal:g} is outside its range \[-0.01, 3.15\]"):
        with_goal(problem, {"disc_turn_rad": goal})


def test_unknown_goal_coordinate_is_refused_with_the_known_ones(problem: Problem) -> None:
    with pytest.raises(ConfigError, match="disc_spin.*disc_y_m, disc_z_m, disc_turn_rad"):
        with_goal(problem, {"disc_spin": 1.0})


def test_unknown_joint_of_a_posture_is_refused(problem: Problem, tmp_path: Path) -> None:
    text = problem.path.read_text().replace("left_1: [-0.9, -0.05]", "left_7: [-0.9, -0.05]")
    path = tmp_path / "problem.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="no joint 'left_7' in system 'planar_hand_ball'"):
        TreePlanner(load_problem(path))


def test_runs_extend_the_last_child_more_often(planner: TreePlanner, grown: GrownTree) -> None:
    """With one step per target a node follows its parent directly where it happens to be the nearest, only."""
    running = TreePlanner(planner.problem)
    running.growth = planner.growth._replace(run=10)
    tree = running.grow(seed=3, nodes=NODES, stop_at_goal=False).tree

    def follows(parent: np.ndarray) -> float:
        return float(np.mean(parent[1:] == np.arange(NODES - 1)))

    assert follows(tree.parent) > 1.3 * follows(grown.tree.parent)


def test_samples_are_drawn_in_to_the_goal(planner: TreePlanner, problem: Problem) -> None:
    wide, narrow = (planner._draw_targets(np.random.default_rng(0), 200, spread) for spread in (1.0, 0.25))
    expected = planner.goal[:3] + 0.25 * (wide[:, :3] - planner.goal[:3])
    assert narrow[:, :3] == pytest.approx(expected, abs=1e-12)


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


def test_progress_is_measured_in_the_metric_of_the_nearest_node(planner: TreePlanner, grown: GrownTree) -> None:
    tree, node, q = grown.tree, NODES // 2, grown.tree.q[NODES - 1]
    local, plain = (
        root_distance(planner.model, tree, planner.growth._replace(is_local=is_local), node, planner.goal, q)
        for is_local in (True, False)
    )
    e = planner.problem.system.difference(planner.goal, q)[: planner.problem.system.n_v_u]
    B = tree.metrics.B[node]
    sigma = B @ B.T + planner.problem.file.rrt.gamma * np.eye(len(B))
    assert local == pytest.approx(np.sqrt(e @ np.linalg.solve(sigma, e)), rel=1e-9)
    assert plain == pytest.approx(planner.object_distance(q, planner.goal))
