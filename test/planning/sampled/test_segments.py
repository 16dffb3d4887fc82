"""Parts by random motions, in an engine that answers by a formula: the disc follows the joints, or does not."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from contact_mpc.planning.parts import plan_of_samples
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.sampled.segments import SampledSegments
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.planning.tree.segments import Corrected, object_distance
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

Answer = Callable[[FloatArray, FloatArray], list[FloatArray]]  # q, end of the command less u -> q of each draw


class Formula:
    """An engine whose draws end where an answer says."""

    def __init__(self, answer: Answer) -> None:
        self._answer, self.rolled = answer, 0

    def ends(self, q: FloatArray, times_s: FloatArray, u: FloatArray, settle_s: float, draws: slice) -> FloatArray:
        assert len(times_s) == u.shape[1] and settle_s > 0.0
        self.rolled += len(u)
        return np.array([self._answer(q, rows[-1] - rows[0])[draws] for rows in u])

    def corrected(
        self, problem: Problem, q: FloatArray, plan: Plan, target: FloatArray, enough_rad: float
    ) -> Corrected:
        error = object_distance(problem, q, target)
        return Corrected(plan, error, error)

    def arriving(self, plan: Plan) -> Plan:
        return plan


def disc(**values: float) -> Problem:
    """The disc of the planar hand, to be turned by a quarter."""
    problem = with_goal(load_problem("planar_hand_ball"), {"disc_turn_rad": 0.5 * np.pi})
    sampled = SampledConfig(**{"samples": 60, "rounds": 1, "variations": 10, "shakes": 0, "least_gain": 0.01, **values})
    return replace(problem, file=problem.file.model_copy(update={"sampled": sampled}))


def turned(problem: Problem, q: FloatArray, rad: float) -> FloatArray:
    out = q.copy()
    out[: problem.system.n_q_u] = out[: problem.system.n_q_u] + rad * problem.turns
    return out


def start(problem: Problem) -> tuple[FloatArray, FloatArray]:
    system = problem.system
    return plan_of_samples(problem).q[0], 0.5 * (system.q_min + system.q_max)


def test_parts_lead_to_the_goal_from_where_each_one_ended() -> None:
    problem = disc()
    engine = Formula(lambda q, way: [turned(problem, q, share * 0.1 * np.tanh(way[2])) for share in (1.0, 0.9)])
    segments = SampledSegments(problem, engine)
    segments.begin(plan_of_samples(problem, 5))
    q, u = start(problem)
    before = object_distance(problem, q, problem.configuration(problem.goal_u))
    parts = 0
    while (segment := segments.next_segment(q, u)) is not None and parts < 100:
        parts += 1
        assert segment.plan is not None and segment.is_tracked and not segment.has_free_slides, segment.reason
        np.testing.assert_array_equal(segment.plan.u[0], u)
        q, u = segment.plan.q[-1], u
        left = object_distance(problem, q, problem.configuration(problem.goal_u))
        assert left < before, segment.note
        before = left
    assert segment is None and parts > 5  # a tenth of a radian a part at most, a quarter turn to go


def test_what_loses_some_draws_is_left_for_what_all_of_them_follow() -> None:
    """Motions one way turn the nominal disc furthest and lose it in another draw; the other way is slow and safe."""
    problem = disc(samples=200, finalists=20)

    def answer(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        if way[2] > 0.0:
            return [turned(problem, q, 0.5 * np.tanh(way[2])), turned(problem, q, -3.0)]
        return [turned(problem, q, -0.4 * np.tanh(way[2]))] * 2

    segments = SampledSegments(problem, Formula(answer))
    segments.begin(plan_of_samples(problem, 1))
    segment = segments.next_segment(*start(problem))
    assert segment is not None and segment.plan is not None
    assert segment.plan.u[-1, 2] < segment.plan.u[0, 2]


def test_where_nothing_leads_nearer_it_is_said_how_many_motions_were_tried() -> None:
    problem = disc(tries=2)
    engine = Formula(lambda q, _way: [q, q])
    segments = SampledSegments(problem, engine)
    segments.begin(plan_of_samples(problem))
    segment = segments.next_segment(*start(problem))
    assert segment is not None and segment.plan is None
    assert "none of 120 random motions leads nearer" in segment.reason
    assert engine.rolled > 120


def test_where_nothing_leads_nearer_fingers_go_elsewhere_a_few_times_as_long_as_that_costs_little() -> None:
    """From the first posture nothing turns the disc; from others all do, at the loss of what is allowed, or of more."""
    problem = disc(tries=1, shakes=2)

    def losing(rad: float) -> Formula:
        return Formula(lambda q, _way: [turned(problem, q, -rad)] * 2)

    for loss, parts in ((0.05, 2), (0.5, 0)):
        segments = SampledSegments(problem, losing(loss))
        segments.begin(plan_of_samples(problem))
        told = [segments.next_segment(*start(problem)) for _ in range(3)]
        handed_out = [segment.note for segment in told if segment is not None and segment.plan is not None]
        assert len(handed_out) == parts and all("fingers elsewhere" in note for note in handed_out)
        assert told[-1] is not None and "leads nearer" in told[-1].reason


def test_slides_carry_what_has_turned_and_turn_first_what_has_not() -> None:
    """The pen follows the slides; a finger turns it by as much as it bends, and shifts it in the hand meanwhile."""
    problem = load_problem("allegro_pen")
    sampled = SampledConfig(samples=60, rounds=1, variations=10)
    problem = replace(problem, file=problem.file.model_copy(update={"sampled": sampled}))
    system, finger = problem.system, problem.system.joint_names.index("thumb_1")

    def answer(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        e = system.difference(q, problem.configuration(problem.goal_u, q[system.n_q_u :]))
        dq = np.concatenate([np.clip(way[finger], 0.0, 1.0) * e[:3], way[:3], way])
        return [system.integrate(q, dq)] * 2

    segments, told = SampledSegments(problem, Formula(answer)), list[str]()
    segments.begin(plan_of_samples(problem, 2))
    q = plan_of_samples(problem).q[0]
    while len(told) < 60 and (segment := segments.next_segment(q, q[system.n_q_u :])) is not None:
        assert segment.plan is not None and segment.has_free_slides, segment.reason
        told.append(segment.note)
        q = segment.plan.q[-1]
    assert problem.is_reached(q)
    assert "turned" in told[0] and any("brought" in note for note in told)
    first_brought = next(k for k, note in enumerate(told) if "brought" in note)
    assert all("turned" in note for note in told[:first_brought])


def test_draws_that_end_nowhere_count_as_far_away() -> None:
    problem = disc()
    segments = SampledSegments(problem, Formula(lambda q, _way: [q * np.nan, q * np.nan]))
    segments.begin(plan_of_samples(problem))
    segment = segments.next_segment(*start(problem))
    assert segment is not None and segment.plan is None and "leads nearer" in segment.reason


def test_an_object_at_its_goal_needs_nothing_and_a_lost_one_is_named() -> None:
    problem = disc()
    segments = SampledSegments(problem, Formula(lambda q, _way: [q, q]))
    segments.begin(plan_of_samples(problem))
    q, u = start(problem)
    assert segments.next_segment(problem.configuration(problem.goal_u, u), u) is None
    lost = q.copy()
    lost[np.flatnonzero(~problem.turns)] += 5.0
    segment = segments.next_segment(lost, u)
    assert segment is not None and segment.plan is None and "lost" in segment.reason


def test_the_same_seed_draws_the_same_motions_and_another_one_others() -> None:
    problem = disc()

    def first(seed: int) -> FloatArray:
        answer: Answer = lambda q, way: [turned(problem, q, 0.1 * np.tanh(way[2]))] * 2  # noqa: E731
        segments = SampledSegments(problem, Formula(answer))
        segments.begin(plan_of_samples(problem, seed))
        segment = segments.next_segment(*start(problem))
        assert segment is not None and segment.plan is not None
        return segment.plan.u

    np.testing.assert_array_equal(first(2), first(2))
    assert np.abs(first(2) - first(3)).max() > 1e-3
