"""Plans from trees: valid under the unsmoothed model, consistent in themselves, refused for another system."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.tree import plan as global_plan
from contact_mpc.planning.tree.frontier import Place, grasp_of
from contact_mpc.planning.tree.growth.regrasp_motion import FREE_STEP_RAD
from contact_mpc.planning.tree.motion import Motion
from contact_mpc.planning.tree.plan import FREE_S, GlobalPlan, is_first_due, plan_due, plan_globally, with_first_alone
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.task.plan import load_plan, save_plan


def test_plan_reaches_the_goal_with_regrasps_when_replayed_unsmoothed(found: GlobalPlan, turning: TreePlanner) -> None:
    assert found.is_valid, found.replay.failure
    assert np.any(found.is_free)
    assert found.replay.angle_error_deg <= turning.problem.file.tolerance_deg
    assert found.replay.position_error_mm <= turning.problem.file.tolerance_mm


def test_every_instant_follows_from_the_one_before_in_the_unsmoothed_model(
    found: GlobalPlan, turning: TreePlanner
) -> None:
    plan, config = found.plan, turning.problem.file.rrt
    dynamics = ContactDynamics(turning.problem.system, "socp", h_s=config.h_s)
    for k in range(0, len(plan.u) - 1, 7):
        result = dynamics.step(plan.q[k], plan.u[k + 1])
        assert plan.q[k + 1] == pytest.approx(result.q_next, abs=1e-9)
        force = plan.contact_impulses[k + 1] / (plan.times_s[k + 1] - plan.times_s[k])
        assert force == pytest.approx(result.impulses / config.h_s, abs=1e-6)


def test_free_fingers_push_nothing(found: GlobalPlan) -> None:
    """Contact forces act in grasps; in free motion only the steps that unload and press touch."""
    force = np.linalg.norm(found.plan.contact_impulses[1:], axis=2).sum(axis=1) / np.diff(found.plan.times_s)
    assert force[~found.is_free[1:]].max() > 1.0  # N
    assert np.median(force[found.is_free[1:]]) < 0.1


def test_commands_move_no_faster_than_asked(found: GlobalPlan, turning: TreePlanner) -> None:
    change = np.abs(np.diff(found.plan.u, axis=0)).max(axis=1)
    assert np.all(change / np.diff(found.plan.times_s) <= turning.problem.file.timing.command_rad_per_s * (1 + 1e-9))
    assert change[~found.is_free[1:]].max() <= turning.problem.file.plan_step_rad + 1e-9
    assert change[found.is_free[1:]].max() <= max(FREE_STEP_RAD, turning.problem.file.contacts.preload_rad) + 0.2


def test_plan_file_records_its_origin_and_is_refused_for_another_system(found: GlobalPlan, tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.npz", found.plan)
    loaded = load_plan(tmp_path / "plan.npz", load_system("planar_hand_ball"))
    assert loaded.provenance["seed"] == 1 and loaded.provenance["planner"] == "rrt"
    assert loaded.provenance["parameters"]["rrt"]["step_rad"] == 0.35
    with pytest.raises(PlanError, match="a plan of system 'planar_hand_ball', not of 'allegro_ball'"):
        load_plan(tmp_path / "plan.npz", load_system("allegro_ball"))


def test_a_budget_too_small_keeps_the_tree_and_what_it_reached(turning: TreePlanner) -> None:
    few = plan_globally(turning, seed=1, nodes=8)
    assert not few.is_valid and few.status == "nodes"
    assert len(few.trees[0].tree.q) == 8
    assert few.plan.times_s[0] == 0.0


def test_trees_that_begin_again_are_plans_from_their_own_start(
    turning: TreePlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The farthest place comes first here, so that every tree begins at the start, in another posture."""
    monkeypatch.setattr(Place, "rank", lambda place: -place.error)
    rrt = turning.problem.file.rrt.model_copy(update={"stage_nodes": 30})
    file = turning.problem.file.model_copy(update={"rrt": rrt, "tolerance_deg": 1e-9})  # never reached
    problem = replace(turning.problem, file=file)
    found = plan_globally(TreePlanner(problem), seed=1, nodes=90)
    roots = np.array([grown.tree.q[0] for grown in found.trees])
    assert len(roots) >= 3 and len(np.unique(roots, axis=0)) == len(roots)
    assert any(np.array_equal(found.plan.q[0], root) for root in roots)
    assert problem.errors(found.plan.q[-1])[0] == pytest.approx(found.replay.angle_error_deg, abs=1e-3)


def test_a_place_where_trees_fail_is_left_for_where_it_came_from(turning: TreePlanner) -> None:
    grown = turning.grow(seed=1, stop_at_goal=False, nodes=100)
    start, end = (Motion(turning, grown.tree.q[node], grown.tree.u[node]) for node in (0, grown.best_node))
    places = [Place(motion, motion.object_error(turning.goal)) for motion in (start, end)]
    ratio = places[0].error / places[1].error
    assert ratio > 1.0
    while places[1].rank() < places[0].rank():
        places[1].tried += 1
    assert places[1].tried == int(np.sqrt(ratio))  # the first number with (1 + tried)^2 above it


def test_a_tree_that_leads_nowhere_leaves_its_place_alone(turning: TreePlanner) -> None:
    grown = turning.grow(seed=1, nodes=1)
    root = Motion(turning, grown.tree.q[0], grown.tree.u[0])
    place = Place(root, root.object_error(turning.goal))
    places = [place]
    assert global_plan._go_on(places, place, grown) == grown.status
    assert all(item.error < place.error for item in places[1:]) and place.tried == 1


@pytest.mark.parametrize("is_near", [False, True])
def test_ends_in_other_grasps_are_tried_too(
    turning: TreePlanner, monkeypatch: pytest.MonkeyPatch, is_near: bool
) -> None:
    grown = turning.grow(seed=1, stop_at_goal=False, nodes=100)
    refined: list[int] = []
    monkeypatch.setattr(global_plan.Refiner, "refine", lambda _refiner, _motion, node: refined.append(node))
    node = grown.best_node if is_near else 0
    motion = Motion(turning, grown.tree.q[node], grown.tree.u[node])
    place = Place(motion, motion.object_error(turning.goal))
    assert place.is_near() == is_near
    monkeypatch.setattr(turning.problem.__class__, "is_reached", lambda _problem, _q: False)
    global_plan._go_on([place], place, grown)
    assert refined[0] == grown.best_node and 1 < len(refined) <= place.grasps()
    assert len({grasp_of(grown.tree, end) for end in refined}) == len(refined)


def first(problem: Problem, *names: str) -> Problem:
    search = problem.file.search.model_copy(update={"first": names})
    return replace(problem, file=problem.file.model_copy(update={"search": search}))


def test_coordinates_that_come_first_are_planned_while_the_others_stay() -> None:
    door = load_problem("allegro_door")
    q = door.configuration(np.array([-0.8, 0.3]))
    assert is_first_due(door, q)
    alone = with_first_alone(door, q)
    np.testing.assert_allclose(alone.goal_u, [-0.8, door.goal_u[1]])
    low, high = alone.file.objects["door_hinge_rad"].range
    assert -0.8 - low == pytest.approx(high + 0.8) and high - low < 0.3  # the door hardly moves
    q[1] = door.goal_u[1] - 0.9 * door.file.search.first_rad
    assert not is_first_due(door, q)
    assert not is_first_due(first(door), door.configuration(door.start_u))


def test_a_free_object_may_turn_first_and_be_carried_then() -> None:
    pen = first(load_problem("allegro_pen"), "pen_yaw_rad")
    q = pen.configuration(pen.start_u)
    assert is_first_due(pen, q)
    alone = with_first_alone(pen, q)
    np.testing.assert_allclose(alone.goal_u[4:7], pen.start_u[4:7], atol=1e-12)
    assert alone.file.objects["pen_yaw_rad"].goal == pen.file.objects["pen_yaw_rad"].goal
    assert not is_first_due(pen, alone.configuration(alone.goal_u))


def test_first_names_coordinates_of_objects() -> None:
    plate = first(load_problem("allegro_plate"), "plate_turn_rad")
    for problem in (plate, first(load_problem("allegro_door"), "door")):
        with pytest.raises(ConfigError, match="search.first: '.*' is no coordinate of an object; known: "):
            is_first_due(problem, problem.configuration(problem.start_u))


@pytest.mark.parametrize("is_reached", [True, False])
def test_what_comes_first_and_the_rest_are_one_plan_and_where_it_fails_all_move_at_once(
    found: GlobalPlan, turning: TreePlanner, monkeypatch: pytest.MonkeyPatch, is_reached: bool
) -> None:
    starts = []

    def plan_part(planner: object, seed: int, nodes: object, start: object, progress: object) -> GlobalPlan:
        starts.append(start)
        return replace(found, status="reached" if is_reached else "nodes")

    monkeypatch.setattr(global_plan, "plan_at_once", plan_part)
    monkeypatch.setattr(global_plan, "is_first_due", lambda *_: True)
    monkeypatch.setattr(global_plan, "with_first_alone", lambda problem, _q: problem)
    done, one = plan_globally(turning, 0), found.plan
    if not is_reached:
        assert starts == [None, None] and done.plan is one
        return
    end_s, steps = one.times_s[-1], len(one.times_s) - 1
    np.testing.assert_array_equal(starts[1][0], one.q[-1])
    assert np.all(np.diff(done.plan.times_s) > 0.0) and len(done.plan.times_s) == 2 * steps + 1 == len(done.is_free)
    np.testing.assert_array_equal(done.plan.u[steps + 1 :], one.u[1:])
    free_s = np.array(one.provenance[FREE_S])
    np.testing.assert_allclose(done.plan.provenance[FREE_S], np.vstack([free_s, free_s + end_s]))


@pytest.mark.parametrize("arrives", [True, False])
def test_what_is_due_is_the_first_alone_and_all_at_once_where_it_does_not_arrive(
    found: GlobalPlan, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    door = load_problem("allegro_door")
    planner, goals = TreePlanner(door), []

    def plan_part(planner: TreePlanner, seed: int, nodes: object, start: object, progress: object) -> GlobalPlan:
        goals.append(planner.problem.goal_u)
        return replace(found, status="reached" if arrives else "nodes", problem=planner.problem)

    monkeypatch.setattr(global_plan, "plan_at_once", plan_part)
    q = door.configuration(np.array([-0.1, 0.3]))
    start = (q, q[door.system.n_q_u :])
    done = plan_due(planner, 0, start=start)
    assert done.plan is found.plan  # one stage, not two in a row
    np.testing.assert_allclose(goals, [[-0.1, door.goal_u[1]], *([] if arrives else [door.goal_u])])
    np.testing.assert_allclose(done.problem.goal_u, goals[-1])
    q = door.configuration(np.array([-0.1, door.goal_u[1]]))
    plan_due(planner, 0, start=(q, start[1]))
    np.testing.assert_allclose(goals[-1], door.goal_u)
