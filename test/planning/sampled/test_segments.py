"""Parts by random motions, in an engine that answers by a formula: the disc follows the joints, or does not."""

from dataclasses import replace

import numpy as np
from formula_engine import Answer, Formula, disc, left, start, turned

from contact_mpc.planning.parts import plan_of_samples
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.sampled.segments import SampledSegments
from contact_mpc.planning.tree.plan import PARTS_S
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan


def follows(problem: Problem, share: float = 1.0) -> Answer:
    """Return an engine in which the disc turns by 0.1 rad at most, the more the further the third joint goes."""
    return lambda q, way: [turned(problem, q, scale * 0.1 * np.tanh(way[2] ** 2)) for scale in (share, 0.9 * share)]


def played(segments: SampledSegments, problem: Problem) -> tuple[list[Plan], list[str], FloatArray]:
    """Return the parts that are handed out to the goal, what is said of them, and where they end."""
    q, u = start(problem)
    plans, notes = list[Plan](), list[str]()
    while (segment := segments.next_segment(q, u)) is not None and len(plans) < 100:
        assert segment.plan is not None and segment.is_tracked and not segment.has_free_slides, segment.reason
        np.testing.assert_allclose(segment.plan.u[0], u, atol=1e-12)
        plans.append(segment.plan)
        notes.append(segment.note)
        q, u = segment.plan.q[-1], segment.plan.u[-1]
    return plans, notes, q


def in_a_row(plans: list[Plan]) -> Plan:
    """Return the plan that parts make, as it is confirmed."""
    ends_s = np.cumsum([plan.times_s[-1] for plan in plans])
    begins_s = [0.0, *ends_s[:-1].tolist()]
    times_s = np.concatenate([[0.0], *(b + plan.times_s[1:] for b, plan in zip(begins_s, plans, strict=True))])
    q = np.vstack([plans[0].q[:1], *(plan.q[1:] for plan in plans)])
    u = np.vstack([plans[0].u[:1], *(plan.u[1:] for plan in plans)])
    return Plan(times_s, q, u, 0.0 * u, np.zeros((len(u), 0, 3)), {PARTS_S: begins_s})


def test_parts_lead_to_the_goal_from_where_each_one_ended() -> None:
    problem, told = disc(), list[str]()
    segments = SampledSegments(problem, Formula(follows(problem)), report=told.append)
    segments.begin(plan_of_samples(problem, 5))
    plans, notes, q = played(segments, problem)
    ways = [left(problem, plan.q[-1]) for plan in plans]
    assert problem.is_reached(q) and len(plans) > 5 and np.all(np.diff(ways) < 0.0)
    assert notes[0].startswith("part 1, brought, 1.571 rad left") and notes[-1].endswith("0 parts left")
    assert len(told) >= len(plans)  # rests that motions were drawn from


def test_a_plan_that_was_confirmed_is_followed_and_nothing_is_searched() -> None:
    problem = disc()
    segments = SampledSegments(problem, Formula(follows(problem)))
    segments.begin(plan_of_samples(problem, 5))
    plan = in_a_row(played(segments, problem)[0])
    engine = Formula(follows(problem))
    again = SampledSegments(problem, engine)
    again.begin(plan)
    plans, notes, q = played(again, problem)
    assert problem.is_reached(q) and all("as planned" in note and "varied" not in note for note in notes)
    assert engine.rolled == len(plans)
    np.testing.assert_allclose(plans[-1].u[-1], plan.u[-1], atol=1e-12)


def test_where_a_plan_fails_in_another_engine_a_way_is_searched_from_there() -> None:
    """The disc hardly follows any more: what was planned leaves too much, and what is searched takes more parts."""
    problem = disc(expansions_again=60, follow_rad=0.02)
    segments = SampledSegments(problem, Formula(follows(problem)))
    segments.begin(plan_of_samples(problem, 5))
    plans = played(segments, problem)[0]
    weak = SampledSegments(problem, Formula(follows(problem, 0.6)))
    weak.begin(in_a_row(plans))
    more, notes, q = played(weak, problem)
    assert problem.is_reached(q) and len(more) > len(plans) and any("brought" in note for note in notes)


def test_where_nothing_leads_nearer_it_is_said_how_many_rests_were_tried() -> None:
    problem = disc(expansions=3)
    segments = SampledSegments(problem, Formula(lambda q, _way: [q, q]))
    segments.begin(plan_of_samples(problem))
    segment = segments.next_segment(*start(problem))
    assert segment is not None and segment.plan is None
    assert segment.reason == "no random motion from 3 rests leads nearer to the goal, 1.57 rad away"


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
    assert "turned" in told[0] and "to turn" in told[0] and any("brought" in note for note in told)
    first_brought = next(k for k, note in enumerate(told) if "brought" in note)
    assert all("turned" in note for note in told[:first_brought])


def test_draws_that_end_nowhere_lead_nowhere() -> None:
    problem = disc(expansions=2)
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
        segments = SampledSegments(problem, Formula(follows(problem)))
        segments.begin(plan_of_samples(problem, seed))
        segment = segments.next_segment(*start(problem))
        assert segment is not None and segment.plan is not None
        return segment.plan.u

    np.testing.assert_array_equal(first(2), first(2))
    assert np.abs(first(2) - first(3)).max() > 1e-3
