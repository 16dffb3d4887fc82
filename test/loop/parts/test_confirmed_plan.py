"""Plans played in physics: roll-outs agree with the plant, what fails is planned again, what cannot be is told."""

import numpy as np
import pytest

from contact_mpc.errors import PlanError
from contact_mpc.loop.parts import confirmed_plan
from contact_mpc.loop.parts.confirmation import MujocoConfirmation
from contact_mpc.loop.parts.confirmed_plan import LEAST_PAUSE_S, SETTLE_S, ConfirmedPlan, confirm, confirm_best
from contact_mpc.loop.parts.plant_world import PlantWorld
from contact_mpc.planning.tree import segments
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.task.plan import Plan

PUSH_M, PUSH_S = 0.06, 2.0
AGREE_M = 1e-3  # m, rad: roll-outs take steps of 2 ms, the plant of 1 ms


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("planar_pushing")


@pytest.fixture(scope="module")
def physics(problem: Problem) -> MujocoConfirmation:
    return MujocoConfirmation(problem.system)


def push(problem: Problem) -> Plan:
    """Return a straight push along y, with the box at rest where the pusher's spring leaves it."""
    q = np.tile(problem.configuration(problem.start_u, problem.start_a), (2, 1))
    u = q[:, problem.system.n_q_u :].copy()
    u[1, 1] += PUSH_M
    q[1, problem.system.n_q_u + 1] += PUSH_M
    q[1, 1] += PUSH_M - 0.01  # the pusher starts 1 cm from the box
    provenance = {"seed": 0, "parameters": problem.file.model_dump(mode="json")}
    return Plan(np.array([0.0, PUSH_S]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)), provenance)


def test_roll_out_of_the_nominal_draw_is_the_plants_motion(problem: Problem, physics: MujocoConfirmation) -> None:
    plan = push(problem)
    found = physics.ways(plan.q[0], plan)
    rolled = found.q
    world = PlantWorld("mujoco", problem.system, plan.q[0], PlantPerturbation())
    played = world.ways(plan.q[0], plan)
    count = len(played.times_s)
    assert PUSH_S + LEAST_PAUSE_S <= played.times_s[-1] < PUSH_S + SETTLE_S  # it ends where the box rests
    np.testing.assert_allclose(found.times_s[:count], played.times_s)
    np.testing.assert_allclose(rolled[0, :count], played.q[0], atol=AGREE_M)
    assert rolled[0, -1, 1] - plan.q[0, 1] == pytest.approx(PUSH_M - 0.01, abs=5e-3)
    assert np.ptp(rolled[:, -1, 1]) > 1e-4  # boxes of other sizes are met sooner or later


@pytest.mark.parametrize("size", [0.97, 1.015])
def test_size_of_a_box_is_learned_from_a_push_in_another_engine(problem: Problem, size: float) -> None:
    plan, physics = push(problem), MujocoConfirmation(problem.system)
    world = PlantWorld("drake", problem.system, plan.q[0], PlantPerturbation(size_scale=size))
    seen = world.ways(world.q, plan)
    box_m = [abs(physics.ways(plan.q[0], plan).q[0, -1, 1] - seen.q[0, -1, 1])]
    physics.learn(problem, plan.q[0], plan, seen)
    box_m.append(abs(physics.ways(plan.q[0], plan).q[0, -1, 1] - seen.q[0, -1, 1]))
    assert (physics.identified[1] - 1.0) * (size - 1.0) > 0.0
    assert box_m[1] < 0.3 * box_m[0]


def test_plan_that_leads_to_the_goal_is_confirmed_as_it_was_played(
    problem: Problem, physics: MujocoConfirmation
) -> None:
    goal = with_goal(problem, {"box_x_m": 0.0, "box_y_m": 0.5 + PUSH_M - 0.01, "box_turn_rad": 0.0})
    done = confirm(goal, push(goal), physics)
    assert done.is_confirmed, done.reason
    assert done.plan.provenance["confirmed"] is True and len(done.robustness) == 1
    assert PUSH_S + LEAST_PAUSE_S <= done.plan.times_s[-1] <= PUSH_S + SETTLE_S
    assert goal.is_reached(done.plan.q[-1])
    assert np.all(np.diff(done.plan.times_s) > 0.0)


def test_what_no_plan_leads_on_from_is_kept_and_told(
    problem: Problem, physics: MujocoConfirmation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PlanError("no tree")

    monkeypatch.setattr(segments, "plan_due", refuse)
    done = confirm(problem, push(problem), physics)
    assert not done.is_confirmed and done.reason == "no tree"
    assert done.plan.provenance["confirmed"] is False and len(done.plan.times_s) > 2


def test_best_of_plans_is_the_first_confirmed_or_else_the_nearest(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, made = [push(problem) for _ in range(3)], []

    def done(error_rad: float, is_confirmed: bool) -> ConfirmedPlan:
        return ConfirmedPlan(plans[0], is_confirmed, (), "" if is_confirmed else "missed", error_rad)

    def best_of(*results: ConfirmedPlan) -> ConfirmedPlan:
        left = list(results)
        monkeypatch.setattr(
            confirmed_plan, "confirm", lambda _problem, plan, _physics, report: made.append(plan) or left.pop(0)
        )
        return confirm_best(problem, iter(plans), None)  # type: ignore[arg-type]

    assert best_of(done(0.5, False), done(0.9, True)).is_confirmed and len(made) == 2
    assert best_of(done(0.5, False), done(0.2, False), done(0.3, False)).error_rad == 0.2
    with pytest.raises(PlanError, match="no plan to confirm"):
        confirm_best(problem, [], None)  # type: ignore[arg-type]
