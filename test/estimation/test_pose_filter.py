"""The pose filter: consistency, noise, lag, delay, gate and stale poses, against a simulated free body."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from contact_mpc.errors import InputError
from contact_mpc.estimation.charts import FreeBodyChart
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.pose_filter import PoseFilter
from contact_mpc.model.rotations import quaternion_to_matrix, rotation_exp, rotation_log

CONFIG = EstimatorConfig(noise_adaptation=0.0)
PERIOD_NS = 16_666_667
DELAY_NS = 20_000_000
Trajectory = Callable[[float], tuple[np.ndarray, np.ndarray]]


def at_rest(t: float) -> tuple[np.ndarray, np.ndarray]:
    return np.eye(3), np.zeros(3)


def turning(rate_rad_s: np.ndarray, speed_m_s: np.ndarray) -> Trajectory:
    return lambda t: (rotation_exp(rate_rad_s * t), speed_m_s * t)


def measure(trajectory: Trajectory, stamp_ns: int, rng: np.random.Generator, scale: float = 1.0):
    R, p = trajectory(stamp_ns * 1e-9)
    noise = rng.normal(size=6) * scale
    return rotation_exp(CONFIG.pose_noise_rad * noise[:3]) @ R, p + CONFIG.pose_noise_m * noise[3:]


def run_filter(trajectory: Trajectory, duration_s: float, seed: int, scale: float = 1.0) -> PoseFilter:
    rng, chart = np.random.default_rng(seed), FreeBodyChart()
    pose_filter = PoseFilter(chart, CONFIG)
    for k in range(round(duration_s * 60)):
        pose_filter.update(k * PERIOD_NS, *measure(trajectory, k * PERIOD_NS, rng, scale))
    return pose_filter


def error_of(pose_filter: PoseFilter, trajectory: Trajectory, t_ns: int) -> np.ndarray:
    """Tangent error (6,) of the prediction at t_ns, rad and m."""
    x, _, _ = pose_filter.predict(t_ns)
    R, p = trajectory(t_ns * 1e-9)
    return np.concatenate([rotation_log(quaternion_to_matrix(x[:4]) @ R.T), x[4:] - p])


@given(
    rate=st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=3),
    speed=st.lists(st.floats(-0.05, 0.05), min_size=3, max_size=3),
)
@settings(max_examples=10, deadline=None)
def test_noise_free_constant_velocity_is_tracked_without_bias_over_the_delay(rate, speed):
    trajectory = turning(np.array(rate), np.array(speed))
    pose_filter = run_filter(trajectory, 6.0, seed=0, scale=0.0)
    error = error_of(pose_filter, trajectory, pose_filter.state.stamp_ns + DELAY_NS)
    # The transient of the start at rest has decayed by exp(-4.7 * 6 / sqrt 2) = 2e-9.
    assert np.abs(error).max() < 1e-6


def test_object_that_starts_faster_than_the_gate_allows_is_caught_after_one_restart():
    trajectory = turning(np.array([0.0, 1.0, 2.0]), np.array([0.3, 0.0, 0.0]))
    pose_filter = run_filter(trajectory, 6.0, seed=0)
    assert 1 <= pose_filter.outliers <= CONFIG.max_consecutive_outliers
    error = error_of(pose_filter, trajectory, pose_filter.state.stamp_ns + DELAY_NS)
    assert np.abs(error[:3]).max() < 3 * CONFIG.pose_noise_rad
    assert np.abs(error[3:]).max() < 3 * CONFIG.pose_noise_m


def test_delay_left_uncompensated_would_show_as_rate_times_delay():
    rate = np.array([0.0, 0.0, np.radians(10.0)])
    trajectory = turning(rate, np.zeros(3))
    pose_filter = run_filter(trajectory, 6.0, seed=0, scale=0.0)
    t_ns = pose_filter.state.stamp_ns + DELAY_NS
    held = quaternion_to_matrix(pose_filter.state.x[:4])
    lag = rotation_log(trajectory(t_ns * 1e-9)[0] @ held.T)
    assert lag == pytest.approx(rate * DELAY_NS * 1e-9, abs=1e-6)
    assert np.abs(error_of(pose_filter, trajectory, t_ns)).max() < 1e-6


def test_static_noise_falls_by_more_than_half():
    errors = []
    for seed in range(8):
        rng, pose_filter = np.random.default_rng(seed), PoseFilter(FreeBodyChart(), CONFIG)
        for k in range(180):
            pose_filter.update(k * PERIOD_NS, *measure(at_rest, k * PERIOD_NS, rng))
            if k > 60:
                errors.append(error_of(pose_filter, at_rest, k * PERIOD_NS + DELAY_NS))
    rms = np.sqrt(np.mean(np.square(errors), axis=0))
    assert rms[:3].max() < 0.5 * CONFIG.pose_noise_rad
    assert rms[3:].max() < 0.5 * CONFIG.pose_noise_m


def test_squared_error_matches_the_covariance_when_the_model_holds():
    """NEES of the predicted pose over independent runs of the filter's own model lies in its 99.9 % interval."""
    runs, n, values = 100, 6, []
    for seed in range(runs):
        rng, chart, pose_filter = np.random.default_rng(seed), FreeBodyChart(), PoseFilter(FreeBodyChart(), CONFIG)
        x = np.array([1.0, 0, 0, 0, 0, 0, 0])
        v = rng.normal(size=6) * np.repeat([CONFIG.initial_velocity_rad_s, CONFIG.initial_velocity_m_s], 3)
        density = np.repeat([CONFIG.accel_noise_rad_s2, CONFIG.accel_noise_m_s2], 3)
        for k in range(60):
            noise = chart.integrate(x, rng.normal(size=6) * np.repeat([CONFIG.pose_noise_rad, CONFIG.pose_noise_m], 3))
            pose_filter.update(k * PERIOD_NS, quaternion_to_matrix(noise[:4]), noise[4:])
            for _ in range(4):
                v = v + rng.normal(size=6) * density * np.sqrt(PERIOD_NS * 0.25e-9)
                x = chart.integrate(x, v * PERIOD_NS * 0.25e-9)
        predicted, _, P = pose_filter.predict(60 * PERIOD_NS)
        e = chart.difference(predicted, x)
        values.append(e @ np.linalg.solve(P, e))
    low, high = chi2.ppf([0.0005, 0.9995], runs * n)
    assert low < sum(values) < high


def test_constant_acceleration_lags_by_acceleration_over_bandwidth_squared():
    accel = 0.2
    pose_filter = run_filter(lambda t: (rotation_exp(np.array([0, 0, 0.5 * accel * t * t])), np.zeros(3)), 5.0, 0, 0.0)
    omega0_sq = CONFIG.accel_noise_rad_s2 / (CONFIG.pose_noise_rad * np.sqrt(PERIOD_NS * 1e-9))
    stamp_s = pose_filter.state.stamp_ns * 1e-9
    R = rotation_exp(np.array([0, 0, 0.5 * accel * stamp_s**2]))
    lag = rotation_log(R @ quaternion_to_matrix(pose_filter.state.x[:4]).T)[2]
    # Sampling at 60 Hz changes the continuous-time figure by about omega0 T = 13 %.
    assert lag == pytest.approx(accel / omega0_sq, rel=0.2)


def test_outlier_is_left_out_and_counted():
    pose_filter = run_filter(at_rest, 2.0, seed=1)
    before = pose_filter.state
    assert pose_filter.update(120 * PERIOD_NS, np.eye(3), np.array([0.0, 0.0, 0.02])) == "outlier"
    assert pose_filter.outliers == 1
    assert pose_filter.state is before


def test_object_that_stays_elsewhere_restarts_the_filter_there():
    pose_filter = run_filter(at_rest, 2.0, seed=1)
    there = np.array([0.0, 0.05, 0.0])
    verdicts = [pose_filter.update((120 + k) * PERIOD_NS, np.eye(3), there) for k in range(7)]
    assert verdicts == ["outlier"] * (CONFIG.max_consecutive_outliers - 1) + ["restarted", "accepted"]
    assert pose_filter.state.x[4:] == pytest.approx(there)


def test_pose_older_than_the_newest_is_left_out():
    pose_filter = run_filter(at_rest, 1.0, seed=1)
    before = pose_filter.state
    assert pose_filter.update(before.stamp_ns, np.eye(3), np.zeros(3)) == "late"
    assert pose_filter.late == 1
    assert pose_filter.state is before


def test_stale_pose_is_held_while_its_covariance_grows():
    trajectory = turning(np.array([0.0, 0.0, 0.2]), np.array([0.01, 0.0, 0.0]))
    pose_filter = run_filter(trajectory, 4.0, seed=0)
    limit_ns = pose_filter.state.stamp_ns + round(CONFIG.pose_stale_after_s * 1e9)
    at_limit, after_1_s, after_2_s = (pose_filter.predict(limit_ns + dt) for dt in (0, 10**9, 2 * 10**9))
    assert np.array_equal(at_limit[0], after_2_s[0])
    assert np.array_equal(after_1_s[1], np.zeros(6))
    assert np.all(np.diag(after_2_s[2]) > np.diag(after_1_s[2]))
    assert np.all(np.diag(after_1_s[2]) > np.diag(at_limit[2]))


def test_velocity_that_is_not_followed_any_more_is_uncertainty():
    trajectory = turning(np.array([0.0, 0.0, 0.2]), np.zeros(3))
    pose_filter = run_filter(trajectory, 4.0, seed=0)
    after_ns = pose_filter.state.stamp_ns + 2 * 10**9
    missed = np.abs(error_of(pose_filter, trajectory, after_ns))[2]
    assert missed > 0.3  # it went on for 2 s
    assert missed < 3.0 * np.sqrt(pose_filter.predict(after_ns)[2][2, 2])


def test_slow_camera_that_sees_the_object_elsewhere_is_believed_after_three_poses():
    pose_filter, period_ns = PoseFilter(FreeBodyChart(), CONFIG), 100_000_000
    for k in range(20):
        pose_filter.update(k * period_ns, np.eye(3), np.zeros(3))
    there = np.array([0.0, 0.05, 0.0])
    verdicts = [pose_filter.update((20 + k) * period_ns, np.eye(3), there) for k in range(3)]
    assert verdicts == ["outlier", "outlier", "restarted"]


def test_outliers_that_do_not_agree_are_not_believed_early():
    pose_filter, period_ns = PoseFilter(FreeBodyChart(), CONFIG), 100_000_000
    for k in range(20):
        pose_filter.update(k * period_ns, np.eye(3), np.zeros(3))
    elsewhere = 0.05 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    verdicts = [pose_filter.update((20 + k) * period_ns, np.eye(3), p) for k, p in enumerate(elsewhere)]
    assert verdicts == ["outlier"] * 5


def test_pose_that_the_camera_calls_exact_counts_more():
    corrections = []
    for deviations in (None, (0.00175, 0.0001)):
        pose_filter = run_filter(at_rest, 2.0, seed=1)
        before = pose_filter.state.x[4:].copy()
        pose_filter.update(120 * PERIOD_NS, np.eye(3), before + np.array([0.0, 0.0, 5e-4]), deviations)
        corrections.append(pose_filter.state.x[6] - before[2])
    assert corrections[1] > 3.0 * corrections[0]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_one_wrong_pose_among_the_first_is_outvoted(bad):
    pose_filter = PoseFilter(FreeBodyChart(), CONFIG)
    for k in range(5):
        pose_filter.update(k * PERIOD_NS, np.eye(3), np.array([0.0, 0.02 * (k == bad), 0.0]))
    assert np.linalg.norm(pose_filter.state.x[4:]) < 2e-3


def test_prediction_leaves_the_filter_unchanged():
    pose_filter = run_filter(at_rest, 1.0, seed=3)
    first = pose_filter.predict(10**9)
    pose_filter.predict(2 * 10**9)
    assert all(np.array_equal(a, b) for a, b in zip(first, pose_filter.predict(10**9), strict=True))


def test_prediction_before_the_first_pose_is_refused():
    with pytest.raises(InputError, match="first pose"):
        PoseFilter(FreeBodyChart(), CONFIG).predict(0)


def test_quaternion_keeps_its_sign_past_half_a_turn():
    rate = np.array([0.0, 0.0, 1.0])
    pose_filter = PoseFilter(FreeBodyChart(), CONFIG.model_copy(update={"accel_noise_rad_s2": 10.0}))
    quaternions = []
    for k in range(400):
        t = k * PERIOD_NS * 1e-9
        assert pose_filter.update(k * PERIOD_NS, rotation_exp(rate * t), np.zeros(3)) == "accepted"
        quaternions.append(pose_filter.state.x[:4])
    assert np.sum(np.asarray(quaternions)[1:] * np.asarray(quaternions)[:-1], axis=1).min() > 0.99


@pytest.mark.parametrize("scale", [3.0, 0.3])
def test_camera_that_is_worse_or_better_than_assumed_is_recognised(scale: float) -> None:
    adaptive = EstimatorConfig()
    rng, pose_filter = np.random.default_rng(4), PoseFilter(FreeBodyChart(), adaptive)
    late_outliers = 0
    for k in range(600):
        verdict = pose_filter.update(k * PERIOD_NS, *measure(at_rest, k * PERIOD_NS, rng, scale))
        late_outliers += verdict != "accepted" and k > 200
    assert late_outliers <= 2  # of 400, at a gate of 1e-4
    spread = np.sqrt(np.diag(pose_filter.predict(600 * PERIOD_NS)[2]))[:3].mean()
    fixed = run_filter(at_rest, 10.0, seed=4)
    nominal = np.sqrt(np.diag(fixed.predict(600 * PERIOD_NS)[2]))[:3].mean()
    # static noise of the filter goes with sigma^(3/4): sqrt(omega0) falls with sigma^(-1/4)
    assert spread / nominal == pytest.approx(scale**0.75, rel=0.25)
