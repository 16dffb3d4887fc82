"""Trials, their draws, and what an evaluation makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from contact_mpc.errors import ConfigError
from contact_mpc.evaluation.statistics import statistics_of, wilson_interval
from contact_mpc.evaluation.summary import by_axis, by_disturbance, summarise
from contact_mpc.evaluation.trial_run import TrialOutcome
from contact_mpc.evaluation.trials import Disturbance, disturbance_of, draw_trial, trial_seeds
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.task.task import load_task

RANGES = Disturbance()


def draws(count=300, **kwargs):
    return [draw_trial(seed, RANGES, SensorConfig(), **kwargs) for seed in trial_seeds(5, count)]


def test_longer_evaluation_begins_with_the_same_trials():
    assert trial_seeds(3, 20)[:10] == trial_seeds(3, 10)
    assert len(set(trial_seeds(3, 200))) == 200
    assert trial_seeds(3, 5) != trial_seeds(4, 5)


def test_a_task_file_says_what_its_trials_draw_from():
    ranges = disturbance_of(load_task("anypulator_block"))
    assert (ranges.object_offset_mm, ranges.object_yaw_deg, ranges.friction_fraction) == (5.0, 1.0, 0.05)
    assert disturbance_of(load_task("allegro_ball")) == Disturbance()


def test_a_range_that_does_not_exist_is_refused_with_file_and_key():
    task = replace(load_task("anypulator_block"), disturbance={"friction_fracton": 0.1})
    with pytest.raises(ConfigError, match=r"anypulator_block.yaml: disturbance: .*friction_fracton"):
        disturbance_of(task)


@pytest.mark.parametrize("name", ["anypulator_block", "anypulator_ball"])
def test_the_drawn_yaw_turns_the_object_on_its_place(name):
    task = load_task(name)
    q = PlantPerturbation(object_yaw_rad=0.1).displace_objects(task.system, task.start_q)
    (R_0, p_0), (R, p) = task.system.object_pose(task.start_q), task.system.object_pose(q)
    np.testing.assert_allclose(R @ R_0.T, rotation_exp(np.array([0.0, 0.0, 0.1])), atol=1e-9)
    np.testing.assert_allclose(p, p_0, atol=1e-9)
    np.testing.assert_array_equal(q[task.system.n_q_u :], task.start_q[task.system.n_q_u :])


def test_yaws_fill_their_range_and_keep_the_other_draws():
    turning = RANGES.model_copy(update={"object_yaw_deg": 5.0})
    trials = [draw_trial(seed, turning, SensorConfig()) for seed in trial_seeds(5, 300)]
    yaws = np.rad2deg([trial.perturbation.object_yaw_rad for trial in trials])
    assert -5.0 <= yaws.min() < -4.5 and 4.5 < yaws.max() <= 5.0
    kept = [trial.perturbation.model_copy(update={"object_yaw_rad": 0.0}) for trial in trials]
    assert kept == [trial.perturbation for trial in draws()]


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


def test_what_stands_stays_on_its_table_whatever_its_size() -> None:
    ranges = Disturbance(offset_upwards=False, standing_height_m=0.05)
    for seed in range(5):
        drawn = draw_trial(seed, ranges, SensorConfig()).perturbation
        assert drawn.object_offset_m[2] == pytest.approx(0.05 * (drawn.size_scale - 1.0))


def test_scale_zero_is_the_nominal_plant_and_noise_scale_zero_a_perfect_camera():
    trial = draw_trial(11, RANGES, SensorConfig(), scale=0.0, noise_scale=0.0)
    assert trial.perturbation.model_copy(update={"seed": 0, "object_offset_m": (0.0, 0.0, 0.0)}) == PlantPerturbation()
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


@pytest.mark.parametrize("cases", [1, 2, 6])
def test_cases_take_turns_and_a_seed_alone_names_its_case(cases):
    seeds = trial_seeds(3, 24, cases)
    assert [seed % cases for seed in seeds] == [k % cases for k in range(24)]
    assert len(set(seeds)) == 24
    assert trial_seeds(3, 12, cases) == seeds[:12]


def outcome(seed, met=True, axis="+x", angle_deg=1.0, drops=False, **drawn):
    drawn = {"friction": 0.7, "mass_scale": 1.0, "size_scale": 1.0, "object_offset_mm": [0.0, 0.0, 3.0], **drawn}
    loosely_met, reasons = met or angle_deg < 5.0, () if met else ("angle",)
    times = ((2.0, 4.0), (1.0, 2.0))
    return TrialOutcome(seed, axis, met, loosely_met, drops, angle_deg, 0.5, 3.0, *times, reasons, drawn)


def test_summary_counts_the_trials_with_each_kind_of_report():
    late, weak = ("lagging from 0.25 s",), ("lagging from 1.00 s", "less torque than commanded: ring_1 from 0.35 s")
    trials = [replace(outcome(1), reports=weak), replace(outcome(2, met=False), reports=late), outcome(3)]
    summary = summarise(trials, RANGES)
    assert summary["reports"] == {
        "lagging": {"trials": 2, "goal_met": 1}, "less torque than commanded": {"trials": 1, "goal_met": 1},
    }  # fmt: skip
    assert summary["failures"][0]["reason"] == "angle; lagging from 0.25 s"


def test_summary_counts_and_names_the_failures():
    bad = outcome(2, met=False, angle_deg=90.0, drops=True, friction=0.5)
    broken = replace(outcome(3, met=False), angle_error_deg=np.nan, loosely_met=False, solve_ms=(), solve_cpu_ms=())
    summary = summarise([outcome(1), bad, broken, outcome(4, met=False, angle_deg=4.0)], RANGES)
    assert (summary["trials"], summary["drops"]) == (4, 1)
    assert (summary["success_rate"], summary["loose_success_rate"]) == (0.25, 0.5)
    assert [failure["seed"] for failure in summary["failures"]] == [2, 3, 4]
    assert summary["failures"][0] == {"seed": 2, "axis": "+x", "reason": "angle", **bad.drawn}
    assert summary["angle_error_deg"]["median"] == 4.0 and summary["angle_error_deg"]["max"] == 90.0
    assert (summary["solve_ms"]["median"], summary["solve_cpu_ms"]["median"]) == (3.0, 1.5)


def test_table_by_axis_parts_the_trials():
    table = by_axis([outcome(1), outcome(2, axis="-y", met=False), outcome(3)])
    assert {axis: (group["trials"], group["success_rate"]) for axis, group in table.items()} == {
        "+x": (2, 1.0), "-y": (1, 0.0),
    }  # fmt: skip


def test_table_by_disturbance_puts_each_trial_into_its_third():
    items = [outcome(k, friction=value, met=value > 0.6) for k, value in enumerate((0.5, 0.6, 0.75, 0.95, 1.0))]
    thirds = by_disturbance(items, RANGES, 1.0)["friction"]
    assert [group["trials"] for group in thirds] == [2, 1, 2]
    assert [group["success_rate"] for group in thirds] == [0.0, 1.0, 1.0]
    assert [(group["from"], group["to"]) for group in thirds] == [
        (0.5, pytest.approx(2 / 3)), (pytest.approx(2 / 3), pytest.approx(5 / 6)), (pytest.approx(5 / 6), 1.0),
    ]  # fmt: skip
    every_table = by_disturbance(items, RANGES, 2.0)
    assert set(every_table) == {
        "friction", "size_percent", "mass_percent", "offset_x_mm", "offset_y_mm", "offset_z_mm",
    }  # fmt: skip
    assert every_table["offset_z_mm"][2]["to"] == 6.0
    assert all(sum(group["trials"] for group in thirds) == 5 for thirds in every_table.values())


def test_quantity_that_is_not_drawn_has_no_table():
    narrow = RANGES.model_copy(update={"mass_fraction": 0.0})
    assert "mass_percent" not in by_disturbance([outcome(1)], narrow, 1.0)


def test_statistics_of_nothing_are_none_not_zero():
    assert statistics_of([np.nan]) is None
