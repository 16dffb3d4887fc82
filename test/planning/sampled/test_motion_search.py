"""The best of random motions, in an engine that answers by a formula."""

from dataclasses import replace

import numpy as np
from formula_engine import Answer, Formula, disc, left, start, turned

from contact_mpc.planning.sampled.motion_search import Base, MotionSearch
from contact_mpc.planning.sampled.random_motions import RandomMotions
from contact_mpc.planning.sampled.way_left import WayLeft
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.settings.arrays import FloatArray


def search(problem: Problem, answer: Answer, seed: int = 0) -> tuple[MotionSearch, Base]:
    motions = RandomMotions(problem)
    q, u = start(problem)
    base = Base(q, motions.times_s, np.tile(u, (4, 1)))
    rng = np.random.default_rng(seed)
    return MotionSearch(problem, Formula(answer), motions, WayLeft(problem, motions), rng), base


def test_what_loses_some_draws_is_left_for_what_all_of_them_follow() -> None:
    """Motions one way turn the nominal disc furthest and lose it in another draw; the other way is slow and safe."""
    problem = disc(samples=200, finalists=20)

    def answer(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        if way[2] > 0.0:
            return [turned(problem, q, 0.5 * np.tanh(way[2])), turned(problem, q, -3.0)]
        return [turned(problem, q, -0.4 * np.tanh(way[2]))] * 2

    searched, base = search(problem, answer)
    (found, *_), _ = searched.best(base, turns_first=False)
    assert found.d[1, 2] < 0.0 and found.score < left(problem, base.q)


def test_rounds_of_variation_find_what_samples_do_not() -> None:
    """The disc turns as far as the second joint comes near to a command that few samples hit."""

    def with_rounds(rounds: int) -> float:
        problem = disc(rounds=rounds, variations=60)
        answer: Answer = lambda q, way: [turned(problem, q, np.exp(-10.0 * (way[1] - 0.5) ** 2 - way @ way))]  # noqa: E731
        searched, base = search(problem, answer, seed=3)
        return searched.best(base, turns_first=False)[0][0].score

    assert with_rounds(6) < with_rounds(0)


def test_motions_that_only_move_fingers_change_something_and_lose_little() -> None:
    problem = disc(most_loss_rad=0.2, least_gain=0.05)
    turns = {True: -0.15, False: -0.3}
    searched, base = search(problem, lambda q, way: [turned(problem, q, turns[bool(way[0] > 0.0)])] * 2)
    _, elsewhere = searched.best(base, turns_first=False)
    assert 10 < len(elsewhere) < 60 and all(d[1, 0] > 0.0 for d in elsewhere)
    still, base = search(problem, lambda q, _way: [q, q])
    assert still.best(base, turns_first=False)[1] == []


def test_draws_that_end_nowhere_count_as_lost() -> None:
    problem = disc(lost_rad=0.7, spread_weight=0.0)
    searched, base = search(problem, lambda q, _way: [q, q * np.nan])
    (found, *_), _ = searched.best(base, turns_first=False)
    np.testing.assert_allclose(found.score, left(problem, base.q) + 0.5 * 0.7)


def test_what_slides_carry_is_brought_by_the_way_that_is_left() -> None:
    problem = load_problem("allegro_pen")
    system = problem.system
    motions = RandomMotions(problem)

    def answer(q: FloatArray, way: FloatArray) -> list[FloatArray]:
        return [system.integrate(q, np.concatenate([np.zeros(3), way[:3], way]))] * 2

    goal = problem.configuration(problem.goal_u, problem.start_a)
    q = system.integrate(goal, np.concatenate([np.zeros(3), [-0.05, 0.02, 0.0], np.zeros(19)]))
    base = Base(q, motions.times_s, np.tile(q[system.n_q_u :], (4, 1)))
    searched = MotionSearch(problem, Formula(answer), motions, WayLeft(problem, motions), np.random.default_rng(0))
    (found, *_), elsewhere = searched.best(base, turns_first=False)
    np.testing.assert_allclose(found.d[1, motions.slides], [0.05, -0.02, 0.0], atol=1e-9)
    assert found.score < 1e-9 and elsewhere == []


def test_steps_of_least_squares_go_where_variations_alone_come_later() -> None:
    """The disc turns by a linear function of all joints, up to its goal: a step of full length arrives."""

    def with_steps(steps: tuple[float, ...]) -> float:
        problem = disc(rounds=1, variations=40, samples=6, finalists=2, least_scale=0.15)
        sampled = problem.file.sampled
        assert sampled is not None
        file = problem.file.model_copy(update={"sampled": sampled.model_copy(update={"steps": steps})})
        problem = replace(problem, file=file)
        gains = np.linspace(0.2, 0.6, len(start(problem)[1]))
        searched, base = search(problem, lambda q, way: [turned(problem, q, float(gains @ way))] * 2, seed=3)
        return searched.vary(base, turns_first=False).score

    assert with_steps((0.25, 0.5, 1.0, 1.5)) < with_steps((0.0,))
