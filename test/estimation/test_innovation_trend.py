"""The trend of innovations: its false alarms, what it sees, and how the pose filter uses it where contacts slip."""

import numpy as np
import pytest
from scipy.stats import chi2

from contact_mpc.estimation.charts import FreeBodyChart
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.innovation_trend import InnovationTrend
from contact_mpc.estimation.pose_filter import PoseFilter
from contact_mpc.model.rotations import quaternion_to_matrix, rotation_exp, rotation_log

PERIOD_S = 1.0 / 60.0
PERIOD_NS = 16_666_667
RATE = np.array([0.0, 0.0, np.radians(15.0)])  # rad/s, of the fingers
SLIP_FROM_S, END_S = 1.5, 3.0


def test_white_innovations_drift_no_more_often_than_stated() -> None:
    rng, alarms, noise = np.random.default_rng(0), 0, []
    for _ in range(400):
        trend = InnovationTrend(6, 0.25, 0.99)
        for e in rng.normal(size=(90, 6)):
            noise.append(trend.noise(e))
            trend.add(e, PERIOD_S)
        alarms += trend.is_drifting
    assert alarms <= 11  # of 400 at 1 %: binomial, 99.9 % quantile
    assert np.mean(noise) == pytest.approx(6.0, rel=0.02)


def test_one_pose_is_no_drift_but_a_third_that_agrees_with_two_is() -> None:
    """After ten windows of nothing, at the gate of the pose filter."""
    trend = InnovationTrend(6, 0.25, 0.999)
    for _ in range(150):
        trend.add(np.zeros(6), PERIOD_S)
    at_gate = np.sqrt(chi2.ppf(0.9999, 6)) * np.eye(6)[1]
    seen = []
    for _ in range(3):
        trend.add(at_gate, PERIOD_S)
        seen.append(trend.is_drifting)
    assert seen == [False, False, True]


def test_noise_does_not_count_what_the_trend_explains() -> None:
    trend, offset = InnovationTrend(6, 0.25, 0.999), 3.0 * np.ones(6)
    for _ in range(150):
        trend.add(offset, PERIOD_S)
    assert trend.is_drifting
    assert trend.noise(offset) < 1e-3


def rms_error_deg(slips: bool, slip_probability: float, seed: int) -> tuple[float, bool]:
    """Return the rms error after the onset of slip and whether slip was seen at any time.

    Fingers turn the object at RATE; where it slips, it stands still while they go on.
    """
    config = EstimatorConfig(slip_probability=slip_probability)
    carried = lambda start, stop: (np.r_[RATE * (stop - start) * 1e-9, np.zeros(3)], 1.0)  # noqa: E731
    rng, pose_filter = np.random.default_rng(seed), PoseFilter(FreeBodyChart(), config, carried)
    squares, seen = [], False
    for k in range(round(END_S / PERIOD_S)):
        t = k * PERIOD_S
        turned = RATE * (min(t, SLIP_FROM_S) if slips else t)
        R = rotation_exp(config.pose_noise_rad * rng.normal(size=3)) @ rotation_exp(turned)
        pose_filter.update(k * PERIOD_NS, R, config.pose_noise_m * rng.normal(size=3))
        seen |= pose_filter.slips
        if t > SLIP_FROM_S:
            assert pose_filter.state is not None
            estimate = quaternion_to_matrix(pose_filter.state.x[:4])
            squares.append(np.sum(rotation_log(estimate @ rotation_exp(turned).T) ** 2))
    return float(np.degrees(np.sqrt(np.mean(squares)))), seen


def test_slip_is_seen_and_lowers_the_error_of_the_pose() -> None:
    with_test = [rms_error_deg(True, 0.999, seed) for seed in range(8)]
    without = [rms_error_deg(True, 1.0, seed)[0] for seed in range(8)]
    assert all(seen for _, seen in with_test)
    assert np.mean([error for error, _ in with_test]) < 0.75 * np.mean(without)  # 0.54 with these seeds


def test_contacts_that_stick_keep_their_smooth_estimate() -> None:
    with_test = np.mean([rms_error_deg(False, 0.999, seed)[0] for seed in range(8)])
    without = np.mean([rms_error_deg(False, 1.0, seed)[0] for seed in range(8)])
    assert with_test < 1.1 * without  # alarms at 0.1 % cost little
