"""Section `sampled` of a planning file."""

from pathlib import Path

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.settings.resources import resource


def write(folder: Path, section: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(resource("planning", "planar_hand_ball").read_text() + section)
    return path


def test_a_file_without_the_section_has_trees_and_one_with_it_what_it_names(tmp_path: Path) -> None:
    assert load_problem(write(tmp_path, "")).file.sampled is None
    assert load_problem(write(tmp_path, "\nsampled: {samples: 7}\n")).file.sampled == SampledConfig(samples=7)


@pytest.mark.parametrize(
    ("section", "words"),
    [("{sample: 1}", "sample"), ("{motion_s: 0}", "motion_s"), ("{knots: [0.8, 0.4]}", ".*expected 0 < first")],
)
def test_what_is_misspelt_or_out_of_range_is_refused_with_the_file(tmp_path: Path, section: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"mine.yaml.*sampled.?{words}"):
        load_problem(write(tmp_path, f"\nsampled: {section}\n"))
