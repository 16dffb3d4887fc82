"""The local metric against its definition, and against the core's own linearisation."""

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.planning.tree.growth.metric import (
    local_distances_into,
    make_metrics,
    reachable_set,
    with_gamma,
    write_metric,
)
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner, paper_metrics
from contact_mpc.planning.tree.problem import load_problem

GAMMA = np.array([2e-3, 1e-3, 5e-4])
ROUND_OFF = 1e-10  # of sums over a few numbers of order one, Sigma inverted


@pytest.fixture(scope="module")
def planner() -> TreePlanner:
    return TreePlanner(load_problem("planar_hand_ball"))


@pytest.fixture(scope="module")
def grown(planner: TreePlanner) -> GrownTree:
    return planner.grow(seed=0, nodes=12, stop_at_goal=False)


def test_distance_is_that_of_sigma_inverse(planner: TreePlanner) -> None:
    rng, tree = np.random.default_rng(1), planner.model.tree
    metrics = make_metrics(1, 7, 3, 4)
    mu, B, q = rng.normal(size=7), rng.normal(size=(3, 4)), rng.normal(size=7)
    assert write_metric(metrics, 0, mu, B, GAMMA)
    out = np.empty(1)
    local_distances_into(tree, metrics, 1, q, out)
    e = (q - mu)[:3]
    assert out[0] == pytest.approx(0.5 * e @ np.linalg.solve(B @ B.T + np.diag(GAMMA), e), rel=ROUND_OFF)


def test_metrics_with_another_gamma_are_those_written_with_it(grown: GrownTree) -> None:
    metrics = grown.tree.metrics
    other, written = with_gamma(metrics, GAMMA), make_metrics(1, 7, 3, 4)
    write_metric(written, 0, metrics.q_next[5], metrics.B[5], GAMMA)
    assert np.array_equal(other.whiten[5], written.whiten[0]) and not np.array_equal(other.whiten, metrics.whiten)


def test_paper_measures_positions_and_turns_by_one_gamma() -> None:
    problem = load_problem("allegro_ball")
    grown, config, turns = TreePlanner(problem).grow(seed=0, nodes=2), problem.file.rrt, problem.turns
    assert config.gamma_position is not None
    gamma = np.where(turns, config.gamma, config.gamma_position)
    for metrics, diagonal in ((grown.tree.metrics, gamma), (paper_metrics(grown), np.full(6, config.gamma))):
        B, whiten = metrics.B[0], metrics.whiten[0]
        assert np.linalg.inv(whiten.T @ whiten) == pytest.approx(B @ B.T + np.diag(diagonal), rel=1e-6, abs=1e-9)


def test_reachable_set_lies_within_half_its_radius_squared(planner: TreePlanner) -> None:
    rng, epsilon = np.random.default_rng(2), 0.3
    metrics = make_metrics(1, 7, 3, 4)
    mu, B = rng.normal(size=7), rng.normal(size=(3, 4))
    write_metric(metrics, 0, mu, B, np.full(3, 1e-9))
    points = reachable_set(mu[:3], B, epsilon, rng.normal(size=(50, 3)))
    out = np.empty(1)
    for point in points:
        local_distances_into(planner.model.tree, metrics, 1, np.concatenate([point, mu[3:]]), out)
        assert out[0] <= 0.5 * epsilon**2 * (1.0 + 1e-6)
        assert out[0] >= 0.45 * epsilon**2  # support points are on the boundary: B has full rank


def test_node_holds_the_smoothed_linearisation_of_the_core(planner: TreePlanner, grown: GrownTree) -> None:
    config = planner.problem.file.rrt
    dynamics = ContactDynamics(planner.problem.system, h_s=config.h_s, kappa=config.smoothed_kappa_per_j)
    tree, n = grown.tree, planner.model.n_v_u
    for node in (0, 5, 11):
        linear = dynamics.linearize(tree.q[node], tree.u[node])
        assert tree.metrics.q_next[node] == pytest.approx(linear.step.q_next, abs=1e-5)  # tolerances 1e-8 and 1e-14
        assert tree.metrics.B[node] == pytest.approx(linear.B[:n], abs=1e-3)
        sigma = linear.B[:n] @ linear.B[:n].T + config.gamma * np.eye(n)
        whiten = tree.metrics.whiten[node]
        assert np.linalg.inv(whiten.T @ whiten) == pytest.approx(sigma, abs=1e-3)


def test_a_direction_without_contact_is_as_far_as_gamma_says() -> None:
    metrics = make_metrics(1, 7, 3, 4)
    planner = TreePlanner(load_problem("planar_hand_ball"))
    B = np.zeros((3, 4))
    B[0, 0] = 1.0
    write_metric(metrics, 0, np.zeros(7), B, GAMMA)
    out = np.empty(1)
    local_distances_into(planner.model.tree, metrics, 1, np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), out)
    assert out[0] == pytest.approx(0.5 * 0.1**2 / GAMMA[1], rel=ROUND_OFF)
