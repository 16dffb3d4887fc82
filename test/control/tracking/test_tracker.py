"""The tracker: what it answers in every state, that it is a pure function, continuous and within its bounds."""

import dataclasses

import numpy as np
import pytest

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import Reference, TrackerOutput
from contact_mpc.control.tracking.lag_watch import LagWatch
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

T0_NS = 1_000_000_000
CONFIG = TrackerConfig(horizon_steps=4)
EVERYTHING = {"contact_trust_weight": 1.0, "torque_share": 0.9}  # what is off by default


@pytest.fixture
def reference(each_task: TaskConfig) -> Reference:
    """Hold the start for 1 s, then turn the object by a tenth of the task in 1 s, with the start's command."""
    system = each_task.system
    goal = each_task.start_q.copy()
    goal[: system.n_q_u] = system.q_from_object_pose(*each_task.goal_pose(0.1), goal)
    q, u = np.array([each_task.start_q, each_task.start_q, goal]), np.tile(each_task.start_u, (3, 1))
    zeros = np.zeros_like(u)
    return Reference(T0_NS, Plan(np.array([0.0, 1.0, 2.0]), q, u, zeros, np.zeros((3, 1, 3)), {}))


def state(task: TaskConfig, t_ns: int = T0_NS, q: np.ndarray | None = None) -> EstimatedState:
    system = task.system
    q = task.start_q if q is None else q
    return EstimatedState(t_ns, q, np.zeros(system.n_v), np.zeros(system.n_a), np.eye(system.n_v_u))


def run(tracker: Tracker, task: TaskConfig, count: int = 6) -> list[TrackerOutput]:
    """Feed a slowly moving state, as an estimator would."""
    rng, outputs = np.random.default_rng(0), []
    for k in range(count):
        q = task.system.integrate(task.start_q, rng.normal(0.0, 2e-4, task.system.n_v))
        outputs.append(tracker.step(state(task, T0_NS + k * tracker.period_ns, q)))
    return outputs


def command_at(output: TrackerOutput, t_ns: int) -> np.ndarray:
    age_s = 1e-9 * (t_ns - output.plan.stamp_ns)
    return np.array([np.interp(age_s, output.plan.times_s, column) for column in output.plan.u.T])


def test_without_reference_it_holds(each_task: TaskConfig) -> None:
    output = Tracker(each_task.system, CONFIG).step(state(each_task))
    assert output.status == "no_reference" and output.plan.is_hold
    assert output.plan.u.shape == (0, each_task.system.n_a)


def test_plan_covers_the_horizon_from_the_stamp_of_its_state(each_task: TaskConfig, reference: Reference) -> None:
    tracker = Tracker(each_task.system, CONFIG)
    tracker.set_reference(reference)
    output = tracker.step(state(each_task, T0_NS + 7_000_000))
    assert output.status == "ok" and output.iterations > 0
    assert output.plan.stamp_ns == T0_NS + 7_000_000
    np.testing.assert_allclose(output.plan.times_s, [0.0, 0.02, 0.1, 0.2, 0.3, 0.4])
    rates = np.diff(output.plan.u, axis=0) / np.diff(output.plan.times_s)[:, None]
    np.testing.assert_allclose(output.plan.du[:-1], rates, atol=1e-12)
    np.testing.assert_array_equal(output.plan.du[-1], 0.0)


def test_plans_follow_each_other_without_a_jump(each_task: TaskConfig, reference: Reference) -> None:
    """At its stamp, and until it takes effect, a plan says what the one before it says."""
    tracker = Tracker(each_task.system, CONFIG)
    tracker.set_reference(reference)
    outputs = run(tracker, each_task)
    np.testing.assert_array_equal(outputs[0].plan.u[0], each_task.start_u)
    for earlier, later in zip(outputs[:-1], outputs[1:], strict=True):
        for delay_ns in (0, round(1e9 * CONFIG.plan_delay_s)):
            t_ns = later.plan.stamp_ns + delay_ns
            np.testing.assert_allclose(command_at(later, t_ns), command_at(earlier, t_ns), atol=1e-12)


def test_commands_keep_limits_and_rate(each_task: TaskConfig, reference: Reference) -> None:
    system = each_task.system
    config = TrackerConfig(horizon_steps=4, command_rate_rad_s=0.05, limit_margin_rad=0.03, command_weight=1e-3)
    tracker = Tracker(system, config)
    tracker.set_reference(dataclasses.replace(reference, start_ns=T0_NS - 2_000_000_000))  # already at the goal
    for output in run(tracker, each_task):
        stages = output.plan.u[2:]
        inside = (each_task.start_u > system.q_min + 0.03) & (each_task.start_u < system.q_max - 0.03)
        assert np.all((stages >= system.q_min + 0.03 - 1e-12) | ~inside)
        assert np.all((stages <= system.q_max - 0.03 + 1e-12) | ~inside)
        assert np.abs(stages[0] - output.plan.u[0]).max() <= 0.05 * config.h_s + 1e-12


def test_two_trackers_with_the_same_input_agree_bit_for_bit(each_task: TaskConfig, reference: Reference) -> None:
    trackers = [Tracker(each_task.system, CONFIG) for _ in range(2)]
    trackers[1].warm_up()
    for tracker in trackers:
        tracker.set_reference(reference)
    for first, second in zip(*(run(tracker, each_task) for tracker in trackers), strict=True):
        np.testing.assert_array_equal(first.plan.u, second.plan.u)
        assert first.status == second.status == "ok"


def test_a_tuned_tracker_goes_on_as_one_that_was_made_so(each_task: TaskConfig, reference: Reference) -> None:
    changes = {"command_weight": 5.0, "rate_weight": 2.0, "trust_region_rad": 0.01, "adaptation_s": 0.2}
    tuned, made = Tracker(each_task.system, CONFIG), Tracker(each_task.system, CONFIG.model_copy(update=changes))
    tuned.tune(changes)
    for tracker in (tuned, made):
        tracker.set_reference(dataclasses.replace(reference, start_ns=T0_NS - 2_000_000_000))
    commands = [[output.plan.u for output in run(tracker, each_task)] for tracker in (tuned, made)]
    np.testing.assert_array_equal(*commands)


def test_a_change_on_the_way_acts_from_the_next_solve_on_without_a_jump(
    each_task: TaskConfig, reference: Reference
) -> None:
    tracker, plain = Tracker(each_task.system, CONFIG), Tracker(each_task.system, CONFIG)
    for item in (tracker, plain):
        item.set_reference(dataclasses.replace(reference, start_ns=T0_NS - 2_000_000_000))
        run(item, each_task, 2)
    tracker.tune({"command_weight": 1e4})
    after = state(each_task, T0_NS + 2 * tracker.period_ns)
    first, second = tracker.step(after).plan, plain.step(after).plan
    np.testing.assert_array_equal(first.u[:2], second.u[:2])  # in force, and where the plan takes effect
    assert np.abs(first.u[2:] - each_task.start_u).sum() < np.abs(second.u[2:] - each_task.start_u).sum()


@pytest.mark.parametrize("settings", [{}, EVERYTHING], ids=["default", "everything"])
def test_reset_replays_the_same_plans(settings: dict[str, float], each_task: TaskConfig, reference: Reference) -> None:
    tracker = Tracker(each_task.system, CONFIG.model_copy(update=settings))
    tracker.set_reference(reference)
    first = run(tracker, each_task)
    tracker.reset()
    for before, after in zip(first, run(tracker, each_task), strict=True):
        np.testing.assert_array_equal(before.plan.u, after.plan.u)


def test_lost_object_holds_until_reset(each_task: TaskConfig, reference: Reference) -> None:
    system, tracker = each_task.system, Tracker(each_task.system, CONFIG)
    tracker.set_reference(reference)
    R, p = system.object_pose(each_task.start_q)
    away = each_task.start_q.copy()
    away[: system.n_q_u] = system.q_from_object_pose(R, p - np.array([0.0, 0.0, 0.06]), away)
    assert tracker.step(state(each_task)).status == "ok"
    lost = tracker.step(state(each_task, T0_NS + 50_000_000, away))
    assert lost.status == "object_lost" and lost.plan.is_hold
    assert lost.object_error_mm == pytest.approx(60.0, abs=1e-6)
    assert tracker.step(state(each_task, T0_NS + 100_000_000)).status == "object_lost"  # found again: still latched
    tracker.reset()
    assert tracker.step(state(each_task, T0_NS + 150_000_000)).status == "ok"


def test_turned_object_counts_as_lost_beyond_its_angle(each_task: TaskConfig, reference: Reference) -> None:
    system, tracker = each_task.system, Tracker(each_task.system, CONFIG)
    tracker.set_reference(reference)
    dq = np.zeros(system.n_v)
    dq[2] = np.deg2rad(61.0)  # yaw of the ball, turn of the disc
    output = tracker.step(state(each_task, q=system.integrate(each_task.start_q, dq)))
    assert output.status == "object_lost" and output.object_error_deg == pytest.approx(61.0, abs=1e-6)


def test_object_that_stays_behind_is_reported_and_then_no_longer_pushed(
    each_task: TaskConfig, reference: Reference
) -> None:
    system, tracker = each_task.system, Tracker(each_task.system, CONFIG)
    tracker.set_reference(reference)
    dq = np.zeros(system.n_v)
    dq[2] = np.deg2rad(20.0)
    behind = system.integrate(each_task.start_q, dq)
    statuses = []
    for k in range(65):
        output = tracker.step(state(each_task, T0_NS + k * tracker.period_ns, behind))
        statuses.append(output.status)
        assert output.plan.is_hold == (output.status == "not_following")
    given_up = round(CONFIG.give_up_s * CONFIG.mpc_rate_hz)
    assert statuses == ["lagging"] * given_up + ["not_following"] * (65 - given_up)
    assert tracker.step(state(each_task, T0_NS + 65 * tracker.period_ns)).status == "not_following"  # still latched
    tracker.reset()
    assert tracker.step(state(each_task, T0_NS + 66 * tracker.period_ns)).status == "ok"


@pytest.mark.parametrize("lag_angle_deg", [5.0, 45.0], ids=["lags", "keeps up"])
def test_object_that_lags_while_fingers_slide_is_let_be_sooner(
    lag_angle_deg: float, each_task: TaskConfig, reference: Reference
) -> None:
    """An object that turns on the spot, away from its reference, against still fingers."""
    system = each_task.system
    settings = {"slip_speed_m_s": 0.003, "lag_angle_deg": lag_angle_deg, "lag_distance_m": 0.05, "give_up_s": 100.0}
    config = CONFIG.model_copy(update=settings)
    tracker = Tracker(system, config)
    tracker.set_reference(reference)
    v = np.zeros(system.n_v)
    v[2] = np.deg2rad(10.0)  # yaw of the ball, turn of the disc; 10 mm/s and more at the fingers
    outputs = []
    for k in range(50):
        moved = system.integrate(each_task.start_q, 1e-9 * k * tracker.period_ns * v)
        outputs.append(tracker.step(state(each_task, T0_NS + k * tracker.period_ns, moved)))
    slid_from = next(k for k, output in enumerate(outputs) if "fingers slide" in output.note)
    held = [k for k, output in enumerate(outputs) if output.plan.is_hold]
    if lag_angle_deg > 10.0:
        assert not held
        return
    lagged_from = next(k for k, output in enumerate(outputs) if output.status == "lagging")
    ticks = round(config.slip_give_up_s * config.mpc_rate_hz)
    assert held[0] == pytest.approx(max(slid_from, lagged_from) + ticks, abs=1)
    assert outputs[held[0]].status == "not_following" and "fingers slide" in outputs[held[0]].note
    assert held == list(range(held[0], 50))


def test_time_behind_counts_from_when_it_began_anew() -> None:
    watch = LagWatch(10.0, 0.01, 0.5)
    assert watch.update(0, 9.0, 9.0) == 0.0 and not watch.is_lagging
    assert watch.update(T0_NS, 11.0, 0.0) == 0.0 and watch.is_lagging
    assert watch.update(3 * T0_NS, 0.0, 11.0) == 2.0
    assert watch.update(4 * T0_NS, 0.0, 0.0) == 0.0 and not watch.is_lagging
    assert watch.update(5 * T0_NS, 0.0, 11.0) == 0.0


def test_error_that_swings_about_the_bound_is_one_lag() -> None:
    watch = LagWatch(10.0, 0.01, 0.5)
    durations = [watch.update(k * T0_NS, angle, 2.0) for k, angle in enumerate([11.0, 9.0, 12.0, 6.0, 5.0, 9.0, 11.0])]
    assert durations == [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("defect", ["nan", "shape"])
def test_unusable_state_holds_and_the_next_good_one_goes_on(
    defect: str, each_task: TaskConfig, reference: Reference
) -> None:
    tracker, q = Tracker(each_task.system, CONFIG), each_task.start_q.copy()
    tracker.set_reference(reference)
    q[-1] = np.nan
    output = tracker.step(state(each_task, q=q if defect == "nan" else q[:-1]))
    assert output.status == "bad_state" and output.plan.is_hold
    after = tracker.step(state(each_task))
    assert after.status == "ok" and np.all(np.isfinite(after.plan.u))


def test_reference_can_be_taken_away(each_task: TaskConfig, reference: Reference) -> None:
    tracker = Tracker(each_task.system, CONFIG)
    tracker.set_reference(reference)
    assert tracker.step(state(each_task)).status == "ok"
    tracker.set_reference(None)
    assert tracker.step(state(each_task)).status == "no_reference"


def test_commands_move_the_object_of_the_model_towards_its_goal(each_task: TaskConfig, reference: Reference) -> None:
    tracker = Tracker(each_task.system, TrackerConfig(horizon_steps=4, iterations=5))
    tracker.set_reference(dataclasses.replace(reference, start_ns=T0_NS - 2_000_000_000))
    output = tracker.step(state(each_task))
    system, goal = each_task.system, reference.plan.q[-1]
    errors = [np.linalg.norm(system.difference(goal, q)[: system.n_v_u]) for q in tracker.mpc.horizon.q]
    assert output.status == "ok"
    assert errors[-1] < 0.95 * errors[0]  # within 0.4 s and the trust region


@pytest.mark.parametrize(
    ("change", "words"),
    [({"mpc_rate_hz": 30}, "divisor of 1000"), ({"plan_delay_s": 0.2}, "less than h_s"), ({"horizon": 3}, "horizon")],
)
def test_inconsistent_parameters_are_refused(change: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TrackerConfig(**change)
