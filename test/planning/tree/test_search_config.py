"""Section `search` of a planning file."""

from pathlib import Path

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.planning.tree.search_config import SearchConfig
from contact_mpc.settings.resources import resource


def write(folder: Path, section: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(resource("planning", "planar_hand_ball").read_text() + f"\nsearch: {section}\n")
    return path


def test_a_file_overrides_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    search = load_problem(write(tmp_path, "{look_ahead: 1, near_rad: 0.3}")).file.search
    assert search == SearchConfig(look_ahead=1, near_rad=0.3) != SearchConfig()
    assert load_problem("planar_hand_ball").file.search == SearchConfig()


@pytest.mark.parametrize(("section", "words"), [("{look_ahed: 1}", "look_ahed"), ("{near_nodes: 1.5}", "near_nodes")])
def test_what_is_misspelt_or_out_of_range_is_refused_with_the_file(tmp_path: Path, section: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"mine.yaml.*search.{words}"):
        load_problem(write(tmp_path, section))
