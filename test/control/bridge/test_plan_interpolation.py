"""Plans between their points, plans that are refused, and which plan is in effect or awaited."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.limits import PlanLimits
from contact_mpc.control.bridge.plan_buffer import PlanBuffer
from contact_mpc.control.bridge.plan_interpolation import interpolate_plan
from contact_mpc.task.loop_records import CommandPlan

MS = 1_000_000
T0 = 1_000_000_000


def make_plan(stamp_ns: int = T0, n_a: int = 2) -> CommandPlan:
    times = np.array([0.0, 0.1, 0.3])
    u = np.outer(times, np.arange(1.0, n_a + 1.0))
    return CommandPlan(stamp_ns, times, u, 2.0 * u, -u)


def _at(plan: CommandPlan, t_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out = tuple(np.full(plan.u.shape[1], np.nan) for _ in range(3))
    interpolate_plan(plan.times_s, plan.u, plan.du, plan.tau_ff, t_s, *out)
    return out


@settings(max_examples=200, deadline=None)
@given(t_s=st.floats(-1.0, 1.0))
def test_a_plan_that_is_linear_in_time_is_reproduced_and_its_ends_are_kept(t_s: float) -> None:
    u, du, tau_ff = _at(make_plan(), t_s)
    expected = min(max(t_s, 0.0), 0.3) * np.array([1.0, 2.0])
    np.testing.assert_allclose(u, expected, atol=1e-15)
    np.testing.assert_allclose(du, 2.0 * expected, atol=1e-15)
    np.testing.assert_allclose(tau_ff, -expected, atol=1e-15)


def test_a_plan_of_one_point_is_constant() -> None:
    plan = CommandPlan(T0, np.zeros(1), np.ones((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))
    for t_s in (-1.0, 0.0, 1.0):
        np.testing.assert_array_equal(_at(plan, t_s)[0], 1.0)


def _with(name: str, value: float, where: tuple[int, ...]) -> CommandPlan:
    array = getattr(make_plan(), name).copy()
    array[where] = value
    return dataclasses.replace(make_plan(), **{name: array})


LIMITS = PlanLimits(np.full(2, -4.0), np.full(2, 4.0), np.full(2, 5.0), np.full(2, 6.0), ("hip", "knee"))


@pytest.mark.parametrize(
    ("plan", "defect"),
    [
        (make_plan(), None),
        (CommandPlan.hold(T0, 2), None),
        (make_plan(n_a=3), "plan_length"),
        (_with("u", np.nan, (1, 1)), "plan_non_finite"),
        (_with("du", np.inf, (0, 0)), "plan_non_finite"),
        (_with("tau_ff", -np.inf, (2, 0)), "plan_non_finite"),
        (_with("times_s", np.nan, (1,)), "plan_non_finite"),
        (_with("times_s", 0.3, (1,)), "plan_times"),
        (_with("times_s", -0.1, (0,)), "plan_times"),
        (_with("u", 50.0, (1, 1)), "plan_position"),
        (_with("du", -5.1, (0, 1)), "plan_velocity"),
        (_with("tau_ff", 1e9, (2, 0)), "plan_effort"),
        (CommandPlan(T0, np.arange(1e5), *np.zeros((3, 100_000, 2))), "plan_points"),
    ],
)
def test_a_defect_of_a_plan_is_named(plan: CommandPlan, defect: str | None) -> None:
    found = LIMITS.find_defect(plan)
    assert (found and found[0]) == defect


def test_what_is_beyond_the_limits_is_named_with_joint_value_and_range() -> None:
    found = LIMITS.find_defect(_with("u", 50.0, (1, 1)))
    assert found is not None
    assert "knee 50 rad at" in found[1] and "allowed -4 to 4" in found[1]


@pytest.fixture
def buffer() -> PlanBuffer:
    return PlanBuffer(BridgeConfig(gravity_compensation="robot", mpc_rate_hz=20, plan_delay_s=0.02), LIMITS)


def test_a_plan_takes_effect_a_delay_after_its_stamp(buffer: PlanBuffer) -> None:
    plan = make_plan()
    assert buffer.add(plan, T0) is None
    buffer.advance(T0 + 20 * MS - 1)
    assert buffer.current is None
    buffer.advance(T0 + 20 * MS)
    assert buffer.current is plan


def test_a_late_plan_takes_effect_on_arrival_and_the_newest_of_several_wins(buffer: PlanBuffer) -> None:
    for k in range(3):
        buffer.add(make_plan(T0 + 50 * k * MS), None)
    buffer.advance(T0 + 110 * MS)
    assert buffer.current is not None
    assert buffer.current.stamp_ns == T0 + 50 * MS


def test_old_and_future_plans_are_refused(buffer: PlanBuffer) -> None:
    assert buffer.add(make_plan(T0), T0) is None
    assert buffer.add(make_plan(T0), T0) == "plan_old"
    assert buffer.add(make_plan(T0 - MS), T0) == "plan_old"
    assert buffer.add(make_plan(T0 + 101 * MS), T0) == "plan_future"
    assert buffer.add(make_plan(T0 + 99 * MS), T0) is None


def test_a_plan_refused_for_its_content_holds_instead_of_the_one_before(buffer: PlanBuffer) -> None:
    buffer.add(make_plan(T0), T0)
    assert buffer.add(dataclasses.replace(_with("u", np.nan, (0, 0)), stamp_ns=T0 + 50 * MS), T0) == "plan_non_finite"
    buffer.advance(T0 + 70 * MS)
    assert buffer.current is not None
    assert buffer.current.is_hold


def test_lockstep_awaits_each_tick_from_the_first_state_on(buffer: PlanBuffer) -> None:
    start = T0 + 10 * MS  # between two ticks: the first is at T0 + 50 ms
    assert buffer.awaited_ns(start) is None
    buffer.advance(start)
    assert buffer.awaited_ns(T0 + 69 * MS) is None
    assert buffer.awaited_ns(T0 + 70 * MS) == T0 + 50 * MS
    buffer.add(make_plan(T0 + 50 * MS), T0)
    assert buffer.awaited_ns(T0 + 70 * MS) is None
    assert buffer.awaited_ns(T0 + 120 * MS) == T0 + 100 * MS
