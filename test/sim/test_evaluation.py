"""Trials, their draws, and what an evaluation makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from contact_mpc.sim.evaluation import TrialOutcome, statistics_of, summarise
from contact_mpc.sim.perturbation import PlantPerturbation
from contact_mpc.sim.sensors import SensorConfig
from contact_mpc.sim.statistics import wilson_interval
from contact_mpc.sim.trials import Disturbance, draw_trial, trial_seeds

RANGES = Disturbance()


def draws(count=300, **kwargs):
    return [draw_trial(seed, RANGES, SensorConfig(), **kwargs) for seed in trial_seeds(5, count)]


def test_longer_evaluation_begins_with_the_same_trials():
    assert trial_seeds(3, 20)[:10] == trial_seeds(3, 10)
    assert len(set(trial_seeds(3, 200))) == 200
    assert trial_seeds(3, 5) != trial_seeds(4, 5)


def test_trial_is_drawn_again_by_its_seed():
    assert draw_trial(11, RANGES, SensorConfig()) == draw_trial(11, RANGES, SensorConfig())
    assert draw_trial(11, RANGES, SensorConfig()) != draw_trial(12, RANGES, SensorConfig())


def test_draws_fill_their_ranges_and_stay_inside():
    drawn = [trial.perturbation for trial in draws()]
    for name, low, high in (("friction", 0.5, 1.0), ("size_scale", 0.97, 1.03), ("mass_scale", 0.8, 1.2)):
        values = np.array([getattr(item, name) for item in drawn])
        assert low <= values.min() < low + 0.05 * (high - low)
        assert high - 0.05 * (high - low) < values.max() <= high


def test_offset_has_its_length_and_no_preferred_direction():
    offsets = np.array([trial.perturbation.object_offset_m for trial in draws()])
    assert np.linalg.norm(offsets, axis=1) == pytest.approx(0.003)
    # The mean of 300 uniform directions has components of 3 mm / sqrt(900) = 0.1 mm; five of those are allowed.
    assert np.abs(offsets.mean(axis=0)).max() < 0.0005


def test_scale_zero_is_the_nominal_plant_and_noise_scale_zero_a_perfect_camera():
    trial = draw_trial(11, RANGES, SensorConfig(), scale=0.0, noise_scale=0.0)
    assert replace(trial.perturbation, seed=0, object_offset_m=(0.0, 0.0, 0.0)) == PlantPerturbation()
    assert np.abs(trial.perturbation.object_offset_m).max() == 0.0
    assert (trial.sensors.pose_noise_mm, trial.sensors.pose_noise_deg) == (0.0, 0.0)
    assert trial.sensors.pose_delay_s == SensorConfig().pose_delay_s


def test_scale_multiplies_the_deviations():
    one, half = (draw_trial(11, RANGES, SensorConfig(), scale=scale).perturbation for scale in (1.0, 0.5))
    assert half.mass_scale - 1.0 == pytest.approx(0.5 * (one.mass_scale - 1.0))
    assert half.size_scale - 1.0 == pytest.approx(0.5 * (one.size_scale - 1.0))
    assert np.array(half.object_offset_m) == pytest.approx(0.5 * np.array(one.object_offset_m))
    assert half.torque_ripple_fraction == 0.5 * one.torque_ripple_fraction
    assert half.hysteresis_fraction == 0.5 * one.hysteresis_fraction


@pytest.mark.parametrize(
    ("successes", "trials", "interval"),
    [(0, 10, (0.0, 0.2775)), (5, 10, (0.2366, 0.7634)), (10, 10, (0.7225, 1.0)), (0, 0, (0.0, 1.0))],
)
def test_wilson_interval_has_its_published_values(successes, trials, interval):
    assert wilson_interval(successes, trials) == pytest.approx(interval, abs=1e-4)


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.98])
def test_wilson_interval_covers_the_true_rate_about_95_times_in_100(rate):
    trials = 100
    inside = [low <= rate <= high for low, high in (wilson_interval(k, trials) for k in range(trials + 1))]
    covered = float(np.sum(binom.pmf(np.arange(trials + 1), trials, rate)[np.array(inside)]))
    # The coverage of a discrete interval swings about its nominal value.
    assert 0.93 < covered < 0.98


def test_summary_counts_and_names_the_failures():
    good = TrialOutcome(1, True, False, 1.0, 0.5, 2.0, (), {"friction": 0.7})
    bad = TrialOutcome(2, False, True, 90.0, 80.0, 4.0, ("dropped", "angle"), {"friction": 0.5})
    broken = TrialOutcome(3, False, False, np.nan, np.nan, np.nan, ("no command",), {"friction": 0.6})
    summary = summarise([good, bad, broken])
    assert (summary["trials"], summary["drops"]) == (3, 1)
    assert summary["success_rate"] == pytest.approx(1.0 / 3.0)
    assert summary["failures"] == [
        {"seed": 2, "reason": "dropped; angle", "friction": 0.5},
        {"seed": 3, "reason": "no command", "friction": 0.6},
    ]
    assert summary["angle_error_deg"] == {"median": 45.5, "p90": 81.1, "p99": pytest.approx(89.11), "max": 90.0}


def test_statistics_of_nothing_are_none_not_zero():
    assert statistics_of([np.nan]) is None
