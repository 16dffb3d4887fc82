"""With a jerk limit the setpoint moves without kicks, still stops within every other limit, and still arrives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contact_mpc import load_system
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.guard import CommandGuard, GuardLimits
from contact_mpc.control.bridge.guard.jerk import rest_distance, stopping_distance

SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
DT_S = 0.001
JERK_PER_S2 = 1000.0
ROUNDING = 1e-9
A_MAX, J_MAX = 20.0, 500.0  # rad/s^2, rad/s^3


def make_guard(jerk_per_s2: float = JERK_PER_S2) -> CommandGuard:
    config = BridgeConfig(gravity_compensation="robot", jerk_per_s2=jerk_per_s2)
    guard = CommandGuard(GuardLimits.from_config(SYSTEM, config), SYSTEM.joint_names)
    guard.start_from(0.5 * (SYSTEM.q_min + SYSTEM.q_max), np.zeros(N))
    return guard


def brake(v: float, a: float, dt_s: float) -> float:
    """Return where a triple integrator comes to rest that follows the S of `rest_distance`, in small steps."""
    x, least = 0.0, 1e-9
    for _ in range(10_000_000):
        if abs(v) < least and abs(a) < J_MAX * dt_s:
            break
        left = v + 0.5 * a * abs(a) / J_MAX  # velocity once the acceleration is gone
        a = np.clip(a - np.sign(left) * J_MAX * dt_s, -A_MAX, A_MAX)
        v += a * dt_s
        x += v * dt_s
        least = 2.0 * J_MAX * dt_s**2
    return x


@pytest.mark.parametrize(("v", "a"), [(1.0, 0.0), (1.0, 10.0), (1.0, -10.0), (0.05, -10.0), (-0.3, 15.0), (0.2, 0.0)])
def test_the_way_to_rest_is_that_of_a_triple_integrator(v: float, a: float) -> None:
    assert rest_distance(v, a, A_MAX, J_MAX) == pytest.approx(brake(v, a, 1e-5), abs=2e-4)


def test_the_way_to_rest_without_acceleration_is_half_the_velocity_for_the_time_of_the_s() -> None:
    assert stopping_distance(0.2, A_MAX, J_MAX) == pytest.approx(0.1 * 2.0 * np.sqrt(0.2 / J_MAX))
    assert stopping_distance(4.0, A_MAX, J_MAX) == pytest.approx(2.0 * (4.0 / A_MAX + A_MAX / J_MAX))


@given(v=st.floats(-3.0, 3.0), a=st.floats(-A_MAX, A_MAX), more=st.floats(0.0, 5.0))
def test_the_way_to_rest_rises_with_the_acceleration_of_the_step(v: float, a: float, more: float) -> None:
    faster = min(a + more, A_MAX)
    before = rest_distance(v + a * DT_S, a, A_MAX, J_MAX)
    assert rest_distance(v + faster * DT_S, faster, A_MAX, J_MAX) >= before - ROUNDING


@settings(max_examples=60, deadline=None)
@given(
    targets=st.lists(st.floats(-0.19, 0.19), min_size=1, max_size=6),
    rate=st.floats(-20.0, 20.0),
    hold=st.integers(1, 120),
)
def test_acceleration_changes_within_the_jerk_wherever_requests_may_go(
    targets: list[float], rate: float, hold: int
) -> None:
    guard = make_guard()
    x = guard.limits
    for target in targets:
        request, rates = guard.u + target, np.full(N, rate)
        for _ in range(hold):
            u, v, a = guard.u.copy(), guard.v.copy(), guard.a.copy()
            guard.pass_setpoint(request, rates, rates, DT_S)
            assert np.all(np.abs(guard.a - a) <= x.j_max * DT_S * (1.0 + 1e-6) + 1e-6)
            assert np.all(np.abs(guard.v - v) <= x.a_max * DT_S + ROUNDING)
            assert np.all((guard.u >= x.q_min) & (guard.u <= x.q_max))
            assert np.all(np.abs(guard.u - u) <= x.v_max * DT_S + ROUNDING)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_request_that_runs_into_the_range_is_braked_without_a_kick(side: float) -> None:
    guard = make_guard()
    x = guard.limits
    worst = 0.0
    for _ in range(4000):
        before = guard.a.copy()
        guard.pass_setpoint(guard.u + side * 0.15, np.zeros(N), np.full(N, side * 10.0), DT_S)
        worst = max(worst, float(np.max(np.abs(guard.a - before) / (x.j_max * DT_S))))
    edge = x.q_max if side > 0.0 else x.q_min
    assert np.allclose(guard.u, edge, atol=1e-4)
    assert worst <= 1.0 + 1e-6


def test_a_step_is_reached_and_kept_without_overshoot() -> None:
    guard = make_guard()
    start, target = guard.u.copy(), guard.u + 0.1
    furthest = np.full(N, -np.inf)
    for _ in range(1000):
        guard.pass_setpoint(target, np.zeros(N), np.zeros(N), DT_S)
        furthest = np.maximum(furthest, guard.u)
    assert np.allclose(guard.u, target, atol=1e-9)
    assert np.all(furthest <= target + 1e-5)
    assert np.all(start < target)
    assert np.allclose(guard.v, 0.0, atol=1e-6)


def test_a_smooth_reference_passes_unchanged() -> None:
    guard = make_guard()
    start = guard.u.copy()
    for k in range(1, 500):
        t = k * DT_S
        u, du = start + 0.05 * (1.0 - np.cos(2.0 * t)), np.full(N, 0.1 * np.sin(2.0 * t))
        guard.pass_setpoint(u, du, du, DT_S)
        assert np.array_equal(guard.u, u)


def test_without_the_option_there_is_no_limit_of_jerk() -> None:
    guard = make_guard(0.0)
    assert np.all(np.isinf(guard.limits.j_max))
    guard.pass_setpoint(guard.u + 0.1, np.zeros(N), np.zeros(N), DT_S)
    assert np.all(guard.a == pytest.approx(guard.limits.a_max))
