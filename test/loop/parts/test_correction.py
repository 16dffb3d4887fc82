"""Commands corrected in an engine: the end moves to the target, start and limits stay, what does not help is left."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.loop.parts.confirmation import MujocoConfirmation
from contact_mpc.loop.parts.confirmed_plan import Ways
from contact_mpc.loop.parts.correction import CorrectionConfig, correct, hat_functions, score_rested
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

PUSH_M, PUSH_S, MISSED_M = 0.06, 2.0, 0.02
NEAR_RAD = 0.008  # of half a metre: 4 mm


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("planar_pushing")


def push(problem: Problem) -> Plan:
    """Return a straight push along y."""
    q = np.tile(problem.configuration(problem.start_u, problem.start_a), (5, 1))
    u = q[:, problem.system.n_q_u :].copy()
    u[:, 1] += np.linspace(0.0, PUSH_M, 5)
    return Plan(np.linspace(0.0, PUSH_S, 5), q, u, np.zeros_like(u), np.zeros((5, 0, 3)), {})


class Springs:
    """A linear world: the object follows the last command, and a draw falls short of it."""

    def __init__(self, problem: Problem, is_deaf: bool = False) -> None:
        self._n_u, self._is_deaf = problem.system.n_q_u, is_deaf

    few = 2

    def ways(self, q: FloatArray, plan: Plan, settle_s: float) -> Ways:
        ends = self.ends(q, plan.times_s, plan.u[None], settle_s, slice(None))[0]
        return Ways(plan.times_s, np.repeat(ends[:, None], len(plan.times_s), axis=1))

    def ends(self, q: FloatArray, times_s: FloatArray, u: FloatArray, settle_s: float, draws: slice) -> FloatArray:
        ends = np.tile(q, (len(u), 2, 1))
        if not self._is_deaf:
            ends[:, 0, :2] = u[:, -1]
            ends[:, 1, :2] = 0.9 * u[:, -1]
        return ends[:, draws]


def test_push_that_would_miss_is_corrected_in_mujoco(problem: Problem) -> None:
    plan, physics = push(problem), MujocoConfirmation(problem.system)
    target = physics.ends(plan.q[0], plan.times_s, plan.u[None], 2.0)[0, 0].copy()
    target[1] += MISSED_M
    found = correct(problem, physics, plan.q[0], plan, target)
    assert found.error_before == pytest.approx(MISSED_M / problem.file.rrt.length_m, rel=0.2)
    assert found.error <= NEAR_RAD
    assert np.array_equal(found.plan.u[0], plan.u[0])
    again = correct(problem, physics, plan.q[0], plan, target)
    assert np.array_equal(again.plan.u, found.plan.u)


class Answers(Springs):
    """The object goes by what `answer` makes of the way of the last command from that of a plan."""

    def __init__(self, problem: Problem, plan: Plan, answer: Callable[[FloatArray], FloatArray]) -> None:
        super().__init__(problem)
        self._plan, self._answer = plan, answer

    def ends(self, q: FloatArray, times_s: FloatArray, u: FloatArray, settle_s: float, draws: slice) -> FloatArray:
        ends = np.tile(q, (len(u), 2, 1))
        ends[:, :, :2] += self._answer(u[:, -1] - self._plan.u[-1])[:, None]
        return ends[:, draws]


class Drags(Springs):
    """The object creeps on for `rest_s` after the last command; `settled` tells how long roll-outs were held."""

    def __init__(self, problem: Problem, rest_s: float) -> None:
        super().__init__(problem)
        self.rest_s = rest_s
        self.settled: list[float] = []

    def ways(self, q: FloatArray, plan: Plan, settle_s: float) -> Ways:
        instants_s = np.arange(0.0, plan.times_s[-1] + settle_s, 0.05)
        ways = np.tile(q, (2, len(instants_s), 1))
        ways[:, :, 0] += np.minimum(0.0, 0.1 * (instants_s - plan.times_s[-1] - self.rest_s))
        return Ways(instants_s, ways)

    def ends(self, q: FloatArray, times_s: FloatArray, u: FloatArray, settle_s: float, draws: slice) -> FloatArray:
        self.settled.append(settle_s)
        return super().ends(q, times_s, u, settle_s, draws)


@pytest.mark.parametrize(("rest_s", "least_s", "most_s"), [(-1.0, 0.3, 0.3), (1.0, 1.0, 1.4), (10.0, 3.0, 3.0)])
def test_roll_outs_last_until_the_object_rests(problem: Problem, rest_s: float, least_s: float, most_s: float) -> None:
    plan, world = push(problem), Drags(problem, rest_s)
    target = plan.q[0] + np.eye(len(plan.q[0]))[0]  # a metre off, so that commands are rolled out
    correct(problem, world, plan.q[0], plan, target)
    assert world.settled and all(least_s <= item <= most_s for item in world.settled)


def test_linear_world_is_corrected_in_the_mean_of_its_draws(problem: Problem) -> None:
    plan = push(problem)
    target = plan.q[0].copy()
    target[:2] = plan.u[-1] + (0.03, -0.02)
    found = correct(problem, Springs(problem), plan.q[0], plan, target, CorrectionConfig(enough_rad=0.0))
    shares = 0.95 * found.plan.u[-1] - target[:2]  # 1 and 0.9 of the command in the two draws
    assert np.linalg.norm(shares) < 5e-3
    assert found.error < 0.3 * found.error_before


def test_part_that_ends_well_or_does_not_answer_is_left_as_it_is(problem: Problem) -> None:
    plan = push(problem)
    target = plan.q[0].copy()
    near = correct(problem, Springs(problem, is_deaf=True), plan.q[0], plan, target)
    assert near.plan.u is plan.u and near.error == 0.0
    target[0] += 1.0
    deaf = correct(problem, Springs(problem, is_deaf=True), plan.q[0], plan, target)
    assert np.array_equal(deaf.plan.u, plan.u) and deaf.error == deaf.error_before > 0.0


def test_changes_grow_until_something_touches(problem: Problem) -> None:
    def beyond_a_gap(way: FloatArray) -> FloatArray:
        return np.asarray(np.sign(way) * np.maximum(np.abs(way) - 0.1, 0.0))

    plan = push(problem)
    target = plan.q[0].copy()
    target[0] += 0.05
    found = correct(problem, Answers(problem, plan, beyond_a_gap), plan.q[0], plan, target)
    assert found.error < 0.5 * found.error_before


def test_what_ends_well_in_some_draws_and_is_lost_in_others_is_worse_than_what_is_steady() -> None:
    lucky = np.array([[0.0, 0.0], [0.0, 0.0], [30.0, 0.0], [np.nan, 0.0]])
    steady = np.array([[0.03, 0.0], [0.0, 0.05], [0.0, -0.05], [0.9, 0.0]])
    assert score_rested(steady)[0] < score_rested(lucky)[0]
    assert score_rested(steady)[1] == pytest.approx(0.05)


@pytest.mark.parametrize("slides_from_m", [0.0, 0.027])
def test_what_moves_on_when_roll_outs_end_is_told_or_left(problem: Problem, slides_from_m: float) -> None:
    """Pushed further than so far, the object slides on by a metre, after roll-outs of many commands have ended."""

    class Slope(Springs):
        def ways(self, q: FloatArray, plan: Plan, settle_s: float) -> Ways:
            found = super().ways(q, plan, settle_s)
            if plan is not given and plan.u[-1, 0] - given.u[-1, 0] > slides_from_m:
                found.q[:, -1, 0] += 1.0
            return found

    given = push(problem)
    target = given.q[0].copy()
    target[:2] = given.u[-1] + (0.025, 0.0)
    world = Slope(problem)
    found = correct(problem, world, given.q[0], given, target, CorrectionConfig(rounds=2))
    end = world.ways(given.q[0], found.plan, 0.0).q[:, -1, :2]
    off = np.linalg.norm(end - target[:2], axis=1) / problem.file.rrt.length_m
    assert found.error == pytest.approx(np.median(off), abs=1e-3)
    assert (found.error > 1.0) == (slides_from_m == 0.0)


def test_corrected_commands_stay_within_the_limits_of_the_joints(problem: Problem) -> None:
    plan = push(problem)
    target = plan.q[0].copy()
    target[:2] = problem.system.q_max + 1.0
    far = CorrectionConfig(spread=100.0, enough_rad=0.0)
    found = correct(problem, Springs(problem), plan.q[0], plan, target, far)
    assert np.all(found.plan.u <= problem.system.q_max) and np.all(found.plan.u >= problem.system.q_min)
    assert found.error < found.error_before


def test_commands_are_not_changed_at_will_where_an_object_hardly_answers(problem: Problem) -> None:
    """It follows a thousandth of a command, so that least squares ask for metres."""
    plan, config = push(problem), CorrectionConfig()
    target = plan.q[0].copy()
    target[0] += 0.05
    found = correct(problem, Answers(problem, plan, lambda way: 1e-3 * way), plan.q[0], plan, target)
    assert found.error < found.error_before
    assert 0.0 < np.abs(found.plan.u - plan.u).max() <= config.most + 1e-12


def test_hat_functions_leave_the_start_and_reach_one_each() -> None:
    hats = hat_functions(np.linspace(0.0, 3.0, 7), 3)
    np.testing.assert_allclose(hats[0], 0.0)
    np.testing.assert_allclose(hats[[2, 4, 6]], np.eye(3))
    np.testing.assert_allclose(hats[3:].sum(axis=1), 1.0)
