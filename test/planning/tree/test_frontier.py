"""Stages: search goes on from one place alone, the nearest that was not tried too often, and steers to the goal."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.planning.tree import planner as rrt
from contact_mpc.planning.tree.frontier import Place, best_of_grasps, grasp_of, next_place
from contact_mpc.planning.tree.growth.arrays import EXTENSION, REGRASP, Stage, Tree
from contact_mpc.planning.tree.growth.iteration import grow
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import load_problem, with_rrt
from contact_mpc.planning.tree.search_config import SearchConfig

STEP_ERROR = 1e-5  # rad, m: two solutions of a step at kappa 1e6 with tolerances 1e-8 and 1e-12


@pytest.fixture(scope="module")
def grown() -> GrownTree:
    problem = with_rrt(load_problem("planar_hand_ball"), stage_nodes=40)
    return TreePlanner(problem).grow(seed=3, nodes=200, stop_at_goal=False)


def test_the_nearest_place_is_next_until_it_was_tried_in_vain() -> None:
    start, near = Place("start", 9.0), Place("near", 1.0)
    near.tried = 1
    assert next_place([start, near]) is near
    near.tried = 2
    assert next_place([start, near]) is start  # 1.0 (1 + 2)^2 is no less than 9.0, and the first counts
    assert near.lead_to("gain", 0.89).tried == 0
    assert near.lead_to("no gain", 0.91).tried == 2


def test_samples_narrow_and_stages_shrink_towards_the_goal() -> None:
    far, near = Place(0, 2.0), Place(1, 0.25)
    assert (far.nodes(100), near.nodes(100), near.nodes(5)) == (100, 20, 2)
    assert far.spread(2.0) == 1.0 and near.spread(2.0) == pytest.approx(0.2 + 0.125)


def test_more_ends_count_near_the_goal() -> None:
    config = SearchConfig(grasps=3, grasps_near=5, near_rad=1.0)
    assert [Place(0, error, config=config).grasps() for error in (2.0, 0.5)] == [3, 5]
    assert Place(0, 2.0, config=config).lead_to(1, 0.5).grasps() == 5


@pytest.mark.parametrize("most", [4, 8])
def test_ends_are_the_best_of_different_grasps(grown: GrownTree, most: int) -> None:
    tree, first = grown.tree, 20
    ranks = tree.goal_distance[first:]
    ends = best_of_grasps(tree, ranks, first, most)
    grasps = [grasp_of(tree, node) for node in ends]
    there_are = len({grasp_of(tree, node) for node in range(first, len(tree.q))})
    assert len(set(grasps)) == len(grasps) == min(most, there_are)
    for node, grasp in zip(ends, grasps, strict=True):
        same = [k for k in range(first, len(tree.q)) if grasp_of(tree, k) == grasp]
        assert tree.goal_distance[node] == tree.goal_distance[same].min()


def test_a_stage_grows_from_its_root_alone(grown: GrownTree) -> None:
    planner, room, count, root = TreePlanner(grown.problem), 60, len(grown.tree.q), 7
    tree = Tree(*(pad(array, room) for array in grown.tree[:7]), _pad_metrics(grown, room), *grown.tree[8:])
    tree = tree._replace(
        refusals=pad(tree.refusals, room), regrasps=pad(tree.regrasps, room),
        goal_distance=pad(tree.goal_distance, room), stretch=pad(tree.stretch, room),
        stretch_B=pad(tree.stretch_B, room), counts=tree.counts.copy(), size=tree.size.copy(),
        best=tree.best.copy(),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    targets = planner._draw_targets(rng, 100, 1.0)
    end = count + room - 2
    grow(
        planner.model, planner.newton, tree, planner.growth, planner.sampler, rng, Stage(root, count), targets,
        planner.goal, end, False,
    )  # fmt: skip
    assert tree.size[0] > count + 20
    for node in range(count, int(tree.size[0])):
        while node >= count:
            node = int(tree.parent[node])
        assert node == root


def pad(array: np.ndarray, room: int) -> np.ndarray:
    return np.concatenate([array, np.zeros((room, *array.shape[1:]), dtype=array.dtype)])


def _pad_metrics(grown: GrownTree, room: int) -> object:
    return type(grown.tree.metrics)(*(pad(array, room) for array in grown.tree.metrics))


def test_steering_adds_steps_of_the_unsmoothed_model_that_come_nearer(monkeypatch: pytest.MonkeyPatch) -> None:
    steered: list[tuple[int, int, int]] = []
    compiled = rrt.add_steps

    def record(model: object, newton: object, tree: Tree, growth: object, node: int, *rest: object) -> None:
        before = int(tree.size[0])
        compiled(model, newton, tree, growth, node, *rest)
        if tree.size[0] > before:
            steered.append((node, before, int(tree.size[0])))

    monkeypatch.setattr(rrt, "add_steps", record)
    problem = with_rrt(load_problem("planar_hand_ball"), stage_nodes=40)
    tree, config = TreePlanner(problem).grow(seed=5, nodes=400, stop_at_goal=False).tree, problem.file.rrt
    dynamics = ContactDynamics(problem.system, h_s=config.h_s, kappa=config.check_kappa_per_j, tolerance=1e-12)
    assert steered
    for node, first, end in steered:
        assert tree.goal_distance[end - 1] < tree.goal_distance[[node, *range(first, end - 1)]].min()
        assert np.all(tree.kind[first:end] == EXTENSION)
        assert tree.parent[first:end].tolist() == [node, *range(first, end - 1)]
        for k in range(first, end):
            result = dynamics.step(tree.q[tree.parent[k]], tree.u[k])
            assert result.is_converged and tree.q[k] == pytest.approx(result.q_next, abs=STEP_ERROR)


def test_the_path_to_a_node_crosses_stages(grown: GrownTree) -> None:
    assert np.any(grown.tree.kind == REGRASP)
    for node in (60, 120, 199):
        path = grown.path_to(node)
        assert path[0] == 0 and np.all(np.diff(path) > 0)


def test_stages_turn_the_cylinder_of_two_arms_round_more_often_than_one_stage() -> None:
    """Of eight seeds eight with stages and two without, in short steps, where inertia holds the cylinder back.

    Which ones depends on rounding.
    """
    problem = with_rrt(load_problem("iiwa_planar_bimanual_cylinder"), h_s=0.05)
    problem = replace(problem, file=problem.file.model_copy(update={"friction": None}))
    planners = TreePlanner(problem), TreePlanner(with_rrt(problem, stage_nodes=1000))
    staged, single = (sum(planner.grow(seed).is_reached for seed in (101, 103, 119, 1)) for planner in planners)
    assert staged > single
