"""Ways of motions from rest to rest, in an engine that answers by a formula."""

import numpy as np
from formula_engine import Answer, Formula, disc, left, start, turned

from contact_mpc.planning.sampled.rests import Rests
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import has_arrived
from contact_mpc.settings.arrays import FloatArray

QUARTER = 0.5 * np.pi


def trapped(problem: Problem) -> Answer:
    """Return an engine in which the furthest first motion ends at 0.4 rad, from where nothing leads on.

    Where the first joint goes back by far, the disc turns there at once. Where it goes forth it turns by less from the
    start, but then further and further.
    """

    def answer(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        angle = QUARTER - left(problem, q)
        if 0.35 < angle < 0.5:
            return [q, q]
        if angle < 0.35 and way[0] < -0.3:
            return [turned(problem, q, 0.4 - angle)] * 2
        step = 0.2 if angle < 0.05 else 0.5 if angle > 0.5 or angle < 0.3 else 0.0
        return [turned(problem, q, min(step, QUARTER - angle) if way[0] > 0.0 else 0.0)] * 2

    return answer


def test_where_the_nearest_rest_leads_nowhere_the_tree_goes_on_from_an_earlier_one() -> None:
    """The greedy first motion ends in a trap; the one that turns less at first leads to the goal."""
    problem = disc(visit_share=0.3, samples=6, rounds=0, finalists=3)
    q, u = start(problem)
    back = Rests(problem, Formula(trapped(problem)), np.random.default_rng(0))
    steps = back.way(q, u, 60)
    assert has_arrived(problem, steps[-1].plan.q[-1]) and back.searched < 60
    for before, after in zip(steps[:-1], steps[1:], strict=True):
        np.testing.assert_array_equal(before.plan.q[-1], after.plan.q[0])
        np.testing.assert_array_equal(before.plan.u[-1], after.plan.u[0])


def test_one_that_never_goes_back_stays_in_the_trap() -> None:
    problem = disc(visit_share=0.0, rounds=0, finalists=3)
    q, u = start(problem)
    steps = Rests(problem, Formula(trapped(problem)), np.random.default_rng(0)).way(q, u, 60)
    np.testing.assert_allclose(left(problem, steps[-1].plan.q[-1]), QUARTER - 0.4)


def test_where_nothing_leads_nearer_there_is_no_way_and_it_is_told_how_many_rests_were_left() -> None:
    problem, told = disc(), list[str]()
    rests = Rests(problem, Formula(lambda q, _way: [q, q]), np.random.default_rng(0))
    assert rests.way(*start(problem), 5, report=told.append) == []
    assert rests.searched == 5 and len(told) == 5 and told[-1].startswith("5 of 5 rests, 1.57 rad")


def test_fingers_go_elsewhere_where_that_costs_little_and_not_where_it_costs_more() -> None:
    """From the first posture nothing turns the disc, from others all do: the first motion loses 0.1 rad, or 0.5."""
    problem = disc(most_loss_rad=0.2, least_gain=0.05)
    q, u = start(problem)

    def losing(rad: float) -> Answer:
        def answer(q: FloatArray, _way: FloatArray) -> list[FloatArray]:
            at_start = left(problem, q) > QUARTER - 1e-6 and left(problem, q) < QUARTER + 1e-6
            return [turned(problem, q, -rad if at_start else min(0.4, left(problem, q)))] * 2

        return answer

    steps = Rests(problem, Formula(losing(0.1)), np.random.default_rng(0)).way(q, u, 20)
    assert [step.what for step in steps][:2] == ["fingers elsewhere", "brought"]
    assert has_arrived(problem, steps[-1].plan.q[-1])
    assert Rests(problem, Formula(losing(0.5)), np.random.default_rng(0)).way(q, u, 20) == []


def test_a_step_is_followed_as_it_was_or_varied_or_not_at_all() -> None:
    problem = disc(follow_rad=0.05, variations=40, variation_rad=0.3)
    q, u = start(problem)
    offset = 0.0

    def answer(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        return [turned(problem, q, max(0.0, 0.3 * np.tanh(way[2]) - offset))] * 2

    rests = Rests(problem, Formula(answer), np.random.default_rng(1))
    step = rests.way(q, u, 1)[0]
    again = rests.followed(step, q, u)
    assert again is not None and again.what == step.what
    np.testing.assert_array_equal(again.plan.u, step.plan.u)
    side, most = np.sign(step.plan.u[-1, 1] - u[1]), abs(step.plan.u[-1, 1] - u[1])

    def held_back(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        is_free = side * way[1] < most - 0.02
        return [turned(problem, q, 0.3 * np.tanh(way[2]) - (0.0 if is_free else 0.2))] * 2

    again = Rests(problem, Formula(held_back), np.random.default_rng(1)).followed(step, q, u)
    assert again is not None and again.what.endswith("varied") and again.order[1] <= step.order[1] + 0.05
    offset = 1.0  # nothing turns it now
    assert rests.followed(step, q, u) is None


def test_a_step_that_is_followed_begins_at_the_command_in_force_and_ends_where_it_was_to_end() -> None:
    problem = disc()
    q, u = start(problem)
    rests = Rests(problem, Formula(lambda q, _way: [turned(problem, q, 0.3)] * 2), np.random.default_rng(1))
    step = rests.way(q, u, 1)[0]
    again = rests.followed(step, q, u + 0.02)
    assert again is not None
    np.testing.assert_allclose(again.plan.u[0], u + 0.02, atol=1e-12)
    np.testing.assert_allclose(again.plan.u[-1], step.plan.u[-1], atol=1e-12)


def test_what_turns_further_than_it_was_to_turn_is_varied_to_end_where_the_next_step_begins() -> None:
    problem = disc(follow_rad=0.02, variations=60, variation_rad=0.3)
    q, u = start(problem)

    def turning(factor: float) -> Answer:
        return lambda q, way: [turned(problem, q, factor * 0.2 * np.tanh(way[2]))] * 2

    step = Rests(problem, Formula(turning(1.0)), np.random.default_rng(1)).way(q, u, 1)[0]
    further = Rests(problem, Formula(turning(2.0)), np.random.default_rng(1)).followed(step, q, u)
    played = turned(problem, q, 2.0 * (QUARTER - left(problem, step.plan.q[-1])))
    assert further is not None and further.what.endswith("varied")
    off = abs(left(problem, further.plan.q[-1]) - left(problem, step.plan.q[-1]))
    assert off < 0.5 * abs(left(problem, played) - left(problem, step.plan.q[-1]))


def test_a_motion_that_loses_the_object_in_one_draw_of_four_is_no_step() -> None:
    """One way turns the disc by more, but throws it away in a draw, which the median does not tell."""
    problem = disc(spread_weight=0.0, lost_rad=1e-6)
    q, u = start(problem)

    def answer(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        away = turned(problem, q, -100.0) if way[2] > 0.0 else q
        gain = min(left(problem, q), 0.9 if way[2] > 0.0 else 0.3)
        return [*[turned(problem, q, gain)] * 3, away if way[2] > 0.0 else turned(problem, q, gain)]

    steps = Rests(problem, Formula(answer), np.random.default_rng(0)).way(q, u, 40)
    assert has_arrived(problem, steps[-1].plan.q[-1])
    assert all(step.plan.u[-1, 2] <= step.plan.u[0, 2] for step in steps)
