"""Nodes: where the unsmoothed step ends, from the smoothed solution or from cold; progress in the nearest's metric."""

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.planning.tree.growth.arrays import EXTENSION
from contact_mpc.planning.tree.growth.node import confirming_step, root_distance, smoothed_step, unsmoothed_step
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import Problem, load_problem

STEP_ERROR = 1e-5  # rad, m: two solutions of a step at kappa 1e6 with tolerances 1e-8 and 1e-12


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


def test_progress_is_measured_in_the_metric_of_the_nearest_node(planner: TreePlanner, grown: GrownTree) -> None:
    tree, node, q = grown.tree, len(grown.tree.q) // 2, grown.tree.q[-1]
    local, plain = (
        root_distance(planner.model, tree, planner.growth._replace(is_local=is_local), node, planner.goal, q)
        for is_local in (True, False)
    )
    e = planner.problem.system.difference(planner.goal, q)[: planner.problem.system.n_v_u]
    B = tree.metrics.B[node]
    sigma = B @ B.T + planner.problem.file.rrt.gamma * np.eye(len(B))
    assert local == pytest.approx(np.sqrt(e @ np.linalg.solve(sigma, e)), rel=1e-9)
    assert plain == pytest.approx(planner.object_distance(q, planner.goal))
