"""Section `parts` of a planning file."""

from pathlib import Path

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.planning.tree.parts_config import PartsConfig
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.settings.resources import resource


def write(folder: Path, section: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(resource("planning", "planar_hand_ball").read_text() + f"\nparts: {section}\n")
    return path


def test_a_file_overrides_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    parts = load_problem(write(tmp_path, "{piece_rad: 0.3}")).file.parts
    assert parts == PartsConfig(piece_rad=0.3) != PartsConfig()


@pytest.mark.parametrize(("section", "words"), [("{peace_rad: 1}", "peace_rad"), ("{mended: 1.5}", "mended")])
def test_what_is_misspelt_or_out_of_range_is_refused_with_the_file(tmp_path: Path, section: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"mine.yaml.*parts.{words}"):
        load_problem(write(tmp_path, section))
