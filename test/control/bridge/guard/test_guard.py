"""Nothing out of limits leaves the guard, whatever comes in; what is within limits passes unchanged."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contact_mpc import load_system
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.guard import ClampKind, CommandGuard, GuardLimits
from contact_mpc.control.bridge.guard.kernels import fastest_approach
from contact_mpc.errors import ConfigError
from contact_mpc.model.system import System

SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
DT_S = 0.001
MARGIN_RAD = np.deg2rad(1.0)
ROUNDING = 1e-12  # of a sum of numbers of order 1
ANYTHING = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.floats(-3.0, 3.0), st.sampled_from([0.0, 1e-320, 1e308, -1e308])
)
VECTOR = arrays(np.float64, N, elements=ANYTHING)


def make_limits(**config: float) -> GuardLimits:
    return GuardLimits.from_config(SYSTEM, BridgeConfig(gravity_compensation="robot", **config))


def make_guard(limits: GuardLimits | None = None) -> CommandGuard:
    limits = make_limits() if limits is None else limits
    guard = CommandGuard(limits, SYSTEM.joint_names)
    guard.start_from(0.5 * (SYSTEM.q_min + SYSTEM.q_max), np.zeros(N))
    return guard


def _pass(guard: CommandGuard, u: np.ndarray, du: np.ndarray, tau: np.ndarray, dt_s: float = DT_S) -> None:
    guard.pass_setpoint(u, du, du, dt_s)
    guard.pass_torque(tau, dt_s)
    guard.count()


DT = st.sampled_from([0.0, 1e-6, DT_S, 2.0 * DT_S, 5.0 * DT_S])
BRAKING = 1e-9  # rad/s, of the square root near zero in the braking distance


@settings(max_examples=150, deadline=None)
@given(requests=st.lists(st.tuples(VECTOR, VECTOR, VECTOR, DT), min_size=1, max_size=8))
def test_nothing_out_of_limits_leaves_for_any_input(requests: list[tuple[np.ndarray, ...]]) -> None:
    guard, x = make_guard(), make_limits()
    for u, du, tau, dt_s in requests:
        u_before, v_before, tau_before = guard.u.copy(), guard.v.copy(), guard.tau.copy()
        _pass(guard, u, du, tau, dt_s)
        assert np.all((guard.u >= x.q_min) & (guard.u <= x.q_max))
        assert np.all(np.abs(guard.u - u_before) <= x.v_max * dt_s + ROUNDING)
        assert np.all(np.abs(guard.v - v_before) <= x.a_max * dt_s + BRAKING)
        assert np.all(np.abs(guard.du) <= x.v_max)
        assert np.all(np.abs(guard.tau) <= x.tau_max)
        assert np.all(np.abs(guard.tau - tau_before) <= x.tau_rate * dt_s + ROUNDING)


@settings(max_examples=40, deadline=None)
@given(target=arrays(np.float64, N, elements=st.floats(-0.19, 0.19)), dt_s=st.sampled_from([DT_S, 5.0 * DT_S]))
def test_a_step_is_reached_without_overshoot_and_then_kept(target: np.ndarray, dt_s: float) -> None:
    guard = make_guard()
    start, wanted = guard.u.copy(), guard.u + target
    for _ in range(80):
        guard.pass_setpoint(wanted, np.zeros(N), np.zeros(N), dt_s)
        share = (guard.u - start) * np.sign(target)
        assert np.all((share >= 0.0) & (share <= np.abs(target) + ROUNDING))
    np.testing.assert_allclose(guard.u, wanted, atol=ROUNDING)
    np.testing.assert_allclose(guard.v, 0.0, atol=ROUNDING)


@settings(max_examples=10, deadline=None)
@given(speed=st.floats(0.5, 5.0), dt_s=st.sampled_from([DT_S, 3.0 * DT_S]), side=st.sampled_from([-1.0, 1.0]))
def test_a_request_beyond_a_limit_is_braked_in_time_and_stops_at_the_limit(
    speed: float, dt_s: float, side: float
) -> None:
    guard, x = make_guard(), make_limits()
    for _ in range(round(3.0 / (speed * dt_s))):
        v_before = guard.v.copy()
        guard.pass_setpoint(guard.u + side * speed * dt_s, np.full(N, side * speed), np.full(N, side * speed), dt_s)
        assert np.all(np.abs(guard.v - v_before) <= x.a_max * dt_s + BRAKING)
    np.testing.assert_allclose(guard.u, x.q_max if side > 0.0 else x.q_min, atol=1e-4)  # the end is asymptotic


def test_the_braking_distance_is_that_of_constant_deceleration() -> None:
    v, distance, a_max = fastest_approach(0.3, 2.0, 0.01), 0.3, 2.0
    assert v * 0.01 + v * v / (2.0 * a_max) == pytest.approx(distance)
    assert fastest_approach(0.3, 2.0, 0.0) == pytest.approx(np.sqrt(2.0 * a_max * distance))
    assert fastest_approach(-1.0, 2.0, 0.01) == 0.0


def test_a_refused_request_brings_a_moving_setpoint_to_rest_within_the_acceleration() -> None:
    guard, x = make_guard(), make_limits()
    for _ in range(10):
        guard.pass_setpoint(guard.u + 0.002, np.full(N, 2.0), np.full(N, 2.0), DT_S)
    moving = guard.v.copy()
    np.testing.assert_allclose(moving, 2.0)
    steps = 0
    while guard.v.any():
        before = guard.v.copy()
        assert guard.pass_setpoint(np.full(N, np.nan), np.zeros(N), np.zeros(N), DT_S)
        assert np.all(before - guard.v <= x.a_max * DT_S + ROUNDING)
        assert np.all(guard.v >= 0.0)
        steps += 1
    assert steps == np.ceil(moving / (x.a_max * DT_S)).max()


@settings(max_examples=100, deadline=None)
@given(
    acceleration=arrays(np.float64, N, elements=st.floats(-0.99, 0.99)),
    rate=arrays(np.float64, N, elements=st.floats(-0.2, 0.2)),
    torque=arrays(np.float64, N, elements=st.floats(-0.9, 0.9)),
)  # fmt: skip
def test_a_command_within_the_limits_passes_unchanged_and_uncounted(
    acceleration: np.ndarray, rate: np.ndarray, torque: np.ndarray
) -> None:
    guard = make_guard()
    change = acceleration * guard.limits.a_max * DT_S
    u = guard.u + change * DT_S
    _pass(guard, u, np.where(change > 0.0, np.abs(rate), -np.abs(rate)), torque)
    np.testing.assert_array_equal(guard.u, u)
    np.testing.assert_array_equal(guard.tau, torque)
    assert guard.counts.sum() == 0
    assert guard.events() == []


def test_limits_take_their_share_of_the_urdf() -> None:
    limits = make_limits(velocity_fraction=0.5, acceleration_per_s=20.0)
    np.testing.assert_allclose(limits.q_min, SYSTEM.q_min + MARGIN_RAD)
    np.testing.assert_allclose(limits.q_max, SYSTEM.q_max - MARGIN_RAD)
    np.testing.assert_allclose(limits.a_max, 20.0 * SYSTEM.v_max)
    np.testing.assert_allclose(limits.v_max, 0.5 * SYSTEM.v_max)
    np.testing.assert_allclose(limits.tau_max, 0.9 * SYSTEM.tau_max_nm)
    np.testing.assert_allclose(limits.tau_rate, 100.0 * SYSTEM.tau_max_nm)


def test_a_margin_that_leaves_no_range_is_refused_naming_key_and_joint(allegro: System) -> None:
    narrow = replace(allegro, joints=tuple(replace(joint, lower=0.0, upper=0.5) for joint in allegro.joints))
    with pytest.raises(ConfigError, match=f"position_margin_deg 20 .*{allegro.joint_names[0]}"):
        GuardLimits.from_config(narrow, BridgeConfig(gravity_compensation="robot", position_margin_deg=20.0))


def test_each_kind_is_counted_for_its_joint() -> None:
    def count(kind: ClampKind, u: float = 0.0, du: float = 0.0, tau: float = 0.0, dt_s: float = DT_S) -> None:
        guard, third = make_guard(), np.arange(N) == 2
        guard.u[2] = guard.limits.q_max[2] - 0.0001
        _pass(guard, guard.u + np.where(third, u, 0.0), np.where(third, du, 0.0), np.where(third, tau, 0.0), dt_s)
        assert [(event.kind, event.joint) for event in guard.events()] == [(kind, SYSTEM.joint_names[2])]
        assert guard.counts_by_kind()[kind.name.lower()] == 1

    count(ClampKind.POSITION, u=0.00011)
    count(ClampKind.VELOCITY, u=-0.1)
    count(ClampKind.ACCELERATION, u=-0.001)
    count(ClampKind.VELOCITY, du=-6.0)
    count(ClampKind.JUMP, u=0.21)
    count(ClampKind.EFFORT, tau=9.5, dt_s=1.0)
    count(ClampKind.TORQUE_RATE, tau=-3.0)
    count(ClampKind.NON_FINITE, u=np.nan)
    count(ClampKind.NON_FINITE, du=np.inf)
    count(ClampKind.NON_FINITE, tau=np.nan)


def test_a_request_with_one_bad_joint_is_refused_for_all() -> None:
    for bad in (np.nan, np.inf, 1e300):
        guard = make_guard()
        before, u = guard.u.copy(), guard.u + 0.001
        u[1] = bad
        assert guard.pass_setpoint(u, np.ones(N), np.ones(N), DT_S)
        np.testing.assert_array_equal(guard.u, before)
        np.testing.assert_array_equal(guard.du, 0.0)


def test_a_non_finite_torque_keeps_the_one_before() -> None:
    guard = make_guard()
    guard.pass_torque(np.full(N, 0.5), DT_S)
    guard.pass_torque(np.array([np.nan, np.inf, -np.inf, 0.4]), DT_S)
    np.testing.assert_allclose(guard.tau, [0.5, 0.5, 0.5, 0.4])


def test_a_start_beyond_the_margin_may_only_come_back() -> None:
    guard = make_guard()
    outside = SYSTEM.q_max - 0.005
    guard.start_from(outside, np.zeros(N))
    guard.pass_setpoint(outside + 0.001, np.zeros(N), np.zeros(N), DT_S)
    np.testing.assert_array_equal(guard.u, outside)
    guard.pass_setpoint(outside - 0.0001, np.zeros(N), np.zeros(N), DT_S)
    np.testing.assert_allclose(guard.u, outside - 0.0001)


def test_the_start_torque_is_within_the_effort_limit() -> None:
    guard = make_guard()
    guard.start_from(guard.u.copy(), np.full(N, 1e3))
    np.testing.assert_allclose(guard.tau, guard.limits.tau_max)
