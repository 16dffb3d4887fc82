"""Studies: which variants there are, what they change, paired counts, and outcomes that survive an interrupt."""

import errno
import os
import resource
import signal
from dataclasses import replace

import pytest
from scipy.stats import binomtest

from contact_mpc.errors import InputError
from contact_mpc.evaluation.outcome_store import OutcomeStore, make_key
from contact_mpc.evaluation.statistics import paired_p_value
from contact_mpc.evaluation.trial_run import TrialOutcome
from contact_mpc.evaluation.variants import BASE, STUDIES, TASK_WEIGHTS, build_variants, weights_of
from contact_mpc.loop.config import load_loop_config

TASK = "allegro_ball"


@pytest.fixture(scope="module")
def config():
    return load_loop_config(TASK)


@pytest.mark.parametrize("study", STUDIES)
def test_settings_of_every_variant_are_accepted_and_change_something(config, study):
    changed = []
    for variant in build_variants(study, config, 0.8):
        loop = load_loop_config(TASK, None, variant.settings, variant.controller)
        is_base = variant.label in (BASE, "tracker") or variant.value is not None or variant.start_seed is not None
        changed.append(variant.label)
        assert is_base or loop != config, variant.label
    assert len(changed) > 3


def test_first_row_of_paired_studies_is_the_loop_itself(config):
    for study in ("ablation", "grasp", "comparison"):
        first = build_variants(study, config, 0.8)[0]
        assert (first.settings, first.controller, first.noise_scale) == ((), None, 1.0)


def test_every_switch_and_weight_that_is_on_has_an_ablation_but_those_of_the_task(config):
    labels = {item.label for item in build_variants("ablation", config, 0.8)}
    for part in (config.tracker, config.estimator):
        for name, value in part:
            is_weight = name.endswith("_weight") and name not in TASK_WEIGHTS and value > 0.0
            assert (f"no {name.replace('_', ' ')}" in labels) == (value is True or is_weight), name
    assert {"one step", "no contact matching", "no rate weight"} <= labels


def test_sensitivity_covers_rates_weights_delays_and_noise(config):
    variants = build_variants("sensitivity", config, 0.8)
    groups = {}
    for item in variants:
        groups.setdefault(item.group, []).append(item)
    assert [item.value for item in groups["MPC rate, Hz"]] == [10, 20, 25, 40, 50, 100]
    assert [item.value for item in groups["delay of poses, ms"]] == [0, 10, 20, 40, 60]
    assert [item.noise_scale for item in groups["noise of poses, factor"]] == [0.0, 0.5, 1.0, 2.0, 3.0]
    for name, weight in weights_of(config.tracker).items():
        loops = [load_loop_config(TASK, None, item.settings) for item in groups[f"{name}, factor"]]
        assert [getattr(loop.tracker, name) for loop in loops] == pytest.approx([0.3 * weight, weight, 3.0 * weight])


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (0, 5), (3, 9), (4, 4), (12, 1)])
def test_paired_p_value_is_the_exact_sign_test(gained, lost):
    expected = 1.0 if gained + lost == 0 else binomtest(gained, gained + lost).pvalue
    assert paired_p_value(gained, lost) == pytest.approx(expected, rel=1e-12)


OUTCOME = TrialOutcome(7, "+x", True, True, False, 1.5, 0.5, 2.5, (2.0, 3.0), (1.0, 2.0), (), {"friction": 0.7})


def test_outcomes_are_found_again_under_their_key_only(tmp_path):
    path = tmp_path / "deep" / "study.jsonl"
    store = OutcomeStore(path)
    store.add("a", OUTCOME)
    store.add("b", replace(OUTCOME, seed=8, goal_met=False, reasons=("angle",)))
    again = OutcomeStore(path)
    assert again.find("a", 7) == OUTCOME
    assert again.find("b", 8).reasons == ("angle",)
    assert again.find("a", 8) is None and again.find("c", 7) is None


def test_line_cut_off_by_an_interrupt_is_left_out_and_a_strange_file_refused(tmp_path):
    path = tmp_path / "study.jsonl"
    OutcomeStore(path).add("a", OUTCOME)
    path.write_text(path.read_text() + '{"key": "a", "outc')
    assert OutcomeStore(path).find("a", 7) == OUTCOME
    path.write_text("hello\n" + path.read_text())
    with pytest.raises(InputError, match="line 1 is no outcome"):
        OutcomeStore(path)


def test_a_cut_line_does_not_spoil_the_second_resume(tmp_path):
    path = tmp_path / "study.jsonl"
    OutcomeStore(path).add("a", OUTCOME)
    path.write_text(path.read_text() + '{"key": "a", "outc')
    OutcomeStore(path).add("b", OUTCOME)
    third = OutcomeStore(path)
    assert third.find("a", 7) == third.find("b", 7) == OUTCOME
    assert path.read_text().count("\n") == 2


@pytest.mark.parametrize("failing", ["fsync", "short write"])
def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch, failing):
    path = tmp_path / "study.jsonl"
    store = OutcomeStore(path)
    store.add("a", OUTCOME)
    before = path.read_bytes()
    if failing == "fsync":

        def fail(*_args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(InputError, match="No space left.*are kept"):
            store.add("b", OUTCOME)
    else:
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
        try:
            with pytest.raises(InputError, match="are kept"):
                store.add("b", OUTCOME)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before


def test_key_depends_on_every_part():
    assert make_key({"x": 1}, [2.0]) == make_key({"x": 1}, [2.0])
    assert len({make_key({"x": 1}, [2.0]), make_key({"x": 2}, [2.0]), make_key({"x": 1}, [2.5])}) == 3
