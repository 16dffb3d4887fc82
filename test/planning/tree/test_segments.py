"""Parts of a tree's plan: cut where fingers change grasps, left where the object is not where the plan has it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import PlanError
from contact_mpc.planning.tree import segments
from contact_mpc.planning.tree.parts_config import PartsConfig
from contact_mpc.planning.tree.plan import FREE_S
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.planning.tree.segments import Part, TreeSegments, shifted, split_plan
from contact_mpc.task.plan import Plan

PARTS = PartsConfig()


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("planar_hand_ball")


def make_plan(problem: Problem, free_s: list[tuple[float, float]], count: int = 7) -> Plan:
    q = np.tile(problem.configuration(problem.start_u), (count, 1))
    q[:, 2] = np.linspace(0.0, 1.0, count)
    u = np.tile(q[0, problem.system.n_q_u :], (count, 1))
    zeros = np.zeros_like(u)
    return Plan(np.arange(float(count)), q, u, zeros, np.zeros((count, 0, 3)), {FREE_S: free_s, "seed": 3})


def grown_plan(problem: Problem, plan: Plan, *nodes: int) -> SimpleNamespace:
    """Return a plan as of trees of so many nodes."""
    trees = [SimpleNamespace(tree=SimpleNamespace(q=np.zeros((count, 1)))) for count in nodes]
    return SimpleNamespace(plan=plan, problem=problem, trees=trees)


def test_parts_meet_at_the_changes_of_grasp_and_cover_the_plan(problem: Problem) -> None:
    plan = make_plan(problem, [(0.0, 2.0), (4.0, 5.0)])
    parts = split_plan(plan)
    assert [part.is_free for part in parts] == [True, False, True, False]
    assert [len(part.plan.times_s) for part in parts] == [3, 3, 2, 2]
    assert sum(float(part.plan.times_s[-1]) for part in parts) == plan.times_s[-1]
    for one, following in zip(parts[:-1], parts[1:], strict=True):
        assert np.array_equal(one.plan.q[-1], following.plan.q[0])


def test_plan_of_another_planner_is_one_part_in_a_grasp(problem: Problem) -> None:
    plan = make_plan(problem, [])
    plan.provenance.clear()
    (part,) = split_plan(plan)
    assert not part.is_free and np.array_equal(part.plan.q, plan.q)


def test_part_begins_at_the_command_in_force_and_only_grasps_are_tracked(problem: Problem) -> None:
    planner = TreeSegments(problem)
    plan = make_plan(problem, [(0.0, 2.0)])
    planner.begin(plan)
    u = plan.u[0] + 0.01
    first = planner.next_segment(plan.q[0], u)
    assert first is not None and first.plan is not None
    assert not first.is_tracked and np.array_equal(first.plan.u[0], u)
    second = planner.next_segment(plan.q[2], plan.u[2])
    assert second is not None and second.is_tracked


def test_a_part_that_begins_elsewhere_stays_within_the_joint_limits(problem: Problem) -> None:
    """Commands of a grasp are shifted alike, here beyond the limits by 0.1 rad."""
    planner, plan, system = TreeSegments(problem), make_plan(problem, []), problem.system
    plan.u[-1] = system.q_min
    planner.begin(plan)
    u = plan.u[0] - 0.1
    part = planner.next_segment(plan.q[0], u)
    assert part is not None and part.plan is not None
    assert np.array_equal(part.plan.u[0], u)
    assert np.all(part.plan.u >= np.minimum(system.q_min, u))


def test_a_part_says_which_one_it_is_and_how_the_one_before_ended(problem: Problem) -> None:
    planner, plan = TreeSegments(problem), make_plan(problem, [(0.0, 2.0)])
    planner.begin(plan)
    first = planner.next_segment(plan.q[0], plan.u[0])
    assert first is not None and first.note == "plan 1, fingers move freely, 1 parts left"
    off = plan.q[2].copy()
    off[2] += 0.02
    second = planner.next_segment(off, plan.u[2])
    assert second is not None
    assert second.note == "plan 1, a grasp moves the object, 0 parts left; the one before ended 0.020 rad off"


def test_no_part_is_due_where_the_goal_is_reached(problem: Problem) -> None:
    planner = TreeSegments(problem)
    plan = make_plan(problem, [])
    planner.begin(plan)
    assert planner.next_segment(problem.configuration(problem.goal_u), plan.u[0]) is None


def test_plan_is_left_where_the_object_is_elsewhere_and_no_plan_is_told(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = []

    def refuse(planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        starts.append((seed, start[0]))
        raise PlanError("no tree")

    monkeypatch.setattr(segments, "plan_due", refuse)
    planner = TreeSegments(problem)
    plan = make_plan(problem, [(0.0, 2.0)])
    planner.begin(plan)
    away = plan.q[0].copy()
    away[2] += 0.9 * PARTS.off_rad
    assert planner.next_segment(away, plan.u[0]).plan is not None
    planner.begin(plan)
    away[2] += 0.2 * PARTS.off_rad
    found = planner.next_segment(away, plan.u[0])
    assert found is not None and found.plan is None and found.reason == "no tree"
    assert len({seed for seed, _ in starts}) == PARTS.attempts
    assert abs(starts[0][1][2] - away[2]) < 1e-3  # from where it was measured


def test_new_plan_begins_out_of_what_nominal_shapes_overlap(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger object, or one whose pose is off, overlaps its model's links by more than trees may begin with."""
    starts = []

    def refuse(planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        starts.append(start[0])
        raise PlanError("no tree")

    monkeypatch.setattr(segments, "plan_due", refuse)
    system, file = problem.system, problem.file
    dynamics = ContactDynamics(system, "socp", h_s=file.rrt.h_s, friction=file.friction)
    q = problem.configuration(problem.start_u, problem.start_a)
    u = q[system.n_q_u :]

    def least_gap(q: np.ndarray) -> float:
        return float(np.min(dynamics.step(q, u).gaps))

    q[1] -= least_gap(q) + 0.018  # down, to the hands
    assert -0.03 < least_gap(q) < -0.012
    planner = TreeSegments(problem)
    planner.begin(make_plan(problem, []))
    planner.next_segment(q, u)
    assert least_gap(starts[0]) >= -file.rrt.deepest_m
    away = system.difference(q, starts[0])
    assert np.linalg.norm(away[:2]) < 0.018  # the robot gave way, too


@pytest.mark.parametrize("thrown", [(0, 2.0), (1, -1.5), (1, np.inf)])
def test_no_plan_is_searched_for_an_object_that_is_lost(
    problem: Problem, monkeypatch: pytest.MonkeyPatch, thrown: tuple[int, float]
) -> None:
    monkeypatch.setattr(segments, "plan_due", lambda *_args, **_kwargs: pytest.fail("a tree is grown"))
    planner = TreeSegments(problem, physics=Engine(left=0.0))
    plan = make_plan(problem, [])
    planner.begin(plan)
    q = plan.q[0].copy()
    q[thrown[0]] += thrown[1]
    found = planner.next_segment(q, plan.u[0])
    assert found is not None and found.plan is None and "the object is lost" in found.reason


class Engine:
    """Physics that records what it shall correct, and mends where it may."""

    def __init__(self, left: float) -> None:
        self.left, self.targets = left, []

    def corrected(self, problem: Problem, q: np.ndarray, plan: Plan, target: np.ndarray, enough_rad: float):
        self.targets.append((target.copy(), enough_rad))
        return segments.Corrected(plan, 1.0, self.left)

    def arriving(self, plan: Plan) -> Plan:
        return plan


def test_long_parts_pause_and_each_piece_is_corrected_to_where_the_plan_has_it(problem: Problem) -> None:
    engine = Engine(left=0.0)
    planner = TreeSegments(problem, physics=engine)
    plan = make_plan(problem, [], count=13)  # a turn of 1 rad
    planner.begin(plan)
    ends, q = [], plan.q[0]
    while q[2] < 1.0 - 1e-9:
        segment = planner.next_segment(q, plan.u[0])
        assert segment is not None and segment.plan is not None
        ends.append(segment.plan.q[-1][2])
        assert segment.plan.q[-1][2] - q[2] <= PARTS.piece_rad + 1.0 / 12 + 1e-9
        q = segment.plan.q[-1]
    assert len(ends) >= 2
    assert [target[2] for target, _ in engine.targets[:-1]] == ends[:-1]
    assert engine.targets[-1][0][2] == pytest.approx(np.pi)  # the last piece ends at the goal, not where the plan does
    assert [enough for _, enough in engine.targets] == [*[PARTS.held_rad] * (len(ends) - 1), PARTS.last_rad]


def test_grasp_mends_an_error_before_a_new_plan_is_made_and_no_more_often_than_allowed(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PlanError("no tree")

    monkeypatch.setattr(segments, "plan_due", refuse)
    plan = make_plan(problem, [])
    away = plan.q[0].copy()
    away[2] -= 2.0 * PARTS.off_rad
    planner = TreeSegments(problem, physics=Engine(left=0.9 * PARTS.mended))
    planner.begin(plan)
    for _ in range(PARTS.mends):
        mend = planner.next_segment(away, plan.u[0])
        assert mend is not None and mend.plan is not None and np.array_equal(mend.plan.u, np.tile(plan.u[0], (4, 1)))
    assert planner.next_segment(away, plan.u[0]).reason == "no tree"
    planner = TreeSegments(problem, physics=Engine(left=1.1 * PARTS.mended))
    planner.begin(plan)
    assert planner.next_segment(away, plan.u[0]).reason == "no tree"


def test_an_object_that_went_further_than_its_plan_is_not_brought_back(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PlanError("no tree")

    monkeypatch.setattr(segments, "plan_due", refuse)
    plan, goal = make_plan(problem, []), problem.configuration(problem.goal_u)

    def mended_to(turn: float, piece_rad: float) -> list[np.ndarray]:
        engine, away = Engine(left=0.9 * PARTS.mended), plan.q[0].copy()
        away[2] += np.sign(goal[2]) * turn
        file = problem.file.model_copy(update={"parts": PartsConfig(piece_rad=piece_rad)})
        planner = TreeSegments(replace(problem, file=file), physics=engine)
        planner.begin(plan)
        segment = planner.next_segment(away, plan.u[0])
        assert segment is not None and (segment.plan is not None or segment.reason == "no tree")
        return [target for target, _ in engine.targets]

    np.testing.assert_array_equal(mended_to(-2.0 * PARTS.off_rad, 0.5), [plan.q[0]])
    np.testing.assert_array_equal(mended_to(2.0 * PARTS.off_rad, 10.0), [goal])
    assert not mended_to(2.0 * PARTS.off_rad, 0.5)  # too far for one motion of the grasp


def test_a_stage_ends_at_its_own_goal_and_need_not_end_as_near_as_the_last(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coordinates that come first are planned alone where a plan has missed; the others wait."""
    plan, half = make_plan(problem, []), problem.goal_u.copy()
    half[2] *= 0.5
    stage = replace(problem, goal_u=half)

    def grow(_planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        return grown_plan(stage, plan)

    monkeypatch.setattr(segments, "plan_due", grow)
    engine, q = Engine(left=0.0), plan.q[0].copy()
    planner = TreeSegments(problem, physics=engine)
    planner.begin(plan)
    q[2] -= 2.0 * PARTS.piece_rad
    while (segment := planner.next_segment(q, plan.u[0])) is not None and segment.plan is not None:
        q = engine.targets[-1][0]
    assert segment is not None and segment.reason == "no tree gets nearer to the goal"  # the plan ends at 1 rad
    np.testing.assert_array_equal(q, stage.configuration(half))
    assert engine.targets[-1][1] == PARTS.held_rad


def test_grasp_goes_on_pressing_as_it_does_and_free_fingers_end_where_the_plan_has_them(problem: Problem) -> None:
    plan = make_plan(problem, [])
    plan.u[:] += np.linspace(0.0, 0.3, len(plan.u))[:, None]
    u = plan.u[0] + 0.05
    held, free = shifted(Part(plan, is_free=False), u), shifted(Part(plan, is_free=True), u)
    np.testing.assert_allclose(held.u, plan.u + 0.05)
    np.testing.assert_allclose(free.u[[0, -1]], [u, plan.u[-1]])


@pytest.mark.parametrize(
    ("left", "plans", "is_played"), [(0.9, 1, True), (1.1, PARTS.refusals, True), (2.1, PARTS.last_refusals, False)]
)
def test_other_plans_are_tried_where_a_part_fails_in_physics_and_what_leads_away_is_not_played(
    problem: Problem, monkeypatch: pytest.MonkeyPatch, left: float, plans: int, is_played: bool
) -> None:
    plan = make_plan(problem, [])
    file = problem.file.model_copy(update={"parts": PartsConfig(piece_rad=10.0)})
    whole = replace(problem, file=file)
    planner = TreeSegments(whole, physics=Engine(left=left * PARTS.left * np.pi))  # one part, to the goal
    seeds = [3]

    def again(_planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        seeds.append(seed)
        return grown_plan(problem, plan)

    monkeypatch.setattr(segments, "plan_due", again)
    planner.begin(plan)
    segment = planner.next_segment(plan.q[0], plan.u[0])
    assert segment is not None and (segment.plan is not None) == is_played
    assert len(set(seeds)) == len(seeds) == plans
    assert is_played or "fail in physics" in segment.reason


def test_plans_that_fail_are_told_from_states_that_no_tree_begins_at(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        raise PlanError("no tree")

    monkeypatch.setattr(segments, "plan_due", refuse)
    planner = TreeSegments(problem, physics=Engine(left=10.0))
    plan = make_plan(problem, [])
    planner.begin(plan)
    segment = planner.next_segment(plan.q[0], plan.u[0])
    assert segment is not None and segment.plan is None
    assert segment.reason == "1 plan fails in physics; no further plan: no tree"


@pytest.mark.parametrize("is_refused", [True, False])
def test_trees_near_the_goal_share_few_nodes(
    problem: Problem, monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    """A way of some millimetres that no tree finds must not cost what a long one does."""
    allowed, plan, grows = [], make_plan(problem, []), 150

    def grow(
        planner: object, seed: int, nodes: int | None = None, *, start: tuple[np.ndarray, np.ndarray]
    ) -> SimpleNamespace:
        allowed.append(nodes)
        if is_refused:
            raise PlanError("no tree")
        return grown_plan(problem, plan, grows)

    monkeypatch.setattr(segments, "plan_due", grow)
    config = PartsConfig(near_nodes=400, attempts=100, searches=100.0)
    near = replace(problem, file=problem.file.model_copy(update={"parts": config}))
    planner = TreeSegments(near)
    planner.begin(make_plan(problem, []))
    q = problem.configuration(problem.goal_u)
    q[2] -= 0.9 * config.near_rad
    segment = planner.next_segment(q, plan.u[0])
    assert segment is not None and segment.plan is None and segment.reason
    charge = problem.file.search.least_charge + (0 if is_refused else grows)
    assert allowed == [config.near_nodes - k * charge for k in range(-(-config.near_nodes // charge))]
    allowed.clear()
    q[2] -= 0.2 * config.near_rad
    planner.next_segment(q, plan.u[0])
    assert allowed == [None] * config.attempts


def test_a_motion_ends_where_its_trees_are_used_up_and_says_so(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each plan leads a little nearer in the model, and the object stays: before, that went on for minutes."""
    plan, grows, grown = make_plan(problem, []), 100, []

    def grow(_planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        grown.append(seed)
        return grown_plan(problem, plan, grows)

    monkeypatch.setattr(segments, "plan_due", grow)
    file = problem.file.model_copy(update={"parts": PartsConfig(searches=0.5)})
    planner = TreeSegments(replace(problem, file=file))
    for _ in range(2):  # the next motion has its own
        planner.begin(plan)
        grown.clear()
        segment, count, away = planner.next_segment(plan.q[0], plan.u[0]), 0, plan.q[0].copy()
        away[2] += 2.0 * PARTS.off_rad
        while segment is not None and segment.plan is not None and count < 100:
            segment, count = planner.next_segment(away, plan.u[0]), count + 1
        assert segment is not None and "used up" in segment.reason
        assert 0.5 * problem.file.rrt.nodes / grows - 1 <= len(grown) <= 0.5 * problem.file.rrt.nodes / grows


def test_new_plan_presses_less_where_the_model_would_move_an_object_that_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box at rest under a pusher 20 cm within its command: there, friction is more than the model's."""
    problem = load_problem("planar_pushing")
    n = problem.system.n_q_u
    starts = []

    def refuse(planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        starts.append(start)
        raise PlanError("no tree")

    monkeypatch.setattr(segments, "plan_due", refuse)
    q = problem.configuration(problem.start_u, problem.start_a)
    gap = 0.01  # between box and pusher, at the start of the problem
    q[n + 1] += gap
    planner = TreeSegments(problem)
    planner.begin(make_plan(load_problem("planar_hand_ball"), []))
    for lead, pressing in ((0.0, 0.0), (0.2, 0.0)):
        u = q[n:] + [0.0, lead]
        planner.next_segment(q, u)
        start, pressed = starts[-1]
        assert segments.object_distance(problem, start, q) <= PARTS.off_rad
        assert pressed[1] - q[n + 1] == pytest.approx(pressing, abs=0.06)
    assert pressed[1] < u[1] - 0.1


def test_new_plan_presses_less_where_no_tree_leads_on_from_what_presses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a hand that is wedged in; what is no longer pressed is let go during the first part."""
    problem, starts = load_problem("planar_pushing"), []
    n, plan = problem.system.n_q_u, make_plan(load_problem("planar_hand_ball"), [])

    def grow(planner: object, seed: int, start: tuple[np.ndarray, np.ndarray]) -> SimpleNamespace:
        starts.append(start)
        if len(starts) < PARTS.attempts:
            raise PlanError("no tree")
        q = np.tile(problem.configuration(problem.goal_u, start[0][n:]), (2, 1))
        u = np.tile(start[1], (2, 1))
        way = Plan(np.array([0.0, 1.0]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)), {"free_s": []})
        return grown_plan(problem, way, 10)

    monkeypatch.setattr(segments, "plan_due", grow)
    q, lead = problem.configuration(problem.start_u, problem.start_a), 0.01
    planner = TreeSegments(problem)
    planner.begin(plan)
    segment = planner.next_segment(q, q[n:] + lead)
    shares = [(pressed - q[n:]) / lead for _, pressed in starts]
    np.testing.assert_allclose(shares, np.tile(PARTS.pressing, (2, 1)).T, atol=1e-9)
    assert segment is not None and segment.plan is not None
    np.testing.assert_allclose(segment.plan.u[[0, -1]] - q[n:], [[lead, lead], [0.0, 0.0]], atol=1e-9)


def test_what_a_new_plan_does_not_press_is_let_go_during_its_first_part(problem: Problem) -> None:
    (part,) = split_plan(make_plan(problem, []))
    released = np.full(part.plan.u.shape[1], 0.05)
    plan = shifted(part, part.plan.u[0] + released, released)
    np.testing.assert_allclose(plan.u[0], part.plan.u[0] + released)
    np.testing.assert_allclose(plan.u[-1], part.plan.u[-1])
