"""A start counts only when it was held in physics, its plan was made, and turns in closed loop met their goals."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.evaluation.starts import find_start as module
from contact_mpc.evaluation.starts.find_start import (
    LEAST_FRICTION_SHARE,
    LEAST_HELD,
    MOST_SCALE,
    SEARCHES,
    SPREAD_DEG,
    FoundStart,
    draw_plants,
    find_start,
    find_with_grip,
    plan_turns,
    search_once,
    turns_to_try_deg,
)
from contact_mpc.evaluation.trials import Disturbance
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.planning.grasp.search import GraspSearch
from contact_mpc.planning.start_posture import make_search
from contact_mpc.task.task import TaskConfig, load_task


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return replace(load_task("allegro_ball"), axes=("+z",))


def candidate(task: TaskConfig, held: float, fraction: float = 1.0) -> GraspCandidate:
    grasp = compute_grasp(task.system, task.start_q, 3.0, 0.4)
    return GraspCandidate(task.start_q, replace(grasp, u=task.start_u), (fraction,), 0.2, 0.5, 1.0, held)


def test_a_start_that_is_held_and_planned_from_counts(task: TaskConfig) -> None:
    refused, cases = plan_turns(task, candidate(task, 1.0))
    assert refused == ""
    assert [case.task.axis for case in cases] == ["+z"]
    np.testing.assert_array_equal(cases[0].plan.q[0], task.start_q)


def test_a_start_that_lets_the_object_go_does_not(task: TaskConfig) -> None:
    assert "keep the object in 20 % of" in plan_turns(task, candidate(task, LEAST_HELD - 0.1))[0]


def test_starts_are_held_in_plants_from_the_usual_ones_to_far_worse_ones() -> None:
    usual = Disturbance(friction_min=0.6, friction_max=0.6)  # what is drawn shows how much of it there is
    plants = draw_plants(usual)
    frictions = [plant.friction or 0.0 for plant in plants]
    assert frictions[0] == pytest.approx(0.6) and frictions[-1] == pytest.approx(LEAST_FRICTION_SHARE * 0.6)
    assert frictions == sorted(frictions, reverse=True)
    offsets_mm = [1e3 * float(np.linalg.norm(plant.object_offset_m)) for plant in plants]
    np.testing.assert_allclose(
        offsets_mm, np.linspace(1.0, MOST_SCALE, len(plants)) * usual.object_offset_mm, rtol=1e-12
    )


def test_a_start_whose_fingers_stop_on_the_way_does_not(task: TaskConfig) -> None:
    assert "roll along 40 % of the way" in plan_turns(task, candidate(task, np.nan, 0.4))[0]


def test_turns_are_tried_where_a_task_without_start_has_no_ball() -> None:
    ball, cube = load_task("allegro_ball"), load_task("allegro_cube")
    tasks = (ball, cube, replace(ball, has_start=False), replace(cube, has_start=False))
    assert [turns_to_try_deg(item) for item in tasks] == [0.0, 0.0, 0.0, SPREAD_DEG]


@pytest.mark.parametrize(
    ("asked_n", "given_n", "serves_n", "tried_n", "grip_n"),
    [
        (10.0, 10.0, 10.0, [10.0], None),  # the derived grip does
        (10.0, 10.0, 3.0, [10.0, 3.0], 3.0),  # it does not, a gentler one does
        (10.0, 10.0, 0.0, [10.0, 3.0], None),  # neither: the first is told of
        (10.0, 8.0, 3.0, [8.0], None),  # a grip that a task asks for is kept
        (3.0, 3.0, 0.0, [3.0], None),  # there is none that is gentler
    ],
)
def test_a_strong_grip_that_serves_no_turn_is_followed_by_a_gentle_one(
    task: TaskConfig, monkeypatch: pytest.MonkeyPatch, asked_n: float, given_n: float, serves_n: float,
    tried_n: list[float], grip_n: float | None,
) -> None:  # fmt: skip
    tried = []

    def find(task: TaskConfig, *_: object) -> FoundStart:
        tried.append(task.planner["minimum_force_n"])
        search = make_search(task, 0)
        search.best = candidate(task, 1.0)
        return FoundStart(search, "" if tried[-1] == serves_n else f"{tried[-1]:g} N do not do")

    monkeypatch.setattr(module, "find_with_grip", find)
    monkeypatch.setattr(module, "derive_planner", lambda *_: {"minimum_force_n": asked_n})
    found = find_start(replace(task, planner={"minimum_force_n": given_n}), samples=1)
    assert (tried, found.grip_n) == (tried_n, grip_n)
    assert found.search.minimum_force_n == (grip_n or given_n)


@pytest.mark.parametrize(
    ("shares", "held", "searches", "met"),
    [
        ([0.75], [0.9], 1, 0.75),  # enough turns meet their goals, and enough plants keep the object
        ([0.5, 1.0], [1.0, 1.0], 2, 1.0),
        ([0.875, 0.75], [0.85, 1.0], 2, 0.75),  # too few keep it
        ([0.625, 0.5, 0.25, 0.5], [1.0] * SEARCHES, SEARCHES, 0.625),  # the best of all
        ([1.0, 0.75, 0.875, 0.875], [0.6, 0.85, 0.8, 0.5], SEARCHES, 0.875),  # in turns and plants together
        ([np.nan, 0.375, np.nan, 0.25], [1.0] * SEARCHES, SEARCHES, 0.375),  # searches that find nothing do not count
        ([np.nan] * SEARCHES, [0.0] * SEARCHES, SEARCHES, np.nan),
    ],
)
def test_searches_follow_one_another_until_a_start_is_good_enough(
    task: TaskConfig, shares: list[float], held: list[float], searches: int, met: float
) -> None:
    seeds = []

    def search(task: TaskConfig, seed: tuple[int, ...]) -> FoundStart:
        share, search = shares[len(seeds)], make_search(task, seed)
        search.best = None if np.isnan(share) else candidate(task, held[len(seeds)])
        seeds.append(seed)
        return FoundStart(search, "nothing" if np.isnan(share) else "", met=share)

    found = find_with_grip(task, 7, search)
    assert seeds == [(7,), (7, 1), (7, 2), (7, 3)][:searches]
    np.testing.assert_equal(found.met, met)


def test_a_start_from_which_too_few_turns_meet_their_goals_is_refused(
    task: TaskConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(search: GraspSearch, *_: object) -> None:
        search.best = candidate(task, 1.0)

    monkeypatch.setattr(module, "search_grasp", search)
    monkeypatch.setattr(module, "share_of_turns", lambda _cases: 0.25)
    found = search_once(task, 1, (0,), 0.0, None)
    assert "25 % of the turns in closed loop" in found.refused
    assert found.met == 0.25


def test_a_hand_that_cannot_lead_the_turn_is_told_what_it_can_do_and_not_searched_again(
    task: TaskConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = []

    def search(search: GraspSearch, *_: object) -> None:
        searches.append(search)
        search.best = candidate(task, np.nan, 0.5)

    monkeypatch.setattr(module, "search_grasp", search)
    assert "any:" not in find_start(task, 1).refused and len(searches) == SEARCHES  # four joints per finger
    searches.clear()
    monkeypatch.setattr(GraspSearch, "leaves_choice", lambda *_: False)
    refused = find_start(task, 1).refused
    assert len(searches) == 1 and "roll along 50 % of the way" in refused and "\n" not in refused
    assert f"contact-mpc new task` with --turn any:{abs(task.goal.angle_deg):g}" in refused


def test_a_free_turn_that_is_too_far_is_told_how_far_it_goes(task: TaskConfig) -> None:
    free = replace(task, goal=replace(task.goal, angle_deg=40.0, is_free=True), axes=())
    start = replace(candidate(free, np.nan, 0.5), goal=free.goal)
    said = module.advise_turn(free, make_search(free, 0), start)
    assert said == "; try `contact-mpc new task` with --turn any:22"
    assert module.advise_turn(free, make_search(free, 0), replace(start, fractions=(1.0,))) == ""


def test_every_search_begins_where_its_seed_puts_the_object(task: TaskConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, seeds = [], []

    def search(search: GraspSearch, *_: object) -> None:
        begun.append(search.q_centre)

    def place(task: TaskConfig, seed: tuple[int, ...]) -> TaskConfig:
        seeds.append(seed)
        return replace(task, start_q=task.start_q + 1e-3 * len(seeds))

    monkeypatch.setattr(module, "search_grasp", search)
    assert find_start(task, 1, seed=3, place=place).refused == "no posture holds the object"
    assert seeds == [(3,), (3, 1), (3, 2), (3, 3)]
    np.testing.assert_allclose(begun, [task.start_q + 1e-3 * k for k in (1, 2, 3, 4)])
