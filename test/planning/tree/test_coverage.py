"""Coverage: the radius fills the ranges, samples are uniform, and a tree covers more the more nodes it has."""

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import quaternion_log
from contact_mpc.planning.tree.coverage import build_space, measure_coverage
from contact_mpc.planning.tree.growth.metric import local_distances_into
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import load_problem, with_ranges

NODES = 120
TURN, HALF = (-np.pi, np.pi), (-0.5 * np.pi, 0.5 * np.pi)


@pytest.fixture(scope="module")
def planner() -> TreePlanner:
    return TreePlanner(load_problem("planar_hand_ball"))


def test_balls_of_the_radius_have_the_volume_of_the_ranges(planner: TreePlanner) -> None:
    problem = planner.problem
    radius = build_space(planner, full_at=NODES, samples=1).radius
    width = (problem.upper - problem.lower) / np.array([0.25, 0.25, 1.0])  # lengths of the disc's radius
    assert NODES * 4.0 / 3.0 * np.pi * radius**3 == pytest.approx(np.prod(width))


def test_rotations_of_a_free_body_are_uniform_on_the_sphere_of_quaternions() -> None:
    """The angle to any rotation has the distribution (angle - sin angle) / pi on SO(3)."""
    full = {"ball_roll_rad": TURN, "ball_pitch_rad": HALF, "ball_yaw_rad": TURN}
    problem = with_ranges(load_problem("allegro_ball"), full)
    space = build_space(TreePlanner(problem), full_at=1000, samples=4000, only_turns=True)
    assert np.all(space.weight[~problem.turns] == 0.0) and np.all(space.weight[problem.turns] == 1.0)
    angle = np.array([np.linalg.norm(quaternion_log(q)) for q in space.q[:, :4]])
    angle = np.minimum(angle, 2.0 * np.pi - angle)
    for limit in (0.5, 1.0, 2.0, 3.0):
        share = (limit - np.sin(limit)) / np.pi
        deviation = np.sqrt(share * (1.0 - share) / len(angle))
        assert np.mean(angle <= limit) == pytest.approx(share, abs=4.0 * deviation)
    assert 1000 * 4.0 / 3.0 * np.pi * space.radius**3 == pytest.approx(8.0 * np.pi**2)


def test_coverage_counts_the_first_nodes_alone(planner: TreePlanner) -> None:
    grown = planner.grow(seed=3, nodes=NODES, stop_at_goal=False)
    space = build_space(planner, full_at=NODES, samples=200)
    covered = measure_coverage(planner, grown, space, (1, NODES // 2, NODES, 10 * NODES))
    assert np.all(np.diff(covered.visited) >= 0.0) and np.all(np.diff(covered.packed) >= 0.0)
    assert covered.visited[-1] == covered.visited[-2]  # there are no more nodes
    near = [planner.object_distance(grown.tree.q[0], q) <= space.radius for q in space.q]
    assert covered.visited[0] == np.mean(near)
    distance = np.empty(NODES)
    packed = 0
    for q in space.q:
        local_distances_into(planner.model.tree, grown.tree.metrics, NODES, q, distance)
        packed += 2.0 * distance.min() < 3.0
    assert covered.packed[2] == packed / len(space.q)


def test_nodes_where_the_samples_are_visit_all_of_them(planner: TreePlanner) -> None:
    grown = planner.grow(seed=3, nodes=30, stop_at_goal=False)
    space = build_space(planner, full_at=30, samples=30)
    grown.tree.q[:, : planner.problem.system.n_q_u] = space.q[:, : planner.problem.system.n_q_u]
    assert measure_coverage(planner, grown, space, (30,)).visited[0] == 1.0


def test_ranges_without_the_goal_are_refused() -> None:
    with pytest.raises(InputError, match="goal of disc_turn_rad = 3.14159 is outside its range"):
        with_ranges(load_problem("planar_hand_ball"), {"disc_turn_rad": (-1.0, 1.0)})
