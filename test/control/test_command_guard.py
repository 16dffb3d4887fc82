"""Nothing out of limits leaves the guard, whatever comes in; what is within limits passes unchanged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contact_mpc import load_system
from contact_mpc.control.command_guard import ClampKind, CommandGuard, GuardLimits
from contact_mpc.errors import ConfigError

SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
DT_S = 0.001
MARGIN_RAD = 0.02
ROUNDING = 1e-12  # of a sum of numbers of order 1
ANYTHING = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.floats(-3.0, 3.0), st.sampled_from([0.0, 1e-320, 1e308, -1e308])
)
VECTOR = arrays(np.float64, N, elements=ANYTHING)


def make_guard() -> CommandGuard:
    limits = GuardLimits.from_system(SYSTEM, MARGIN_RAD, 1.0, 0.9, 100.0, 0.2)
    guard = CommandGuard(limits, SYSTEM.joint_names)
    guard.start_from(0.5 * (SYSTEM.q_min + SYSTEM.q_max), np.zeros(N))
    return guard


def _pass(guard: CommandGuard, u: np.ndarray, du: np.ndarray, tau: np.ndarray, dt_s: float = DT_S) -> None:
    guard.pass_setpoint(u, du, dt_s)
    guard.pass_torque(tau, dt_s)
    guard.count()


@settings(max_examples=400, deadline=None)
@given(requests=st.lists(st.tuples(VECTOR, VECTOR, VECTOR), min_size=1, max_size=5))
def test_nothing_out_of_limits_leaves_for_any_input(requests: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    guard, x = make_guard(), make_guard().limits
    for u, du, tau in requests:
        u_before, tau_before = guard.u.copy(), guard.tau.copy()
        _pass(guard, u, du, tau)
        assert np.all((guard.u >= x.q_min) & (guard.u <= x.q_max))
        assert np.all(np.abs(guard.u - u_before) <= x.v_max * DT_S + ROUNDING)
        assert np.all(np.abs(guard.du) <= x.v_max)
        assert np.all(np.abs(guard.tau) <= x.tau_max)
        assert np.all(np.abs(guard.tau - tau_before) <= x.tau_rate * DT_S + ROUNDING)


@settings(max_examples=200, deadline=None)
@given(
    step=arrays(np.float64, N, elements=st.floats(-0.004, 0.004)),
    rate=arrays(np.float64, N, elements=st.floats(-4.0, 4.0)),
    torque=arrays(np.float64, N, elements=st.floats(-0.9, 0.9)),
)  # fmt: skip
def test_a_command_within_the_limits_passes_unchanged_and_uncounted(
    step: np.ndarray, rate: np.ndarray, torque: np.ndarray
) -> None:
    guard = make_guard()
    u = guard.u + step
    _pass(guard, u, rate, torque)
    np.testing.assert_array_equal(guard.u, u)
    np.testing.assert_array_equal(guard.du, rate)
    np.testing.assert_array_equal(guard.tau, torque)
    assert guard.counts.sum() == 0
    assert guard.events() == []


def test_limits_take_their_share_of_the_urdf() -> None:
    limits = GuardLimits.from_system(SYSTEM, 0.02, 0.5, 0.9, 100.0, 0.2)
    np.testing.assert_allclose(limits.q_min, SYSTEM.q_min + 0.02)
    np.testing.assert_allclose(limits.q_max, SYSTEM.q_max - 0.02)
    np.testing.assert_allclose(limits.v_max, 0.5 * SYSTEM.v_max)
    np.testing.assert_allclose(limits.tau_max, 0.9 * SYSTEM.tau_max_nm)
    np.testing.assert_allclose(limits.tau_rate, 100.0 * SYSTEM.tau_max_nm)


def test_a_margin_that_leaves_no_range_is_refused_naming_the_joint() -> None:
    with pytest.raises(ConfigError, match="left_1"):
        GuardLimits.from_system(SYSTEM, 0.8, 1.0, 0.9, 100.0, 0.2)


def test_each_kind_is_counted_for_its_joint() -> None:
    def count(kind: ClampKind, u: float = 0.0, du: float = 0.0, tau: float = 0.0, dt_s: float = DT_S) -> None:
        guard, third = make_guard(), np.arange(N) == 2
        guard.u[2] = guard.limits.q_max[2] - 0.001
        _pass(guard, guard.u + np.where(third, u, 0.0), np.where(third, du, 0.0), np.where(third, tau, 0.0), dt_s)
        assert [(event.kind, event.joint) for event in guard.events()] == [(kind, SYSTEM.joint_names[2])]
        assert guard.counts_by_kind()[kind.name.lower()] == 1

    count(ClampKind.POSITION, u=0.003)
    count(ClampKind.VELOCITY, u=-0.1)
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
        assert guard.pass_setpoint(u, np.ones(N), DT_S)
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
    guard.pass_setpoint(outside + 0.001, np.zeros(N), DT_S)
    np.testing.assert_array_equal(guard.u, outside)
    guard.pass_setpoint(outside - 0.001, np.zeros(N), DT_S)
    np.testing.assert_allclose(guard.u, outside - 0.001)


def test_the_start_torque_is_within_the_effort_limit() -> None:
    guard = make_guard()
    guard.start_from(guard.u.copy(), np.full(N, 1e3))
    np.testing.assert_allclose(guard.tau, guard.limits.tau_max)
